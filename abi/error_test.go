package abi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
)

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  abi.Error
		want string
	}{
		{abi.Error{Message: "no such bucket"}, "no such bucket"},
		{abi.Error{Kind: abi.ErrorKindNotFound}, "not found"},
		{abi.Error{Provider: "random", Version: "4.16.0", Method: "check", Message: "too short"}, "random 4.16.0: check: too short"},
		{abi.Error{Provider: "random", Method: "check", Path: `tags["a b"]`, Message: "too short"}, `random: check: tags["a b"]: too short`},
		{abi.Error{Kind: abi.ErrorKindInitFailed, Message: "not ready", InitFailure: &abi.InitFailure{Reasons: []string{"no IP", "no DNS"}}},
			"not ready\n  - no IP\n  - no DNS"},
		{abi.Error{Message: "configuration is missing", MissingKeys: []abi.MissingKey{{Name: "region", Description: "where to deploy"}, {Name: "token"}}},
			"configuration is missing\n  - region: where to deploy\n  - token"},
		// No line of a module's passes for one of the host's.
		{abi.Error{Method: "create", Message: "one\nerror: two\nDone"}, "create: one\n| error: two\n| Done"},
		{abi.Error{Method: "create", Origin: abi.ErrorOriginRemote, Message: "one\nerror: two"}, "create (remote): one\n| error: two"},
		{abi.Error{Method: "create", Origin: abi.ErrorOriginHost, Message: "the host's\n  advice"}, "create (host): the host's\n  advice"},
		{abi.Error{Message: "the engine's\n  advice"}, "the engine's\n  advice"},
		{abi.Error{Kind: abi.ErrorKindInitFailed, Method: "create", Message: "not ready", InitFailure: &abi.InitFailure{Reasons: []string{"no IP\nDone", "no DNS"}}},
			"create: not ready\n  - no IP\n| Done\n  - no DNS"},
		{abi.Error{Method: "configure", Message: "missing", MissingKeys: []abi.MissingKey{{Name: "region", Description: "where\nDone"}}},
			"configure: missing\n  - region: where\n| Done"},
	} {
		require.EqualError(t, &test.err, test.want)
	}
}

func TestErrorKinds(t *testing.T) {
	sentinels := map[abi.ErrorKind]error{
		abi.ErrorKindInvalidArgument: abi.ErrInvalidArgument,
		abi.ErrorKindNotFound:        abi.ErrNotFound,
		abi.ErrorKindUnimplemented:   abi.ErrUnimplemented,
		abi.ErrorKindUnavailable:     abi.ErrUnavailable,
		abi.ErrorKindCancelled:       abi.ErrCancelled,
		abi.ErrorKindInitFailed:      abi.ErrInitFailed,
		abi.ErrorKindDenied:          abi.ErrDenied,
		abi.ErrorKindInternal:        abi.ErrInternal,
		abi.ErrorKindCrashed:         abi.ErrCrashed,
	}
	for kind := abi.ErrorKind(0); kind.String() != "invalid"; kind++ {
		wrapped := fmt.Errorf("creating it: %w", abi.NewError(kind, "text"))
		for other, sentinel := range sentinels {
			require.Equal(t, kind == other, errors.Is(wrapped, sentinel), "%s, %s", kind, other)
		}
		require.Contains(t, sentinels, kind)
	}
}

func TestAsError(t *testing.T) {
	inner := &abi.Error{Kind: abi.ErrorKindNotFound, Message: "no such bucket", Path: "bucket", Method: "read"}
	var none *abi.Error
	for _, test := range []struct {
		err  error
		want *abi.Error
	}{
		{nil, nil},
		{none, nil},
		{inner, inner},
		{fmt.Errorf("reading: %w", inner),
			&abi.Error{Kind: abi.ErrorKindNotFound, Message: "reading: no such bucket", Path: "bucket", Method: "read"}},
		{fmt.Errorf("reading: %w", none), &abi.Error{Kind: abi.ErrorKindInternal, Message: "reading: an error without a description"}},
		{errors.New("disk full"), &abi.Error{Kind: abi.ErrorKindInternal, Message: "disk full"}},
		{fmt.Errorf("asking: %w", context.Canceled), &abi.Error{Kind: abi.ErrorKindCancelled, Message: "asking: context canceled"}},
		{context.DeadlineExceeded, &abi.Error{Kind: abi.ErrorKindCancelled, Message: "context deadline exceeded"}},
		{fmt.Errorf("bucket: %w", abi.ErrNotFound), &abi.Error{Kind: abi.ErrorKindNotFound, Message: "bucket: not found"}},
	} {
		require.Equal(t, test.want, abi.AsError(test.err))
	}
}

// TestUnimplemented checks that the error of a method that is not overridden names it.
func TestUnimplemented(t *testing.T) {
	_, err := abi.Unimplemented{}.CheckConfig(t.Context(), abi.CheckRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
	require.EqualError(t, err, "check-config: not implemented by the provider")
	require.ErrorIs(t, abi.Unimplemented{}.Cancel(t.Context()), abi.ErrUnimplemented)
}
