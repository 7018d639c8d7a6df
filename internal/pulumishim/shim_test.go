package pulumishim

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/pulumigrpc"
)

// Each method of the published protocol is served. Pulumi's client calls them in engine/internal/pulumitest.
func TestAllMethodsAreServed(t *testing.T) {
	s, err := Open(t.Context(), abi.Unimplemented{}, "", 0)
	require.NoError(t, err)
	defer s.Close()
	var published []string
	methods := pulumigrpc.NewMessage("pulumirpc.CheckRequest").Reflect.Descriptor().ParentFile().Services().ByName("ResourceProvider").Methods()
	for i := range methods.Len() {
		published = append(published, string(methods.Get(i).Name()))
	}
	require.Len(t, published, 21)
	require.ElementsMatch(t, published, append(slices.Collect(maps.Keys(s.methods())), "List"))
}

// A provider that implements nothing can still be asked: what Pulumi needs has an answer.
func TestWhatAProviderLeavesOut(t *testing.T) {
	s, err := Open(t.Context(), abi.Unimplemented{}, "", 0)
	require.NoError(t, err)
	defer s.Close()
	client := pulumigrpc.Dial(s.Address())
	defer client.Close()
	for _, method := range []string{"Handshake", "Attach", "GetPluginInfo", "CheckConfig", "Configure", "Check", "Delete", "Cancel", "GetMapping"} {
		_, err := client.Call(t.Context(), pulumigrpc.ResourceProvider, method, pulumigrpc.Request(pulumigrpc.ResourceProvider, method))
		require.NoError(t, err, method)
	}
	for _, method := range []string{"GetSchema", "Create", "Update", "Read", "Invoke", "Construct", "Call", "Parameterize"} {
		_, err := client.Call(t.Context(), pulumigrpc.ResourceProvider, method, pulumigrpc.Request(pulumigrpc.ResourceProvider, method))
		require.ErrorIs(t, err, abi.ErrUnimplemented, method)
	}
}
