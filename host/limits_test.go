package host_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

var (
	yield  = importEntry{"wasi_snapshot_preview1", "sched_yield", canon.Signature{Results: i32}}
	random = importEntry{"wasi_snapshot_preview1", "random_get", canon.Signature{Params: []byte{canon.I32, canon.I32}, Results: i32}}
	poll   = importEntry{"wasi_snapshot_preview1", "poll_oneoff", canon.Signature{Params: []byte{canon.I32, canon.I32, canon.I32, canon.I32}, Results: i32}}
)

// always repeats code without end.
func always(c code) code { return "\x03\x40" + c + "\x0c\x00\x0b" + unreachable }

func TestWhatACallTakesIsBounded(t *testing.T) {
	t.Parallel()
	text := property.MapOf(map[string]property.Value{"text": property.String(strings.Repeat("x", 100))})
	for name, c := range map[string]struct {
		config host.Config
		module assembly
		want   limit.ExceededError
		name   string
		kind   error
		method string // get-mapping where empty
	}{
		"time": {
			config: host.NewConfig().WithLimit(limit.Time, uint64(time.Millisecond), "get-mapping"),
			module: assembly{bodies: map[string]code{"get-mapping": forever + unreachable}},
			want:   limit.ExceededError{Limit: limit.Time, Most: 1_000_000}, name: "answer-time", kind: abi.ErrCrashed,
		},
		"fuel": {
			config: host.NewConfig().WithLimit(limit.Fuel, 1000, "get-mapping"),
			module: assembly{bodies: map[string]code{"get-mapping": forever + unreachable}},
			want:   limit.ExceededError{Limit: limit.Fuel, Most: 1000}, name: "fuel", kind: abi.ErrCrashed,
		},
		"calls of WASI": {
			config: host.NewConfig().WithLimit("answer-host-calls", 1000),
			module: assembly{imports: []importEntry{yield}, bodies: map[string]code{"get-mapping": always(callFunc(0) + drop)}},
			want:   limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, name: "answer-host-calls", kind: abi.ErrCrashed,
		},
		"calls of the contract": {
			config: host.NewConfig().WithLimit(limit.HostCalls, 1000, "get-mapping"),
			module: assembly{
				imports: []importEntry{{"husk:provider/control@0.2.0", "cancelled", importSignature("control", "cancelled")}},
				bodies:  map[string]code{"get-mapping": always(callFunc(0) + drop)},
			},
			want: limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, name: "answer-host-calls", kind: abi.ErrCrashed,
		},
		"calls of the start": {
			config: host.NewConfig().WithLimit(limit.HostCalls, 1000, "start"),
			module: assembly{imports: []importEntry{yield}, bodies: map[string]code{"_initialize": "\x03\x40" + callFunc(0) + drop + "\x0c\x00\x0b"}},
			want:   limit.ExceededError{Limit: limit.HostCalls, Most: 1000}, name: "answer-host-calls", kind: abi.ErrCrashed, method: "start",
		},
		"random bytes": {
			config: host.NewConfig().WithLimit(limit.RandomBytes, 100<<10),
			module: assembly{
				imports: []importEntry{random},
				bodies:  map[string]code{"get-mapping": always(i32Const(0) + i32Const(30<<10) + callFunc(0) + drop)},
			},
			want: limit.ExceededError{Limit: limit.RandomBytes, Most: 100 << 10}, name: "random-bytes", kind: abi.ErrCrashed,
		},
		"memory": {
			config: host.NewConfig().WithLimit(limit.Memory, 8<<20),
			module: assembly{bodies: map[string]code{"get-mapping": "\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b" + unreachable}},
			want:   limit.ExceededError{Limit: limit.Memory, Most: 8 << 20}, name: "memory", kind: abi.ErrCrashed,
		},
		"a request": {
			config: host.NewConfig().WithLimit(limit.Request, 64),
			module: assembly{bodies: map[string]code{"create": unreachable}},
			want:   limit.ExceededError{Limit: limit.Request, Most: 64}, name: "request-bytes", kind: abi.ErrInvalidArgument, method: "create",
		},
		"an answer": {
			config: host.NewConfig().WithLimit(limit.Answer, 64),
			module: assembly{
				bodies: map[string]code{"get-mapping": returns(answer)},
				data:   map[uint32]string{answer: words(0, contents, 65, contents, 0)},
			},
			want: limit.ExceededError{Limit: limit.Answer, Most: 64}, name: "answer-bytes", kind: abi.ErrInternal,
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
				require.Equal(t, []any{c.want.Limit, c.want.Most, c.name}, []any{exceeded.Limit, exceeded.Most, exceeded.Info().Name})
				require.ErrorIs(t, err, c.kind)
				require.NotErrorIs(t, err, abi.ErrCancelled)
			}
		})
	}
}

