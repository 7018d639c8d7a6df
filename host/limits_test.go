package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

var (
	yield  = importEntry{"wasi_snapshot_preview1", "sched_yield", canon.Signature{Results: i32}}
	random = importEntry{"wasi_snapshot_preview1", "random_get", canon.Signature{Params: []byte{canon.I32, canon.I32}, Results: i32}}
	poll   = importEntry{"wasi_snapshot_preview1", "poll_oneoff", canon.Signature{Params: []byte{canon.I32, canon.I32, canon.I32, canon.I32}, Results: i32}}
)

// always repeats code without end.
func always(c code) code { return "\x03\x40" + c + "\x0c\x00\x0b" + unreachable }

func TestWhatACallTakesIsBounded(t *testing.T) {
	text := property.MapOf(map[string]property.Value{"text": property.String(strings.Repeat("x", 100))})
	for name, c := range map[string]struct {
		config host.Config
		module assembly
		want   limit.ExceededError
		option string
		kind   error
		method string // get-mapping where empty
	}{
		"time": {
			config: host.NewConfig().WithCallTimeout(time.Millisecond, "get-mapping"),
			module: assembly{bodies: map[string]code{"get-mapping": forever + unreachable}},
			want:   limit.ExceededError{Limit: limit.Time, Most: 1_000_000}, option: "WithCallTimeout", kind: abi.ErrCrashed,
		},
		"fuel": {
			config: host.NewConfig().WithFuel(1000, "get-mapping"),
			module: assembly{bodies: map[string]code{"get-mapping": forever + unreachable}},
			want:   limit.ExceededError{Limit: limit.Fuel, Most: 1000}, option: "WithFuel", kind: abi.ErrCrashed,
		},
		"calls of WASI": {
			config: host.NewConfig().WithHostCalls(1000),
			module: assembly{imports: []importEntry{yield}, bodies: map[string]code{"get-mapping": always(callFunc(0) + drop)}},
			want:   limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, option: "WithHostCalls", kind: abi.ErrCrashed,
		},
		"calls of the contract": {
			config: host.NewConfig().WithHostCalls(1000, "get-mapping"),
			module: assembly{
				imports: []importEntry{{"husk:provider/control@0.1.0", "cancelled", importSignature("control", "cancelled")}},
				bodies:  map[string]code{"get-mapping": always(callFunc(0) + drop)},
			},
			want: limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, option: "WithHostCalls", kind: abi.ErrCrashed,
		},
		"calls of the start": {
			config: host.NewConfig().WithHostCalls(1000, "start"),
			module: assembly{imports: []importEntry{yield}, bodies: map[string]code{"_initialize": "\x03\x40" + callFunc(0) + drop + "\x0c\x00\x0b"}},
			want:   limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, option: "WithHostCalls", kind: abi.ErrCrashed, method: "start",
		},
		"random bytes": {
			config: host.NewConfig().WithRandomBytes(100 << 10),
			module: assembly{
				imports: []importEntry{random},
				bodies:  map[string]code{"get-mapping": always(i32Const(0) + i32Const(30<<10) + callFunc(0) + drop)},
			},
			want: limit.ExceededError{Limit: limit.RandomBytes, Most: 100 << 10}, option: "WithRandomBytes", kind: abi.ErrCrashed,
		},
		"memory": {
			config: host.NewConfig().WithMemoryLimit(8 << 20),
			module: assembly{bodies: map[string]code{"get-mapping": "\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b" + unreachable}},
			want:   limit.ExceededError{Limit: limit.Memory, Most: 8 << 20}, option: "WithMemoryLimit", kind: abi.ErrCrashed,
		},
		"a request": {
			config: host.NewConfig().WithRequestBytes(64),
			module: assembly{bodies: map[string]code{"create": unreachable}},
			want:   limit.ExceededError{Limit: limit.Request, Most: 64}, option: "WithRequestBytes", kind: abi.ErrInvalidArgument, method: "create",
		},
		"an answer": {
			config: host.NewConfig().WithAnswerBytes(64),
			module: assembly{
				bodies: map[string]code{"get-mapping": returns(answer)},
				data:   map[uint32]string{answer: words(0, contents, 65, contents, 0)},
			},
			want: limit.ExceededError{Limit: limit.Answer, Most: 64}, option: "WithAnswerBytes", kind: abi.ErrInternal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, c.config.WithCancelGrace(time.Millisecond)), c.module)
			for range 2 { // a call that was ended is of no effect on the next
				_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
				if c.method == "create" {
					_, err = p.Create(t.Context(), abi.CreateRequest{Inputs: text})
				}
				var exceeded *limit.ExceededError
				require.ErrorAs(t, err, &exceeded)
				require.Equal(t, []any{c.want.Limit, c.want.Most, c.option}, []any{exceeded.Limit, exceeded.Most, exceeded.Option()})
				require.ErrorIs(t, err, c.kind)
				require.NotErrorIs(t, err, abi.ErrCancelled)
			}
		})
	}
}

