package pulumi

import (
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
)

// Whatever a server answers to a change, what it made is known by its ID and by all that can be read, or nobody
// knows the outcome.
func TestWhatWasMadeIsKept(t *testing.T) {
	damaged := fields("title", "new", "text", "t")
	damaged.Fields["text"] = &structpb.Value{}
	for name, c := range map[string]struct {
		id      string
		failure error
		kind    abi.ErrorKind
	}{
		"an unreadable property":                   {id: "i", kind: abi.ErrorKindInitFailed},
		"an unreadable property and no ID":         {kind: abi.ErrorKindCrashed},
		"a partial failure that cannot be read":    {failure: failed(codes.Unknown, "half", &pulumirpc.ErrorResourceInitFailed{Id: "i", Properties: damaged, Reasons: []string{"r"}}), kind: abi.ErrorKindInitFailed},
		"one whose inputs cannot be read, neither": {failure: failed(codes.Unknown, "half", &pulumirpc.ErrorResourceInitFailed{Id: "i", Properties: damaged, Inputs: damaged}), kind: abi.ErrorKindInitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: map[string]proto.Message{
				"CreateRequest": &pulumirpc.CreateResponse{Id: c.id, Properties: damaged}, "UpdateRequest": &pulumirpc.UpdateResponse{Properties: damaged},
			}}
			p := shaken(t, f)
			f.failure = c.failure
			_, err := p.Create(t.Context(), abi.CreateRequest{Type: note, Inputs: properties("title", "new")})
			e := abi.AsError(err)
			require.Equal(t, c.kind, e.Kind, "%v", err)
			if c.kind == abi.ErrorKindInitFailed {
				require.Equal(t, "i", e.InitFailure.ID)
				require.True(t, e.InitFailure.State.Equal(properties("title", "new")), "%v", e.InitFailure.State)
				require.True(t, e.InitFailure.RefreshBeforeUpdate)
				require.Nil(t, e.InitFailure.Inputs)
				require.Contains(t, e.InitFailure.Reasons[len(e.InitFailure.Reasons)-1], "could not be read: text: there is no value")
			}
			if c.failure != nil {
				return
			}
			_, err = p.Update(t.Context(), abi.UpdateRequest{Type: note, ID: "j", Olds: properties("title", "old", "text", "before"), News: properties("title", "new")})
			e = abi.AsError(err)
			require.Equal(t, abi.ErrorKindInitFailed, e.Kind, "%v", err)
			require.Equal(t, "j", e.InitFailure.ID)
			require.True(t, e.InitFailure.State.Equal(properties("title", "new", "text", "before")), "%v", e.InitFailure.State)
		})
	}
}
