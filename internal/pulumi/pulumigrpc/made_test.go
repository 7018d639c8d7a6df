package pulumigrpc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// damaged is a state of which only the title can be read.
func damaged() property.Map {
	const signature = "4dabf18193072939515e22adb298388d"
	return property.NewMap(
		property.Entry{Key: "text", Value: property.Object(property.NewMap(property.Entry{Key: signature, Value: property.String("later")}))},
		property.Entry{Key: "title", Value: property.String("t")},
	)
}

// A partial failure keeps the ID of the object, whatever else of it can be read.
func TestAPartialFailureKeepsTheID(t *testing.T) {
	state := damaged()
	for name, inputs := range map[string]*property.Map{"state": nil, "state and inputs": &state} {
		e := abi.NewError(abi.ErrorKindInitFailed, "half")
		e.InitFailure = &abi.InitFailure{ID: "i", State: state, Inputs: inputs, Reasons: []string{"r"}}
		err := called(t, func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return e })
		require.Equal(t, abi.ErrorKindInitFailed, err.Kind, "%s: %v", name, err)
		require.Equal(t, "i", err.InitFailure.ID, name)
		require.True(t, err.InitFailure.State.Equal(state.Without("text")), name)
		require.Nil(t, err.InitFailure.Inputs, name)
		require.True(t, err.InitFailure.RefreshBeforeUpdate, name)
		require.Equal(t, "r", err.InitFailure.Reasons[0], name)
		require.Greater(t, len(err.InitFailure.Reasons), 1, name)
	}
	unreadable := connect.NewError(connect.CodeUnknown, errors.New("half"))
	detail, err := connect.NewErrorDetail(&anypb.Any{TypeUrl: "type.googleapis.com/" + initFailed, Value: []byte{0xff}})
	require.NoError(t, err)
	unreadable.AddDetail(detail)
	require.Equal(t, abi.ErrorKindCrashed, called(t, func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return unreadable }).Kind)
}

// called returns the error of a Create that a method serves.
func called(t *testing.T, serve Method) *abi.Error {
	t.Helper()
	s, err := Listen(0)
	require.NoError(t, err)
	defer s.Close()
	s.Serve(ResourceProvider, map[string]Method{"Create": serve})
	c := Dial(s.Address)
	defer c.Close()
	_, err = c.Call(t.Context(), ResourceProvider, "Create", Request(ResourceProvider, "Create"))
	require.Error(t, err)
	return abi.AsError(err)
}

// What this side makes of an answer is no word of the server: nobody knows what it has done. What it says itself is.
func TestAnAnswerThatCannotBeTaken(t *testing.T) {
	grpc := func(w http.ResponseWriter, body []byte) {
		w.Header().Set("Content-Type", "application/grpc+proto")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(body)
		w.Header().Set("Grpc-Status", "0")
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   abi.ErrorKind
	}{
		"no gRPC":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, abi.ErrorKindUnavailable},
		"a wrong request": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, abi.ErrorKindUnavailable},
		"no such method":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, abi.ErrorKindUnimplemented},
		"too large":       {func(w http.ResponseWriter, _ *http.Request) { grpc(w, []byte{0, 0xff, 0xff, 0xff, 0xff, 1}) }, abi.ErrorKindUnavailable},
		"half of it":      {func(w http.ResponseWriter, _ *http.Request) { grpc(w, []byte{0, 0, 0, 0, 9, 1}) }, abi.ErrorKindUnavailable},
		"no message":      {func(w http.ResponseWriter, _ *http.Request) { grpc(w, []byte{0, 0, 0, 0, 1, 0xff}) }, abi.ErrorKindCrashed},
		"an error of its own": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc+proto")
			w.Header().Set("Grpc-Status", "13")
			w.Header().Set("Grpc-Message", "x")
		}, abi.ErrorKindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var protocols http.Protocols
			protocols.SetUnencryptedHTTP2(true)
			server := &http.Server{Handler: c.answer, Protocols: &protocols}
			go func() { _ = server.Serve(listener) }()
			defer server.Close()
			client := Dial(listener.Addr().String())
			defer client.Close()
			_, err = client.Call(t.Context(), ResourceProvider, "Create", Request(ResourceProvider, "Create"))
			require.Error(t, err)
			require.Equal(t, c.kind, abi.AsError(err).Kind, "%v", err)
		})
	}
}
