package host_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
)

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