func TestExceededLimitsAreNamed(t *testing.T) {
	for want, e := range map[string]limit.ExceededError{
		"it took longer than the 1m30s that it may take; the option WithLimit(time) sets the limit":                                             {Limit: limit.Time, Most: 90_000_000_000},
		"it called the host more than the 10 times that it may; the option WithLimit(host-calls) sets the limit":                                {Limit: limit.HostCalls, Most: 10},
		"it needs more memory than its limit of 256 MiB; the option WithLimit(memory) sets the limit":                                           {Limit: limit.Memory, Most: 256 << 20},
		"compiling the module takes longer than the 2m0s of processor time that it may take; the option WithLimit(compile-time) sets the limit": {Limit: limit.CompileTime, Most: uint64(2 * time.Minute)},
		"8 streams of the provider are open already: close one; the option WithLimit(streams) sets the limit":                                   {Limit: limit.Streams, Most: 8},
		"the values of the request take more than the 5 bytes that can be passed; the option WithLimit(request-bytes) sets the limit":           {Limit: limit.Request, Most: 5},
	} {
		require.EqualError(t, &e, want)
	}
}

func TestACompilationIsBoundedInTime(t *testing.T) {
	h, err := host.New(t.Context(), host.NewConfig().WithLimit(limit.CompileTime, 1)) // without a cache, which may have the module
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
	p := assemble(t, newHost(t, host.NewConfig().WithLimit(limit.TableElements, 10)), assembly{
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
	h := newHost(t, host.NewConfig().WithClock(clock).WithCancelGrace(time.Nanosecond).WithLimit(limit.WaitingCalls, 1))
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
	require.EqualError(t, err, "hand: get-mapping (policy): 1 calls are waiting for an instance already; the option WithLimit(waiting-calls) sets the limit")
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.NoError(t, p.Close())
	for range 2 {
		require.Error(t, <-ended)
	}
}

func TestWhatAProviderLogsIsBoundedInEachSecond(t *testing.T) {
	testmodule.Skip(t)
	clock := newHandClock()
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig().WithClock(clock).WithLimit(limit.LogRate, 10_000)), host.ProviderOptions{Logger: logged.logger()})
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
	require.Equal(t, `level=WARN msg="output of the provider is dropped: it comes to more than 10000 bytes per second; the option WithLimit(log-rate) sets the limit" provider=probe method=invoke host=true`, lines[40])
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
	if testing.Short() {
		t.Skip("writes logs of megabytes")
	}
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
			p := provide(t, newHost(t, host.NewConfig().WithClock(newHandClock()).WithLimit(limit.LogRate, 1000)), host.ProviderOptions{Logger: logged.logger()})
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
	module, err := newHost(t, host.NewConfig().WithClock(newHandClock()).WithLimit(limit.LogRate, 1000)).LoadBytes(t.Context(), assembly{
		imports: []importEntry{{"husk:provider/log@0.2.0", "write", importSignature("log", "write")}},
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

func TestLimitsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range limit.All() {
		require.False(t, seen[l.Name], "%s is twice", l.Name)
		seen[l.Name] = true
		require.NotZero(t, l.Default, l.Name)
		found, ok := limit.Named(l.Name)
		require.True(t, ok)
		require.Equal(t, []any{l.Limit, l.Unit, l.Scope}, []any{found.Limit, found.Unit, found.Scope})
		if l.Scope == limit.ScopeProgram {
			require.Equal(t, "Program.Limit", l.Option)
			_, err := host.New(t.Context(), host.NewConfig().WithLimit(limit.Limit(l.Name), l.Default))
			require.ErrorContains(t, err, "is of programs, and not of a host")
			continue
		}
		require.Contains(t, []string{"", "WithLimit"}, l.Option, l.Name)
		h, err := host.New(t.Context(), host.NewConfig().WithLimit(limit.Limit(l.Name), l.Default))
		require.Equal(t, l.Option == "", err != nil, "%s: %v", l.Name, err)
		if err == nil {
			require.NoError(t, h.Close(t.Context()))
		}
		for _, value := range []uint64{1, 1023, 1024, 5 << 20, l.Default, math.MaxInt64} {
			read, err := l.Parse(l.Format(value))
			require.NoError(t, err, "%s of %s", l.Format(value), l.Name)
			require.Equal(t, value, read, l.Name)
		}
		for _, text := range []string{"", "0", "-1", "1 MB", "soon", "0s", "1.5MiB", "99999999999GiB", "9223372036854775808"} {
			_, err := l.Parse(text)
			require.Error(t, err, "%q of %s", text, l.Name)
		}
	}
	for _, known := range []limit.Limit{
		limit.Time, limit.Fuel, limit.HostCalls, limit.RandomBytes, limit.Memory, limit.TotalMemory,
		limit.TableElements, limit.OpenFiles, limit.Stack, limit.StackDepth, limit.Request, limit.Answer, limit.WaitingCalls,
		limit.Streams, limit.LogRate, limit.Crashes, limit.ModuleSize, limit.CompileTime, limit.EvaluationSteps, limit.EvaluationMemory, "module-loops",
	} {
		e := limit.ExceededError{Limit: known, Most: 7}
		require.Equal(t, known, e.Info().Limit)
		require.NotContains(t, e.Error(), "%!")
	}
	unknown := limit.ExceededError{Limit: "patience", Most: 7}
	require.EqualError(t, &unknown, "it has more than 7 of patience; the limit is fixed")
}

// defaultOf returns the default of a limit.
func defaultOf(t *testing.T, name string) uint64 {
	t.Helper()
	l, ok := limit.Named(name)
	require.True(t, ok, name)
	return l.Default
}

func TestALimitOfItsName(t *testing.T) {
	for name, want := range map[limit.Limit]string{
		"":         `there is no limit ""`,
		"patience": `there is no limit "patience"`,
		"stack":    `the limit "stack" is fixed`,
		"fuel":     `the limit "fuel" cannot be 0`,
	} {
		_, err := host.New(t.Context(), host.NewConfig().WithLimit(name, 0))
		require.EqualError(t, err, want)
	}
	for _, value := range []uint64{1, math.MaxUint64} {
		for _, l := range limit.All() {
			if l.Scope == limit.ScopeProgram {
				continue
			}
			if l.Option != "" {
				newHost(t, host.NewConfig().WithLimit(limit.Limit(l.Name), value)) // which takes it
			}
		}
	}
	// One limit of modules leaves the others as they are.
	wasm := assembly{bodies: map[string]code{"get-schema": unreachable}}.wasm()
	for exports, refused := range map[uint64]bool{1: true, 1000: false} {
		_, err := newHost(t, host.NewConfig().WithLimit("module-exports", exports)).LoadBytes(t.Context(), wasm)
		require.Equal(t, refused, err != nil, "%v", err)
	}
}

// To hear of a cancellation has a time of its own, which that of answers leaves as it is.
func TestTheTimeToHearOfACancellation(t *testing.T) {
	deaf := assembly{bodies: map[string]code{"get-schema": returns(answer), "cancel": forever + unreachable}, data: map[uint32]string{answer: words(0, contents, 0)}}
	for _, set := range [][]limit.Limit{{"cancel-time", "answer-time"}, {"answer-time", "cancel-time"}} {
		config := host.NewConfig().WithCancelGrace(time.Millisecond)
		for _, name := range set {
			config = config.WithLimit(name, uint64(map[limit.Limit]time.Duration{"answer-time": time.Hour, "cancel-time": time.Millisecond}[name]))
		}
		p := assemble(t, newHost(t, config), deaf)
		_, err := schema(t.Context(), p)
		require.NoError(t, err)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, p.Cancel(t.Context()), &exceeded)
		require.Equal(t, limit.ExceededError{Limit: limit.Time, Most: uint64(time.Millisecond), Method: "cancel"}, *exceeded)
		require.Equal(t, "cancel-time", exceeded.Info().Name)
	}
}

// provideWith makes a provider of a module with limits of its own.
func provideWith(t *testing.T, h *host.Host, a assembly, limits map[string]uint64) *host.Provider {
	t.Helper()
	module, err := h.LoadBytes(t.Context(), a.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Limits: limits})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// growUntilRefused takes memory a page at a time for as long as there is any.
const growUntilRefused = code("\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b")

func TestProvidersHaveLimitsOfTheirOwn(t *testing.T) {
	h := newHost(t, host.NewConfig().WithLimit(limit.Memory, 32<<20).WithLimit(limit.Fuel, 1<<30).WithCancelGrace(time.Millisecond).
		WithLimit(limit.Fuel, 1<<20, "get-schema").WithLimit(limit.Time, uint64(time.Hour), "get-schema"))
	grows := assembly{bodies: map[string]code{"get-mapping": growUntilRefused + unreachable}}
	spins := assembly{bodies: map[string]code{"get-mapping": forever + unreachable, "get-schema": forever + unreachable}}
	for name, c := range map[string]struct {
		module assembly
		limits map[string]uint64
		want   limit.ExceededError
	}{
		"less memory":     {grows, map[string]uint64{"memory": 8 << 20}, limit.ExceededError{Limit: limit.Memory, Most: 8 << 20}},
		"half a page":     {grows, map[string]uint64{"memory": 8<<20 + 1}, limit.ExceededError{Limit: limit.Memory, Most: 8<<20 + 65536}},
		"as much memory":  {grows, map[string]uint64{"memory": 32 << 20}, limit.ExceededError{Limit: limit.Memory, Most: 32 << 20}},
		"the host's":      {grows, nil, limit.ExceededError{Limit: limit.Memory, Most: 32 << 20}},
		"less fuel":       {spins, map[string]uint64{"fuel": 1000}, limit.ExceededError{Limit: limit.Fuel, Most: 1000}},
		"time":            {spins, map[string]uint64{"answer-time": 1e6}, limit.ExceededError{Limit: limit.Time, Most: 1e6}},
		"several of them": {spins, map[string]uint64{"answer-time": 4e12, "fuel": 77, "streams": 1}, limit.ExceededError{Limit: limit.Fuel, Most: 77}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := provideWith(t, h, c.module, c.limits).GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
			var exceeded *limit.ExceededError
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, []any{c.want.Limit, c.want.Most}, []any{exceeded.Limit, exceeded.Most})
		})
	}
	t.Run("before those of a method that all providers have", func(t *testing.T) {
		for _, own := range []map[string]uint64{{"fuel": 1 << 10, "answer-time": 1e12}, {"fuel": 1 << 40, "answer-time": 1e6}} {
			_, err := provideWith(t, h, spins, own).GetSchema(t.Context(), abi.GetSchemaRequest{})
			var exceeded *limit.ExceededError
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, own[exceeded.Info().Name], exceeded.Most)
		}
	})
	t.Run("less than it begins with", func(t *testing.T) {
		_, err := provideWith(t, h, grows, map[string]uint64{"memory": 65536}).GetMapping(t.Context(), abi.GetMappingRequest{})
		require.EqualError(t, err, "hand: start (policy): it needs more memory than its limit of 64 KiB; the option WithLimit(memory) sets the limit")
	})
}

