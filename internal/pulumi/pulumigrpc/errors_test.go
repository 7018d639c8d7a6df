package pulumigrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// Errors keep what a caller decides by.
func TestErrorsCross(t *testing.T) {
	inputs := property.NewMap(property.Entry{Key: "in", Value: property.Secret(property.String("s"))})
	for _, e := range []*abi.Error{
		{Kind: abi.ErrorKindInitFailed, Message: "not ready", InitFailure: &abi.InitFailure{
			ID: "i", State: inputs, Inputs: &inputs, Reasons: []string{"a", "b"}, RefreshBeforeUpdate: true,
		}},
		{Kind: abi.ErrorKindInvalidArgument, Message: "keys", MissingKeys: []abi.MissingKey{{Name: "region", Description: "where"}}},
		{Kind: abi.ErrorKindNotFound, Message: "gone"},
		{Kind: abi.ErrorKindUnavailable, Message: "later"},
		{Kind: abi.ErrorKindCancelled, Message: "stopped"},
		{Kind: abi.ErrorKindUnimplemented, Message: "no"},
	} {
		s, err := Listen(0)
		require.NoError(t, err)
		s.Serve(ResourceProvider, map[string]Method{"Read": func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return e }})
		c := Dial(s.Address)
		_, err = c.Call(t.Context(), ResourceProvider, "Read", Request(ResourceProvider, "Read"))
		got, ok := errors.AsType[*abi.Error](err)
		require.True(t, ok)
		require.Equal(t, e.Kind, got.Kind)
		require.Contains(t, got.Message, e.Message)
		require.Equal(t, e.MissingKeys, got.MissingKeys)
		if e.InitFailure != nil {
			require.True(t, inputs.Equal(got.InitFailure.State) && inputs.Equal(*got.InitFailure.Inputs))
			require.Equal(t, e.InitFailure.Reasons, got.InitFailure.Reasons)
			require.Equal(t, "i", got.InitFailure.ID)
			require.True(t, got.InitFailure.RefreshBeforeUpdate)
		}
		c.Close()
		require.NoError(t, s.Close())
	}
}

// Pulumi takes each code but three for a call that had no effect. What was cut off while it changed an object has none of
// the others.
func TestAnErrorSaysWhetherTheOutcomeIsKnown(t *testing.T) {
	for _, kind := range []abi.ErrorKind{
		abi.ErrorKindUnavailable, abi.ErrorKindCancelled, abi.ErrorKindCrashed, abi.ErrorKindInternal, abi.ErrorKindInvalidArgument,
		abi.ErrorKindNotFound, abi.ErrorKindUnimplemented, abi.ErrorKindDenied,
	} {
		known := codes[kind]
		for _, method := range []string{"Create", "Update", "Delete", "Read", "Check", "Diff", "Invoke"} {
			want := known
			if want == 0 || (kind == abi.ErrorKindUnavailable || kind == abi.ErrorKindCancelled) && slices.Contains([]string{"Create", "Update", "Delete"}, method) {
				want = connect.CodeUnknown
			}
			require.Equal(t, want, connect.CodeOf(statusOf(pathOf(ResourceProvider, method), abi.NewError(kind, "it failed"))), "%v %s", kind, method)
		}
	}
	wrapped := fmt.Errorf("create: %w", context.Canceled)
	require.Equal(t, connect.CodeUnknown, connect.CodeOf(statusOf(pathOf(ResourceProvider, "Create"), wrapped)))
}

// Messages of calls at once are not mixed up.
func TestMessagesAreWhole(t *testing.T) {
	s, err := Listen(0)
	require.NoError(t, err)
	defer s.Close()
	s.Serve(ResourceProvider, map[string]Method{"Invoke": func(_ context.Context, in, out pulumiwire.Message) error {
		request, err := pulumiwire.ReadInvoke(in)
		pulumiwire.SetResult(out, request.Args, nil)
		return err
	}})
	c := Dial(s.Address)
	defer c.Close()
	call := func(i int) error {
		in := Request(ResourceProvider, "Invoke")
		args := property.NewMap(property.Entry{Key: "text", Value: property.String(strings.Repeat(fmt.Sprint(i), i%300))})
		pulumiwire.WriteInvoke(in, abi.InvokeRequest{Args: args})
		out, err := c.Call(t.Context(), ResourceProvider, "Invoke", in)
		if err != nil {
			return err
		}
		got, err := pulumiwire.ReadInvoked(out)
		if err == nil && !got.Result.Equal(args) {
			err = fmt.Errorf("call %d got the answer of another", i)
		}
		return err
	}
	const callers = 16
	failed := make([]error, callers)
	var calls sync.WaitGroup
	for caller := range callers {
		calls.Go(func() {
			for i := caller; i < 2000 && failed[caller] == nil; i += callers {
				failed[caller] = call(i)
			}
		})
	}
	calls.Wait()
	require.NoError(t, errors.Join(failed...))
}
