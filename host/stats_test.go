package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
)

// What calls cost is known by method: the same call costs the same fuel, and its bytes
// are those of the values that it passes.
func TestCostsOfMethods(t *testing.T) {
	h := newHost(t, host.NewConfig())
	p := provide(t, h, host.ProviderOptions{AskGuest: true})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	mustDo(t, p, "greeting")
	before := p.Stats().Methods["check"]
	inputs := property.MapOf(map[string]property.Value{"text": property.String("world")})
	data, err := guestcbor.Marshal(inputs)
	require.NoError(t, err)
	for range 2 {
		_, err := p.Check(t.Context(), abi.CheckRequest{Name: "x", Type: "probe:index:Thing", News: inputs, RandomSeed: make([]byte, 32)})
		require.NoError(t, err)
	}
	check := p.Stats().Methods["check"]
	require.EqualValues(t, 2, check.Calls-before.Calls)
	require.EqualValues(t, 2*len(data), check.BytesIn-before.BytesIn)
	require.EqualValues(t, 2*len(data), check.BytesOut-before.BytesOut, "the inputs come back as they are")
	require.Positive(t, check.Fuel)
	require.Positive(t, p.Stats().Methods["configure"].BytesIn)
	require.Equal(t, check, h.Stats().Methods["check"])
}

// A call that used up its fuel has used that, and not much more.
func TestFuelOfACallThatUsedItUp(t *testing.T) {
	const most = 1_000_000
	h := newHost(t, host.NewConfig().WithFuel(most, "get-mapping").WithClock(newHandClock()))
	p := assemble(t, h, assembly{bodies: map[string]code{"get-mapping": forever + unreachable}})
	crash(t, p)
	fuel := p.Stats().Methods["get-mapping"].Fuel
	require.InDelta(t, most, fuel, most/100)
}
