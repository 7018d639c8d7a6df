package pulumi

import (
	"errors"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/husk-dev/husk/abi"
)

// A server says that an object is gone by an empty ID, and that it has deleted one by no error. No code says so.
func TestGone(t *testing.T) {
	f := &fake{answers: map[string]proto.Message{"ReadRequest": &pulumirpc.ReadResponse{}}}
	p := shaken(t, f)
	state := properties("title", "t")
	request := abi.ReadRequest{Type: note, ID: "i", State: &state, Inputs: &state}
	read, err := p.Read(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, read.ID)
	for name, failure := range map[string]error{
		"not found": status.Error(codes.NotFound, "no project"), "unimplemented": status.Error(codes.Unimplemented, "x"),
		"unavailable": status.Error(codes.Unavailable, "x"), "unknown": status.Error(codes.Unknown, "x"), "plain": errors.New("404"),
	} {
		f.failure = failure
		_, err := p.Read(t.Context(), request)
		require.Error(t, err, name)
		require.Error(t, p.Delete(t.Context(), abi.DeleteRequest{Type: note, ID: "i", State: state}), name)
	}
}