func TestLimitsThatAProviderCannotHave(t *testing.T) {
	h := newHost(t, host.NewConfig().WithLimit(limit.Memory, 1<<20))
	module, err := h.LoadBytes(t.Context(), assembly{}.wasm())
	require.NoError(t, err)
	for name, want := range map[string]string{
		"patience":       `there is no limit "patience"`,
		"stack":          `the limit "stack" cannot be set for one provider`,
		"total-memory":   `the limit "total-memory" cannot be set for one provider`,
		"module-size":    `the limit "module-size" cannot be set for one provider`,
		"table-elements": `the limit "table-elements" cannot be set for one provider`,
		"memory":         `the limit "memory" is 2097152 bytes, but the host's is 1048576`,
	} {
		_, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Limits: map[string]uint64{name: 2 << 20}})
		require.EqualError(t, err, "the limits of the provider hand: "+want)
	}
	_, err = module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Limits: map[string]uint64{"fuel": 0}})
	require.EqualError(t, err, `the limits of the provider hand: the limit "fuel" cannot be 0`)
}

// A guest is refused what it may not have when it asks, and the error is of that, however much
// it has at its end.
func TestWhatWasRefusedIsTheReason(t *testing.T) {
	page := code("\x41\x01\x40\x00" + drop)
	ask := func(pages int32) code { return i32Const(pages) + "\x40\x00" + drop }
	small := host.NewConfig().WithLimit(limit.Memory, 2<<20)
	for name, c := range map[string]struct {
		body    code
		refused uint64 // 0 for nothing
	}{
		"one large piece, with little in use":   {ask(1000) + unreachable, 1002 * 65536},
		"more than there are addresses for":     {ask(-1) + unreachable, 0},
		"nearly all in use, and nothing wanted": {code(strings.Repeat(string(page), 30)) + unreachable, 0},
		"more, and then it went on":             {ask(1000) + page + unreachable, 1002 * 65536},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, small), assembly{bodies: map[string]code{"get-mapping": c.body, "get-mappings": unreachable}})
			_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
			require.ErrorIs(t, err, abi.ErrCrashed)
			var exceeded *limit.ExceededError
			if c.refused == 0 {
				require.NotErrorAs(t, err, &exceeded)
				return
			}
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, []any{limit.Memory, uint64(2 << 20), c.refused}, []any{exceeded.Limit, exceeded.Most, exceeded.Needed})
			require.GreaterOrEqual(t, exceeded.Enough(), c.refused)
			require.ErrorContains(t, err, "\nit needs more memory than its limit of 2 MiB; the option WithLimit(memory) sets the limit")

			_, err = p.GetMappings(t.Context(), abi.GetMappingsRequest{})
			require.NotErrorAs(t, err, &exceeded, "it is the reason for the call alone")
		})
	}
}

