package host_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// pages answers get-schema, sleeps in get-mapping, and waits for the monitor in construct,
// with a memory of so many pages.
func pages(n uint64) assembly {
	wait := importEntry{"husk:provider/monitor@0.1.0", "wait", importSignature("monitor", "wait")}
	data := map[uint32]string{answer: words(0, contents, 0)}
	for at, bytes := range sleepData {
		data[at] = bytes
	}
	return assembly{
		imports: []importEntry{poll, wait},
		bodies: map[string]code{
			"get-schema": returns(answer), "get-mapping": sleep + unreachable,
			"construct": i32Const(8192) + callFunc(1) + unreachable,
		},
		data: data, pages: n,
	}
}

const mebibyte = 16 // pages

func requireNoMemory(t *testing.T, err error, method string) {
	t.Helper()
	require.ErrorIs(t, err, abi.ErrUnavailable)
	var exceeded *limit.ExceededError
	require.ErrorAs(t, err, &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.TotalMemory, Most: 4 << 20}, *exceeded)
	require.ErrorContains(t, err, "hand: "+method+" (policy): the instances of all providers would need more than the 4 MiB of memory that they may have together; the option WithTotalMemory sets the limit")
}

// sleeping calls get-mapping, and answers how it ended once that is told to end.
func sleeping(t *testing.T, p *host.Provider, clock sleepers) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := p.GetMapping(ctx, abi.GetMappingRequest{})
		ended <- err
	}()
	<-clock.asleep
	return func() error {
		cancel(errors.New("it slept enough"))
		return <-ended
	}
}

func TestInstancesShareTheMemoryOfAHost(t *testing.T) {
	clock := sleepers{host.SystemClock(), make(chan time.Duration)}
	config := host.NewConfig().WithTotalMemory(4 << 20).WithClock(clock).WithCancelGrace(time.Nanosecond)

	t.Run("what can never be is refused", func(t *testing.T) {
		p := assemble(t, newHost(t, config), pages(2*mebibyte+1))
		_, err := schema(t.Context(), p)
		requireNoMemory(t, err, "start")
		require.Equal(t, map[host.Failure]uint64{"total-memory": 1}, p.Stats().Failures)
	})
	t.Run("idle instances make room", func(t *testing.T) {
		h := newHost(t, config)
		for range 10 {
			p := assemble(t, h, pages(mebibyte))
			for range 2 {
				_, err := schema(t.Context(), p)
				require.NoError(t, err)
			}
			require.EqualValues(t, 1<<20, p.Stats().Memory)
			require.LessOrEqual(t, h.Stats().Memory, uint64(4<<20))
		}
		require.Less(t, h.Stats().Instances, 4)
	})
	t.Run("busy instances are waited for", func(t *testing.T) {
		h := newHost(t, config)
		busy, other := assemble(t, h, pages(2*mebibyte)), assemble(t, h, pages(2*mebibyte))
		end := sleeping(t, busy, clock)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := schema(ctx, other)
		require.ErrorIs(t, err, abi.ErrCancelled)
		answered := make(chan error, 1)
		go func() {
			_, err := schema(context.Background(), other)
			answered <- err
		}()
		require.ErrorContains(t, end(), "it slept enough")
		require.NoError(t, <-answered)
	})
	t.Run("there is always room for another", func(t *testing.T) {
		h := newHost(t, config)
		greedy, other := assemble(t, h, pages(mebibyte)), assemble(t, h, pages(mebibyte))
		first, second := sleeping(t, greedy, clock), sleeping(t, greedy, clock)
		third := make(chan error, 1)
		go func() {
			_, err := schema(context.Background(), greedy)
			third <- err
		}()
		_, err := schema(t.Context(), other)
		require.NoError(t, err)
		require.Error(t, first())
		require.NoError(t, <-third)
		require.Error(t, second())
	})
	t.Run("nobody waits for one that waits for him", func(t *testing.T) {
		h := newHost(t, config)
		component, child := assemble(t, h, pages(2*mebibyte)), assemble(t, h, pages(2*mebibyte))
		var waited error
		monitor := waiter{last: &waited, wait: func(ctx context.Context) error { _, err := schema(ctx, child); return err }}
		_, err := component.Construct(abi.WithMonitor(t.Context(), monitor), abi.ConstructRequest{})
		require.ErrorIs(t, err, abi.ErrCrashed)
		requireNoMemory(t, waited, "start")
	})
	t.Run("memory that grows counts", func(t *testing.T) {
		// Growing by a page until that fails leaves 32 pages.
		p := assemble(t, newHost(t, config), assembly{bodies: map[string]code{
			"get-mapping": "\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b" + "\x3f\x00" + i32Const(2*mebibyte) + "\x47\x04\x40\x00\x0b" + returns(answer),
			"get-schema":  "\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b" + unreachable,
		}, data: map[uint32]string{answer: words(0, contents, 0, contents, 0)}})
		_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
		require.NoError(t, err)
		require.EqualValues(t, 2<<20, p.Stats().Memory)
		_, err = schema(t.Context(), p)
		require.ErrorIs(t, err, abi.ErrCrashed)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, err, &exceeded)
		require.Equal(t, limit.TotalMemory, exceeded.Limit)
		require.Zero(t, p.Stats().Memory, "what a crashed instance had is free again")
	})
}