func TestExceededLimitsAreNamed(t *testing.T) {
	for want, e := range map[string]limit.ExceededError{
		"it took longer than the 1m30s that it may take; the option WithCallTimeout sets the limit":                           {Limit: limit.Time, Most: 90_000_000_000},
		"it called the host more than the 10 times that it may; the option WithHostCalls sets the limit":                      {Limit: limit.HostCalls, Most: 10},
		"it was refused more memory than the 256 MiB that it may have; the option WithMemoryLimit sets the limit":             {Limit: limit.Memory, Most: 256 << 20},
		"compiling the module takes longer than the 2m0s that it may take; the option WithCompileTime sets the limit":         {Limit: limit.CompileTime, Most: uint64(2 * time.Minute)},
		"8 streams of the provider are open already: close one; the option WithStreams sets the limit":                        {Limit: limit.Streams, Most: 8},
		"the values of the request take more than the 5 bytes that can be passed; the option WithRequestBytes sets the limit": {Limit: limit.Request, Most: 5},
	} {
		require.EqualError(t, &e, want)
	}
}

func TestACompilationIsBoundedInTime(t *testing.T) {
	h, err := host.New(t.Context(), host.NewConfig().WithCompileTime(1)) // without a cache, which may have the module
	require.NoError(t, err)
	defer h.Close(t.Context())
	_, err = h.LoadBytes(t.Context(), assembly{pages: 5}.wasm())
	var exceeded *limit.ExceededError
	require.ErrorAs(t, err, &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.CompileTime, Most: 1}, *exceeded)
	_, err = newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{pages: 5}.wasm())
	require.NoError(t, err)
}

func TestTablesGrowToALimit(t *testing.T) {
	// grow asks for so many null elements, and traps unless the answer is that.
	grow := func(elements, want int32) code {
		return "\xd0\x70" + i32Const(elements) + "\xfc\x0f\x00" + i32Const(want) + "\x47\x04\x40\x00\x0b"
	}
	p := assemble(t, newHost(t, host.NewConfig().WithTableElements(10)), assembly{
		table:  true,
		bodies: map[string]code{"get-schema": grow(1<<30, -1) + grow(9, 0) + grow(2, -1) + grow(1, 9) + grow(1, -1) + returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 0)},
	})
	_, err := schema(t.Context(), p)
	require.NoError(t, err)
}

// sleepers is a clock that says when guests sleep. They sleep until their call ends.
type sleepers struct {
	host.Clock
	asleep chan time.Duration
}

func (c sleepers) Sleep(ctx context.Context, d time.Duration) error {
	c.asleep <- d
	<-ctx.Done()
	return context.Cause(ctx)
}

// sleep is code that sleeps for 2^63-1 nanoseconds, for a module with poll as its first
// import and sleepData in its memory.
const sleep = code("\x41\x80\x20\x41\x80\x28\x41\x01\x41\x80\x30\x10\x00\x1a")

// sleepData is a subscription at 4096, for the monotonic clock.
var sleepData = map[uint32]string{4096: words(0, 0, 0, 0, 1, 0, 0xffffffff, 0x7fffffff, 0, 0, 0, 0)}

