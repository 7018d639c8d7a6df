package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
)

// forever is a loop that does nothing else.
const forever = code("\x03\x40\x0c\x00\x0b")

// deeper is the body of a function, of the index, that calls itself twice, to a depth
// of 60, without any loop. The counter is the depth.
func deeper(index int) code {
	add := func(n int32) code { return "\x23\x01" + i32Const(n) + "\x6a\x24\x01" }
	return "\x23\x01" + i32Const(60) + "\x4f\x04\x40\x0f\x0b" + add(1) + callFunc(index) + callFunc(index) + add(-1)
}

// withoutEnd are modules that do not end, with the error that get-mapping gives then:
// where there is none, the answer was there already.
var withoutEnd = map[string]struct {
	module assembly
	method string
}{
	"a loop": {assembly{bodies: map[string]code{"get-mapping": forever + unreachable}}, "get-mapping"},
	"recursion without a loop": {assembly{bodies: map[string]code{
		"get-mapping": callFunc(len(canon.WorldProvider.ExportTable())) + unreachable, "deeper": deeper(len(canon.WorldProvider.ExportTable())),
	}}, "get-mapping"},
	"start":        {assembly{start: forever}, "start"},
	"_initialize":  {assembly{bodies: map[string]code{"_initialize": forever}}, "start"},
	"cabi_realloc": {assembly{bodies: map[string]code{"cabi_realloc": forever + unreachable}}, "get-mapping"},
	"a loop of 200,000 instructions": {assembly{bodies: map[string]code{
		"get-mapping": "\x03\x40" + code(strings.Repeat(string(i32Const(1)+drop), 100_000)) + "\x0c\x00\x0b" + unreachable,
	}}, "get-mapping"},
	"filling memory": {assembly{bodies: map[string]code{
		"get-mapping": "\x03\x40" + i32Const(0) + i32Const(0) + i32Const(2<<16) + "\xfc\x0b\x00\x0c\x00\x0b" + unreachable,
	}}, "get-mapping"},
	"asking for memory": {assembly{bodies: map[string]code{
		"get-mapping": "\x03\x40" + i32Const(1<<15) + "\x40\x00" + drop + "\x0c\x00\x0b" + unreachable,
	}}, "get-mapping"},
	"post-return": {assembly{
		bodies: map[string]code{
			"get-mapping": returns(answer),
			"cabi_post_husk:provider/provider@0.1.0#get-mapping": forever,
		},
		data: map[uint32]string{answer: words(0, 0, 0, 0, 0)},
	}, ""},
}

// beat is a goroutine of the host's, which cancels once it and the garbage collector
// have had their turns several times while the guest runs. If they had none, the test
// would not end.
func beat(cancel context.CancelCauseFunc) {
	heart := time.NewTicker(time.Millisecond)
	defer heart.Stop()
	for range 5 {
		<-heart.C
		runtime.GC()
	}
	cancel(errors.New("the host is alive"))
}

func TestEndlessGuestsHoldUpNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for engine, config := range map[string]host.Config{"compiler": host.NewConfig(), "interpreter": host.NewConfig().WithInterpreter()} {
		h := newHost(t, config.WithCancelGrace(time.Millisecond))
		for name, c := range withoutEnd {
			t.Run(engine+"/"+name, func(t *testing.T) {
				p := assemble(t, h, c.module)
				for how, cause := range map[string]string{"is cancelled": "the host is alive", "has a deadline": "time is over"} {
					ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, errors.New(cause))
					if how == "is cancelled" {
						cancel()
						var end context.CancelCauseFunc
						ctx, end = context.WithCancelCause(t.Context())
						go beat(end)
					}
					_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
					cancel()
					if c.method == "" {
						require.NoError(t, err, how)
						continue
					}
					require.ErrorIs(t, err, abi.ErrCancelled, how)
					require.EqualError(t, err, "hand: "+c.method+" (host): the call was stopped: "+cause, how)
				}
			})
		}
	}
}

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