// waiter is a monitor that does something while a component waits for it.
type waiter struct {
	abi.Monitor
	wait func(context.Context) error
	last *error
}

func (w waiter) Wait(ctx context.Context) (abi.Completed, error) {
	*w.last = w.wait(ctx)
	return abi.Completed{}, *w.last
}

// Instances that serve nothing end, and what comes later begins where they began.
func TestIdleInstancesEnd(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Hour)) // the test does without
	p := provide(t, h, host.ProviderOptions{})
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	shared := t.TempDir()
	both := provide(t, h, host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{{HostPath: shared, GuestPath: "/shared", ReadWrite: true}}}})
	done := make(chan error)
	go func() {
		_, err := do(t.Context(), both, "meet", "/shared", "a", "2")
		done <- err
	}()
	mustDo(t, both, "meet", "/shared", "b", "2")
	require.NoError(t, <-done)
	require.Equal(t, 2, both.Stats().Instances)

	first := mustDo(t, p, "greeting")
	h.EndStale() // has seen them idle
	require.Equal(t, 3, h.Stats().Instances)
	require.Equal(t, first.instance, mustDo(t, p, "greeting").instance)
	mustDo(t, both, "nothing")
	h.EndStale()
	require.Equal(t, 1, p.Stats().Instances, "what was used meanwhile is kept")
	require.Equal(t, 1, both.Stats().Instances, "and so is only what was needed")
	h.EndStale()
	require.Zero(t, h.Stats().Instances)
	require.Zero(t, h.Stats().Memory)

	again := mustDo(t, p, "greeting")
	require.Equal(t, "hello", again.answer)
	require.NotEqual(t, first.instance, again.instance)
	require.EqualValues(t, 1, again.served)
}

// The host ends idle instances by itself.
func TestIdleInstancesAreLookedFor(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Millisecond))
	p := provide(t, h, host.ProviderOptions{})
	mustDo(t, p, "nothing")
	require.Eventually(t, func() bool { return p.Stats().Instances == 0 }, time.Minute, time.Millisecond)
	mustDo(t, p, "nothing")
	require.Eventually(t, func() bool { return p.Stats().Instances == 0 }, time.Minute, time.Millisecond)
}

// Of many configurations that were called once, few keep an instance.
func TestIdleInstancesAreFew(t *testing.T) {
	h := newHost(t, host.NewConfig().WithIdleTime(time.Hour).WithIdleInstances(4))
	for range 40 {
		mustDo(t, provide(t, h, host.ProviderOptions{}), "nothing")
	}
	for h.Stats().Instances > 5 { // they are ended meanwhile
		mustDo(t, provide(t, h, host.ProviderOptions{}), "nothing")
	}
}

// handClock is a clock that tests move, and that sleeping moves.
type handClock struct {
	host.Clock
	elapsed *atomic.Int64
	mu      *sync.Mutex
	slept   *[]time.Duration
}

func newHandClock() handClock {
	c := handClock{host.SystemClock(), &atomic.Int64{}, &sync.Mutex{}, &[]time.Duration{}}
	c.elapsed.Store(1) // Go does not start at 0
	return c
}

func (c handClock) Elapsed() time.Duration { return time.Duration(c.elapsed.Load()) }

func (c handClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	*c.slept = append(*c.slept, d)
	c.mu.Unlock()
	c.elapsed.Add(int64(d))
	return ctx.Err()
}

// frail crashes in get-mapping, and answers get-schema.
var frail = assembly{
	bodies: map[string]code{"get-mapping": unreachable, "get-schema": returns(answer)},
	data:   map[uint32]string{answer: words(0, contents, 0)},
}

func crash(t *testing.T, p *host.Provider) error {
	t.Helper()
	_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
	require.Error(t, err)
	return err
}

func TestAProviderThatCrashesIsStartedEverMoreSlowly(t *testing.T) {
	clock := newHandClock()
	p := assemble(t, newHost(t, host.NewConfig().WithClock(clock)), frail)
	const ms = time.Millisecond
	for range 9 {
		require.ErrorIs(t, crash(t, p), abi.ErrCrashed)
	}
	require.Equal(t, []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1000 * ms}, *clock.slept)

	*clock.slept = nil
	_, err := schema(t.Context(), p)
	require.NoError(t, err)
	crash(t, p) // in the instance that there is
	require.Equal(t, []time.Duration{1000 * ms}, *clock.slept, "a success ends the waiting")
	crash(t, p)
	require.Equal(t, []time.Duration{1000 * ms, 10 * ms}, *clock.slept)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.GetSchema(ctx, abi.GetSchemaRequest{})
	require.ErrorIs(t, err, abi.ErrCancelled, "waiting ends with the call")
}

