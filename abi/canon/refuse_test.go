package canon_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
)

const notUTF8 = "caf\xe9"

// TestRefusedRequest checks that a request which cannot cross fails before the module
// runs, and leaves the module usable.
func TestRefusedRequest(t *testing.T) {
	tests := []struct {
		request abi.CheckRequest
		want    string
		is      error
	}{
		{abi.CheckRequest{Name: notUTF8}, "provider.check.request.name: invalid UTF-8", canon.ErrUTF8},
		{abi.CheckRequest{News: property.NewMap(property.Entry{Key: "k", Value: property.String(notUTF8)})},
			"provider.check.request.news: cannot encode properties: ", property.FaultInvalidUTF8},
		{abi.CheckRequest{Autonaming: &abi.Autonaming{Mode: 7}},
			"provider.check.request.autonaming.mode: there is no such case", canon.ErrCase},
	}
	for _, test := range tests {
		f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return answering{} })
		_, err := f.guest.Check(t.Context(), test.request)
		require.ErrorIs(t, err, test.is)
		require.ErrorContains(t, err, test.want)
		require.NoError(t, f.guest.Broken())
		require.Zero(t, f.released)
		_, err = f.guest.Check(t.Context(), abi.CheckRequest{})
		require.NoError(t, err)
	}
	f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return answering{} })
	_, err := f.guest.Handshake(t.Context(), abi.HandshakeRequest{Features: 1 << 20})
	require.ErrorIs(t, err, canon.ErrFlags)
}

// returning returns its fields from every check and creation.
type returning struct {
	abi.Unimplemented
	response abi.CheckResponse
	created  abi.CreateResponse
	updated  abi.UpdateResponse
	err      error
}

func (r returning) Update(context.Context, abi.UpdateRequest) (abi.UpdateResponse, error) {
	return r.updated, r.err
}

func (r returning) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return r.created, r.err
}

func (r returning) Check(context.Context, abi.CheckRequest) (abi.CheckResponse, error) {
	return r.response, r.err
}

// TestRefusedAnswer tells what the host sees of an answer that cannot cross.
func TestRefusedAnswer(t *testing.T) {
	unencodable := property.NewMap(property.Entry{Key: notUTF8, Value: property.Null})
	tests := []struct {
		name string
		returning
		want abi.Error
	}{
		{"a text that is not UTF-8",
			returning{response: abi.CheckResponse{Failures: []abi.CheckFailure{{Reason: notUTF8}}}},
			abi.Error{Kind: abi.ErrorKindInternal, Message: "check-response.failures[0].reason: invalid UTF-8"}},
		{"an error whose text is not UTF-8",
			returning{err: abi.NewError(abi.ErrorKindNotFound, notUTF8)},
			abi.Error{Kind: abi.ErrorKindNotFound, Message: "caf\uFFFD"}},
		{"a plain error",
			returning{err: context.Canceled},
			abi.Error{Kind: abi.ErrorKindCancelled, Message: "context canceled"}},
		{"a nil *abi.Error",
			returning{err: (*abi.Error)(nil)},
			abi.Error{Kind: abi.ErrorKindInternal, Message: "an error without a description"}},
		{"init-failed without its data",
			returning{err: abi.NewError(abi.ErrorKindInitFailed, "still starting")},
			abi.Error{Kind: abi.ErrorKindInternal, Message: "still starting"}},
		{"data of a failed initialization with another kind",
			returning{err: &abi.Error{Kind: abi.ErrorKindNotFound, Message: "gone", InitFailure: &abi.InitFailure{ID: "1"}}},
			abi.Error{Kind: abi.ErrorKindNotFound, Message: "gone"}},
		{"init-failed with data that cannot be encoded",
			returning{err: &abi.Error{Kind: abi.ErrorKindInitFailed, Message: "half", InitFailure: &abi.InitFailure{State: unencodable}}},
			abi.Error{Kind: abi.ErrorKindInitFailed, Message: "half", InitFailure: &abi.InitFailure{RefreshBeforeUpdate: true, Reasons: []string{
				"its details are lost: error.init-failure.state: cannot encode properties: [\"caf\uFFFD\"]: text is not valid UTF-8"}}}},
		{"an error that speaks for the host",
			returning{err: &abi.Error{Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginPolicy, Message: "trust me"}},
			abi.Error{Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginGuest, Message: "trust me"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return test.returning })
			_, err := f.guest.Check(t.Context(), abi.CheckRequest{})
			require.Equal(t, &test.want, err)
			require.NoError(t, f.guest.Broken())
		})
	}
}

// What was created keeps its ID, whatever the rest of the answer is, and is never a plain failure.
func TestRefusedCreation(t *testing.T) {
	unencodable := property.NewMap(property.Entry{Key: "note", Value: property.String(notUTF8)})
	const reason = "cannot encode properties: note: text is not valid UTF-8"
	for _, test := range []struct {
		name string
		returning
		id      string
		reasons []string
	}{
		{"the state", returning{created: abi.CreateResponse{ID: "7", State: unencodable}}, "7", []string{"create-response.state: " + reason}},
		{"the ID", returning{created: abi.CreateResponse{ID: notUTF8}}, "", []string{"create-response.id: invalid UTF-8", "its ID is lost: invalid UTF-8"}},
		{"the state of a failed one",
			returning{err: &abi.Error{Kind: abi.ErrorKindInitFailed, Message: "half", InitFailure: &abi.InitFailure{ID: "7", State: unencodable}}},
			"7", []string{"its details are lost: error.init-failure.state: " + reason}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return test.returning })
			_, err := f.guest.Create(t.Context(), abi.CreateRequest{})
			e, ok := errors.AsType[*abi.Error](err)
			require.True(t, ok)
			require.Equal(t, abi.ErrorKindInitFailed, e.Kind)
			require.Equal(t, &abi.InitFailure{ID: test.id, Reasons: test.reasons, RefreshBeforeUpdate: true}, e.InitFailure)
		})
	}
}

// An update whose answer cannot cross was done: that is no plain failure.
func TestRefusedUpdate(t *testing.T) {
	unencodable := property.NewMap(property.Entry{Key: "note", Value: property.String(notUTF8)})
	f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return returning{updated: abi.UpdateResponse{State: unencodable}} })
	_, err := f.guest.Update(t.Context(), abi.UpdateRequest{})
	require.Equal(t, &abi.Error{Kind: abi.ErrorKindCrashed, Message: "update-response.state: cannot encode properties: note: text is not valid UTF-8"}, err)
}

// TestLog checks that a message is shown whatever its bytes are: a log has no way to
// refuse one.
func TestLog(t *testing.T) {
	var trace canontest.Trace
	f := newFake(canontest.NewHost(&trace), echoing(nil))
	f.served.(canontest.EchoProvider).Host.Log.Write(t.Context(), abi.LogEntry{Message: notUTF8})
	require.Len(t, trace, 1)
	require.Contains(t, trace[0].Params, `message: "caf`+"\uFFFD"+`"`)
}