func TestASleepEndsWithItsCall(t *testing.T) {
	clock := sleepers{host.SystemClock(), make(chan time.Duration)}
	p := assemble(t, newHost(t, host.NewConfig().WithClock(clock).WithCancelGrace(time.Nanosecond)), assembly{
		imports: []importEntry{poll}, bodies: map[string]code{"get-mapping": sleep + unreachable}, data: sleepData,
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		if d := <-clock.asleep; d == 1<<63-1 {
			cancel(errors.New("it slept"))
		}
	}()
	_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
	require.EqualError(t, err, "hand: get-mapping (host): the call was stopped: it slept")
}

func TestCallsThatWaitAreCounted(t *testing.T) {
	clock := sleepers{host.SystemClock(), make(chan time.Duration)}
	h := newHost(t, host.NewConfig().WithClock(clock).WithCancelGrace(time.Nanosecond).WithWaitingCalls(1))
	module, err := h.LoadBytes(t.Context(), assembly{
		imports: []importEntry{poll}, bodies: map[string]code{"get-mapping": sleep + unreachable}, data: sleepData,
	}.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Instances: 1, Lenient: true})
	require.NoError(t, err)

	ended := make(chan error)
	call := func() {
		_, err := p.GetMapping(context.Background(), abi.GetMappingRequest{Key: "terraform"})
		ended <- err
	}
	go call()
	<-clock.asleep
	// One of two waits, the other one cannot.
	go call()
	go call()
	err = <-ended
	require.EqualError(t, err, "hand: get-mapping (policy): 1 calls are waiting for an instance already; the option WithWaitingCalls sets the limit")
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.NoError(t, p.Close())
	for range 2 {
		require.Error(t, <-ended)
	}
}

func TestWhatAProviderLogsIsBoundedInEachSecond(t *testing.T) {
	clock := newHandClock()
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig().WithClock(clock).WithLogRate(10_000)), host.ProviderOptions{Logger: logged.logger()})
	mustDo(t, p, "print", "one\n", "1")
	clock.elapsed.Add(int64(time.Minute)) // what was logged before counts for nothing

	// A record counts as 64 bytes more: 40 of 1000 bytes are the burst.
	flood := func() []string {
		before := len(logged.lines())
		mustDo(t, p, "print", strings.Repeat("x", 936)+"\n", "1000")
		return logged.lines()[before:]
	}
	lines := flood()
	require.Len(t, lines, 41)
	require.Equal(t, `level=WARN msg="output of the provider is dropped: it comes to more than 10000 bytes per second; the option WithLogRate sets the limit" provider=probe method=invoke host=true`, lines[40])
	require.Empty(t, flood(), "the share is the provider's, not the call's")
	clock.elapsed.Add(int64(time.Second) - 1)
	require.Empty(t, flood())
	clock.elapsed.Add(1)
	lines = flood()
	require.Len(t, lines, 12)
	require.Equal(t, `level=WARN msg="2960000 bytes of the output of the provider were dropped" provider=probe method=invoke host=true`, lines[0])
	require.Contains(t, lines[11], "output of the provider is dropped")
}

// What counts is what is logged: a control character is a byte of the guest's and four of the log's.
func TestLogsAreBoundedAsTheyAreWritten(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want int // of 10 lines, with a share of 4000 bytes
	}{
		"plain":                  {strings.Repeat("x", 436), 8},
		"control characters":     {strings.Repeat("\x01", 109), 8},
		"those that reorder":     {strings.Repeat("\u202e", 72) + "four", 8},
		"more than ever can be":  {strings.Repeat("\x01", 4001), 0},
		"too much, once escaped": {strings.Repeat("\x01", 3000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			logged := &records{}
			p := provide(t, newHost(t, host.NewConfig().WithClock(newHandClock()).WithLogRate(1000)), host.ProviderOptions{Logger: logged.logger()})
			mustDo(t, p, "print", c.line+"\n", "10")
			written, texts := 0, 0
			for _, line := range logged.lines() {
				if !strings.Contains(line, "is dropped") {
					written += len(line)
					texts++
				}
			}
			require.Equal(t, c.want, texts)
			require.LessOrEqual(t, written, 2*4000, "with what the test's log adds")
		})
	}
	// So does the resource that a message is about, and what Go says of a crash.
	logged := &records{}
	module, err := newHost(t, host.NewConfig().WithClock(newHandClock()).WithLogRate(1000)).LoadBytes(t.Context(), assembly{
		imports: []importEntry{{"husk:provider/log@0.1.0", "write", importSignature("log", "write")}},
		bodies: map[string]code{
			"get-schema": i32Const(1) + i32Const(contents) + i32Const(1) + i32Const(contents) + i32Const(1000) + i32Const(0) + callFunc(0) + returns(answer),
		},
		data: map[uint32]string{answer: words(0, contents, 0), contents: strings.Repeat("\x01", 1000)},
	}.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Logger: logged.logger()})
	require.NoError(t, err)
	_, err = schema(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Len(t, logged.lines(), 1)
	require.Contains(t, logged.lines()[0], "output of the provider is dropped")

	p = provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	_, err = do(t.Context(), p, "crash", strings.Repeat("\x01", 8000))
	require.ErrorIs(t, err, abi.ErrCrashed)
	require.Less(t, len(err.Error()), 9<<10)
}