func TestARecursionWithoutEnd(t *testing.T) {
	var a assembly
	for index, e := range a.world.ExportTable() {
		if strings.HasPrefix(e.Name, "husk:") && strings.HasSuffix(e.Name, "#get-mapping") {
			call := code("")
			for range e.Signature.Params {
				call += i32Const(0)
			}
			a.bodies = map[string]code{"get-mapping": call + callFunc(index) + unreachable}
		}
	}
	for want, config := range map[string]host.Config{
		"its functions called each other deeper than the 50000000 bytes of stack allow": host.NewConfig(),
		"more than 2000 of its functions called each other":                             host.NewConfig().WithInterpreter(),
	} {
		_, err := assemble(t, newHost(t, config), a).GetMapping(t.Context(), abi.GetMappingRequest{})
		require.ErrorIs(t, err, abi.ErrCrashed)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, err, &exceeded)
		require.ErrorContains(t, err, "the provider crashed: stack overflow")
		require.ErrorContains(t, err, "\n"+want+", which mostly is a recursion without end; the limit is fixed")
	}
}

// A guest that crashes for want of room in a table says so, unless another call was refused it.
func TestAGuestThatIsRefusedTableElements(t *testing.T) {
	grow := func(elements int32) code { return "\xd0\x70" + i32Const(elements) + "\xfc\x0f\x00" + drop }
	for _, limits := range []uint32{10, 1000} {
		p := assemble(t, newHost(t, host.NewConfig().WithLimit(limit.TableElements, uint64(limits))), assembly{
			table:  true,
			bodies: map[string]code{"get-schema": grow(500) + returns(answer), "get-mapping": unreachable, "get-mappings": grow(500) + unreachable},
			data:   map[uint32]string{answer: words(0, contents, 0)},
		})
		_, err := schema(t.Context(), p)
		require.NoError(t, err)
		var exceeded *limit.ExceededError
		_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{})
		require.Error(t, err)
		require.NotErrorAs(t, err, &exceeded)
		_, err = p.GetMappings(t.Context(), abi.GetMappingsRequest{})
		require.Equal(t, limits == 10, errors.As(err, &exceeded), "%v", err)
		if limits == 10 {
			require.ErrorContains(t, err, "\nit was refused more table elements than the 10 that it may have; the option WithLimit(table-elements) sets the limit")
			require.Equal(t, limit.ExceededError{Limit: limit.TableElements, Most: 10}, *exceeded)
		}
	}
}

