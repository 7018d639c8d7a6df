package host_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

// forever is a loop that does nothing else.
const forever = code("\x03\x40\x0c\x00\x0b")

func TestACallThatTakesTooLong(t *testing.T) {
	// The counter tells that each call has an instance of its own.
	once := count + choose(1, 1, 0) + "\x45\x04\x40\x00\x0b"
	module := assembly{
		bodies: map[string]code{"get-mapping": once + forever + unreachable, "get-schema": once + returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	}
	for name, c := range map[string]struct {
		config host.Config
		want   string
	}{
		"time": {
			host.NewConfig().WithCallTimeout(5*time.Millisecond).WithCallTimeout(time.Minute, "get-schema"),
			"hand: get-mapping (policy): the call was stopped: it took longer than the 5ms that it may take; the option WithCallTimeout sets the limit",
		},
		"fuel": {
			host.NewConfig().WithFuel(1_000_000, "get-mapping"),
			"hand: get-mapping (policy): the call was stopped: it used more than the 1000000 units of fuel that it may use; the option WithFuel sets the limit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, c.config.WithCancelGrace(time.Millisecond)), module)
			for range 2 {
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
				require.EqualError(t, err, c.want)
				require.ErrorIs(t, err, abi.ErrCrashed, "what became of the guest's work is not known")
				require.NotErrorIs(t, err, abi.ErrCancelled)
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, "ok", got)
				_, err = schema(t.Context(), p)
				require.ErrorIs(t, err, abi.ErrCrashed)
			}
		})
	}
}

// fuelOf finds how much fuel get-schema needs of a module, by halving.
func fuelOf(t *testing.T, module assembly, config host.Config) uint64 {
	low, high := uint64(0), uint64(1<<20) // enough is above low, and at most high
	for low+1 < high {
		fuel := (low + high) / 2
		h, err := host.New(t.Context(), config.WithFuel(fuel, "get-schema"))
		require.NoError(t, err)
		loaded, err := h.LoadBytes(t.Context(), module.wasm())
		require.NoError(t, err)
		p, err := loaded.NewProvider(t.Context(), host.ProviderOptions{Name: "hand"})
		require.NoError(t, err)
		if _, err := schema(t.Context(), p); err == nil {
			high = fuel
		} else {
			low = fuel
		}
		require.NoError(t, p.Close())
		require.NoError(t, h.Close(t.Context()))
	}
	return high
}

func TestTheSameCallNeedsTheSameFuelEverywhere(t *testing.T) {
	// A loop of 1000 turns: const, add, and more.
	turns := "\x03\x40" + count + i32Const(1000) + "\x49\x0d\x00\x0b"
	module := assembly{
		bodies: map[string]code{"get-schema": turns + returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 0)},
	}
	compiled := fuelOf(t, module, host.NewConfig())
	require.Equal(t, compiled, fuelOf(t, module, host.NewConfig().WithInterpreter()))
	// A turn is get, const, add, set, get, const, compare, branch, and end; the function,
	// whose loop, const and end come to 3, is paid with each, as it is so small.
	require.EqualValues(t, 1000*(9+3), compiled)
}

func TestFuelIsGrantedInSlices(t *testing.T) {
	// While a guest works, what waits for the processor gets it.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := assemble(t, newHost(t, host.NewConfig().WithCancelGrace(time.Millisecond)), assembly{
		bodies: map[string]code{"get-mapping": forever + unreachable},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var turns atomic.Int64
	go func() {
		for turns.Add(1) < 100 {
			runtime.Gosched()
		}
		cancel()
	}()
	_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
	require.ErrorIs(t, err, abi.ErrCancelled)
	require.EqualValues(t, 100, turns.Load())
}

func TestLimitsAreForMethodsThatThereAre(t *testing.T) {
	_, err := host.New(t.Context(), host.NewConfig().WithFuel(1, "chekc"))
	require.EqualError(t, err, `a limit is set for the method "chekc", which there is not`)
	for _, method := range []string{"start", "check", "stream-next", "construct"} {
		h, err := host.New(t.Context(), host.NewConfig().WithCallTimeout(time.Minute, method))
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
	}
}