func TestAProviderThatCrashesTooOftenIsCalledNoMore(t *testing.T) {
	clock := newHandClock()
	h := newHost(t, host.NewConfig().WithClock(clock).WithQuarantine(3, time.Minute))
	p, other := assemble(t, h, frail), assemble(t, h, frail)
	for range 5 { // too few at a time
		crash(t, p)
		clock.elapsed.Add(int64(30 * time.Second))
	}
	_, err := schema(t.Context(), p)
	require.NoError(t, err)

	clock.elapsed.Add(int64(time.Hour))
	for range 3 {
		require.ErrorIs(t, crash(t, p), abi.ErrCrashed)
	}
	for range 2 {
		err = crash(t, p)
		require.ErrorIs(t, err, abi.ErrUnavailable, "nothing was done, and nothing is pending")
		require.EqualError(t, err, "hand: get-mapping (policy): it crashed 3 times within 1m0s and is in quarantine, so that it is not called any more; "+
			"make it anew or Readmit it to try again; the last crash: hand: get-mapping (host): the provider crashed: unreachable")
		var quarantine *host.QuarantineError
		require.ErrorAs(t, err, &quarantine)
		require.Equal(t, 3, quarantine.Crashes)
	}
	_, err = schema(t.Context(), p)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	_, err = p.StreamInvoke(t.Context(), abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	_, err = schema(t.Context(), other)
	require.NoError(t, err, "a quarantine is one configuration's")
	require.EqualValues(t, 4, p.Stats().Failures[host.FailureQuarantine])

	p.Readmit()
	require.ErrorIs(t, crash(t, p), abi.ErrCrashed)
	_, err = schema(t.Context(), p)
	require.NoError(t, err)
}

func TestFailuresAreCountedByTheirCause(t *testing.T) {
	exit := importEntry{"wasi_snapshot_preview1", "proc_exit", canon.Signature{Params: i32}}
	failures := map[host.Failure]assembly{
		host.FailureTrap: frail,
		host.FailureExit: {imports: []importEntry{exit}, bodies: map[string]code{"get-mapping": i32Const(3) + callFunc(0) + unreachable}},
		host.FailureError: {
			bodies: map[string]code{"get-mapping": returns(answer)},
			data:   map[uint32]string{answer: words(1)},
		},
		host.FailureBreach: {bodies: map[string]code{"get-mapping": returns(answer + 1)}},
		"fuel":             {bodies: map[string]code{"get-mapping": forever + unreachable}},
		"memory": {bodies: map[string]code{
			"get-mapping": "\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b" + unreachable,
		}},
	}
	h := newHost(t, host.NewConfig().WithFuel(1_000_000).WithMemoryLimit(8<<20).WithClock(newHandClock()))
	for cause, module := range failures {
		p := assemble(t, h, module)
		for range 2 {
			crash(t, p)
		}
		stats := p.Stats()
		require.Equal(t, map[host.Failure]uint64{cause: 2}, stats.Failures)
		// A call, and the start of an instance, unless there was one.
		started := uint64(2)
		if cause == host.FailureError {
			started = 1
		}
		require.Equal(t, 2+started, stats.Calls, cause)
		require.Equal(t, started, stats.Started, cause)
		require.EqualValues(t, map[bool]int{true: 1}[cause == host.FailureError], stats.Instances, cause)
		require.Equal(t, map[bool]uint64{false: 2}[cause == host.FailureError], stats.Dropped, cause)
		require.NoError(t, p.Close())
		require.Zero(t, p.Stats().Instances)
	}
	p := assemble(t, h, assembly{bodies: map[string]code{"get-mapping": forever + unreachable}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.GetMapping(ctx, abi.GetMappingRequest{})
	require.Error(t, err)
	require.Empty(t, p.Stats().Failures, "a call that no instance saw is none")

	whole := h.Stats()
	require.Len(t, whole.Failures, len(failures))
	for cause := range failures {
		require.EqualValues(t, 2, whole.Failures[cause], cause)
	}
	require.Zero(t, whole.Instances)
}

func TestAHostEndsWithAllThatItStarted(t *testing.T) {
	clock := sleepers{host.SystemClock(), make(chan time.Duration)}
	h, err := host.New(t.Context(), host.NewConfig().WithClock(clock))
	require.NoError(t, err)
	module, err := h.LoadBytes(t.Context(), assembly{
		imports: []importEntry{poll}, bodies: map[string]code{"get-mapping": sleep + unreachable}, data: sleepData,
	}.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := p.GetMapping(context.Background(), abi.GetMappingRequest{})
		ended <- err
	}()
	<-clock.asleep
	require.NoError(t, h.Close(t.Context()))
	require.Zero(t, h.Stats().Instances)
	require.EqualError(t, <-ended, "hand: get-mapping (host): the call was stopped: it is closed")
	_, err = module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand"})
	require.EqualError(t, err, "the host is closed")
}