// A guest that can open no more files answers an error of its own, and that says why.
func TestAGuestThatCannotOpenMoreFiles(t *testing.T) {
	dir := t.TempDir()
	p := provide(t, newHost(t, host.NewConfig().WithLimit(limit.OpenFiles, 5)), host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/data", ReadWrite: true}}}})
	mustDo(t, p, "write", "/data/file", "")
	mustDo(t, p, "open", "/data/file", "5")
	e := failure(t, p, "open", "/data/file", "6")
	require.ErrorContains(t, e, "\nit was refused more than the 5 files and connections that it may have open; the option WithLimit(open-files) sets the limit")
	var exceeded *limit.ExceededError
	require.ErrorAs(t, e, &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.OpenFiles, Most: 5}, *exceeded)
	e = failure(t, p, "fail", "for another reason")
	require.NotErrorAs(t, e, &exceeded)
}

// The program in which a host is can say what its user is to do, who knows no package of Go.
func TestErrorsAreInTheWordsOfTheProgram(t *testing.T) {
	advice := func(name string, e limit.ExceededError) string {
		return fmt.Sprintf("ask for %s=%s for %q", e.Info().Name, e.Info().Format(e.Enough()), name)
	}
	config := host.NewConfig().WithAdvice(advice).WithCancelGrace(time.Millisecond)
	for want, c := range map[string]struct {
		config host.Config
		body   code
	}{
		`it used more than the 1000 units of fuel that it may use; ask for fuel=2000 for "hand"`: {config.WithLimit(limit.Fuel, 1000), forever + unreachable},
		`it took longer than the 1ms that it may take; ask for answer-time=2ms for "hand"`:       {config.WithLimit("answer-time", uint64(time.Millisecond)), forever + unreachable},
		`it needs more memory than its limit of 2 MiB; ask for memory=64 MiB for "hand"`:         {config.WithLimit(limit.Memory, 2<<20), i32Const(1000) + "\x40\x00" + drop + unreachable},
		`it crashed 1 times within 1m0s and is in quarantine, so that it is not called any more; ask for crashes=2 for "hand"; the last crash: `: {
			config.WithLimit(limit.Crashes, 1), unreachable},
	} {
		p := assemble(t, newHost(t, c.config), assembly{bodies: map[string]code{"get-mapping": c.body}})
		_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
		if strings.Contains(want, "crashed") {
			_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{})
		}
		require.ErrorContains(t, err, want)
		require.NotRegexp(t, `option With|Readmit`, err.Error())
	}

	// Nothing has compiled the module before, or there would be nothing to bound.
	wasm := assembly{pages: 20, bodies: map[string]code{"get-mapping": i32Const(rand.Int32()) + drop + unreachable}}.wasm()
	for want, config := range map[string]host.Config{
		"the limit is 100; ask for module-size=" + strconv.Itoa(enough(100, len(wasm))) + ` bytes for ""`: config.WithLimit(limit.ModuleSize, 100),
		`; ask for memory=64 MiB for ""`:    config.WithLimit(limit.Memory, 1<<20),
		`; ask for module-functions=`:       config.WithLimit("module-functions", 3),
		`; ask for compile-time=2ns for ""`: config.WithLimit(limit.CompileTime, 1),
	} {
		_, err := newHost(t, config).LoadBytes(t.Context(), wasm)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "option With")
	}
}

func enough(most, needed int) int {
	for most *= 2; most < needed; {
		most *= 2
	}
	return most
}

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
			host.NewConfig().WithLimit("answer-time", uint64(5*time.Millisecond)).WithLimit(limit.Time, uint64(time.Minute), "get-schema"),
			"hand: get-mapping (policy): the call was stopped: it took longer than the 5ms that it may take; the option WithLimit(answer-time) sets the limit",
		},
		"fuel": {
			host.NewConfig().WithLimit(limit.Fuel, 1_000_000, "get-mapping"),
			"hand: get-mapping (policy): the call was stopped: it used more than the 1000000 units of fuel that it may use; the option WithLimit(fuel) sets the limit",
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
		h, err := host.New(t.Context(), config.WithLimit(limit.Fuel, fuel, "get-schema"))
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
	_, err := host.New(t.Context(), host.NewConfig().WithLimit(limit.Fuel, 1, "chekc"))
	require.EqualError(t, err, `a limit is set for the method "chekc", which does not exist`)
	_, err = host.New(t.Context(), host.NewConfig().WithLimit(limit.Memory, 1<<20, "check"))
	require.EqualError(t, err, `the limit "memory" is not of calls, and cannot be set for some methods`)
	for _, method := range []string{"start", "check", "stream-next", "construct"} {
		h, err := host.New(t.Context(), host.NewConfig().WithLimit(limit.Time, uint64(time.Minute), method))
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
	}
}
