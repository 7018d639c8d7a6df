package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// pages answers get-schema, sleeps in get-mapping, and waits for the monitor in construct,
// with a memory of so many pages.
func pages(n uint64) assembly {
	wait := importEntry{"husk:provider/monitor@0.2.0", "wait", importSignature("monitor", "wait")}
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
	require.ErrorContains(t, err, "hand: "+method+" (policy): the instances of all providers would need more than the 4 MiB of memory that they may have together; the option WithLimit(total-memory) sets the limit")
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
	config := host.NewConfig().WithLimit(limit.TotalMemory, 4<<20).WithClock(clock).WithCancelGrace(time.Nanosecond)

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
	t.Parallel()
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
	h := newHost(t, host.NewConfig().WithClock(clock).WithLimit(limit.Crashes, 3).WithQuarantineWindow(time.Minute))
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
	h := newHost(t, host.NewConfig().WithLimit(limit.Fuel, 1_000_000).WithLimit(limit.Memory, 8<<20).WithClock(newHandClock()))
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

// The answers of hand-made modules are at these addresses.
const (
	answer   = 1024
	answer2  = 1152
	contents = 2048
)

// returns is the body of a method that answers what lies at the address.
func returns(address int32) code { return i32Const(address) }

// make an unnamed provider of a hand-made module. It is not asked for a schema, as the
// tests have other uses for get-schema.
func assemble(t *testing.T, h *host.Host, a assembly) *host.Provider {
	t.Helper()
	module, err := h.LoadBytes(t.Context(), a.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func schema(ctx context.Context, p *host.Provider) (string, error) {
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	return response.Schema, err
}

func TestATrap(t *testing.T) {
	h := newHost(t, host.NewConfig())
	// The first call of an instance answers, later ones trap.
	p := assemble(t, h, assembly{
		bodies: map[string]code{"get-schema": count + choose(1, 1, 0) + "\x45\x04\x40\x00\x0b" + returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	})
	for range 3 {
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "ok", got)
		_, err = schema(t.Context(), p)
		require.ErrorIs(t, err, abi.ErrCrashed)
		require.ErrorContains(t, err, "hand: get-schema (host): the provider crashed: unreachable\n  at ")
	}
}

func importSignature(iface, name string) canon.Signature {
	for _, i := range canon.ImportTable() {
		if i.Module == "husk:provider/"+iface+"@"+canon.Version && i.Name == name {
			return i.Signature
		}
	}
	panic("no import " + name)
}

func TestTheAllocatorMayRunInsideOfItself(t *testing.T) {
	// cabi_realloc asks the host for a key in its first three calls. The refusal is a
	// text for which the host needs memory again.
	body := count + i32Const(3) + "\x4d\x04\x40" +
		i32Const(contents) + i32Const(0) + i32Const(answer2) + callFunc(0) + "\x0b" + bump
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		imports: []importEntry{{"husk:provider/kv@0.2.0", "get", importSignature("kv", "get")}},
		bodies:  map[string]code{"cabi_realloc": body, "get-mapping": returns(answer)},
		data:    map[uint32]string{answer: words(0, contents, 8, contents, 8), contents: "terrafor"},
	})
	for range 2 {
		response, err := p.GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
		require.NoError(t, err)
		require.Equal(t, "terrafor", response.Provider)
	}
}

func TestAReleaseThatTrapsLosesNoAnswer(t *testing.T) {
	// get-schema answers how often the instance was called: always the first time.
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"get-schema": count + choose(1, answer, answer2),
			"cabi_post_husk:provider/provider@0.2.0#get-schema": unreachable,
		},
		data: map[uint32]string{
			answer: words(0, contents, 5), answer2: words(0, contents+5, 5), contents: "first" + "later",
		},
	})
	for range 3 {
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "first", got)
	}
}

// A finished answer does not wait until the guest has freed it: what has been created is there, and
// the guest may take its time for hours.
func TestAReleaseThatDoesNotEndDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	// Subscriptions of poll_oneoff: to the monotonic clock, in a year.
	aYear := words(0, 0, 0, 0, 1, 0, 0xffffffff, 0x6fffff, 0, 0, 0, 0)
	for name, release := range map[string]assembly{
		"computes": {bodies: map[string]code{"cabi_post_husk:provider/provider@0.2.0#create": forever}},
		"sleeps": {
			imports: []importEntry{poll},
			bodies: map[string]code{
				"cabi_post_husk:provider/provider@0.2.0#create": i32Const(answer2) + i32Const(4096) + i32Const(1) + i32Const(4160) + callFunc(0) + drop,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			release.bodies["create"] = returns(answer)
			release.bodies["get-schema"] = count + choose(1, answer+64, answer+96)
			release.data = map[uint32]string{
				answer: words(0, contents+256, 2, contents, 1, 0), contents: "\xa0", contents + 256: "id", answer2: aYear,
				answer + 64: words(0, contents+512, 5), answer + 96: words(0, contents+512+5, 5), contents + 512: "firstlater",
			}
			p := assemble(t, newHost(t, host.NewConfig().WithLimit(limit.Time, uint64(time.Hour)).WithCancelGrace(time.Hour)), release)
			for range 2 {
				created, err := p.Create(t.Context(), abi.CreateRequest{})
				require.NoError(t, err)
				require.Equal(t, "id", created.ID)
				told, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, "first", told, "what did not end is not used again")
			}
		})
	}
}

// Each deployment ends by telling providers that all is cancelled. One that does not hear of it
// delays the end by some seconds, and not for as long as it may take to answer.
func TestAGuestThatDoesNotHearOfACancellation(t *testing.T) {
	const most = uint64(20 * time.Millisecond)
	p := assemble(t, newHost(t, host.NewConfig().WithCancelGrace(time.Millisecond).WithLimit("cancel-time", most)), assembly{
		bodies: map[string]code{"get-schema": returns(answer), "cancel": forever + unreachable},
		data:   map[uint32]string{answer: words(0, contents, 0)},
	})
	_, err := schema(t.Context(), p)
	require.NoError(t, err)
	var exceeded *limit.ExceededError
	require.ErrorAs(t, p.Cancel(t.Context()), &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.Time, Most: most, Method: "cancel"}, *exceeded)
}

func TestAnswersThatBreakTheContract(t *testing.T) {
	empty := "\xa0"
	for name, c := range map[string]struct {
		id, state string
		want      string
	}{
		"no ID":          {"", empty, "hand: create (host): the provider broke the contract: it created a resource without an ID"},
		"malformed CBOR": {"x", "\xa1", "hand: create (host): the provider's answer is not what the contract asks for: create-response.state: "},
		"duplicate keys": {"x", "\xa2\x61a\x01\x61a\x02", "hand: create (host): the provider's answer is not what the contract asks for: create-response.state: "},
		"no object":      {"x", "\x80", "create-response.state: "},
		"too deep":       {"x", "\xa1\x61a" + strings.Repeat("\x81", 200) + "\xf6", "create-response.state: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, host.NewConfig()), assembly{
				bodies: map[string]code{"create": returns(answer)},
				data: map[uint32]string{
					answer:   words(0, contents, uint32(len(c.id)), contents+256, uint32(len(c.state)), 0),
					contents: c.id, contents + 256: c.state,
				},
			})
			_, err := p.Create(t.Context(), abi.CreateRequest{Name: "x"})
			require.ErrorContains(t, err, c.want)
			if c.id == "" {
				require.ErrorIs(t, err, abi.ErrInternal)
				return
			}
			require.ErrorIs(t, err, abi.ErrInitFailed)
			require.Equal(t, &abi.InitFailure{ID: c.id, RefreshBeforeUpdate: true}, abi.AsError(err).InitFailure, "the object exists")
		})
	}
}

func TestUnknownsAreForPreviewsOnly(t *testing.T) {
	mixed, err := guestcbor.Marshal(property.MapOf(map[string]property.Value{
		"known": property.Bool(true),
		"deep":  property.Array(property.Bool(true), property.Secret(property.Unknown)),
	}))
	require.NoError(t, err)
	state := words(contents, uint32(len(mixed)))
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"create": returns(answer), "update": returns(answer + 64), "read": returns(answer2), "invoke": returns(answer + 64),
		},
		data: map[uint32]string{
			answer: words(0, contents+256, 2) + state + words(0), contents + 256: "id",
			answer + 64: words(0) + state + words(0, 0),
			answer2:     words(0, contents+256, 2) + state + words(0, 0, 0, 0),
			contents:    string(mixed),
		},
	})
	ctx := t.Context()
	_, err = p.Create(ctx, abi.CreateRequest{Preview: true})
	require.NoError(t, err)
	_, err = p.Update(ctx, abi.UpdateRequest{Preview: true})
	require.NoError(t, err)

	// What was created is not lost.
	_, err = p.Create(ctx, abi.CreateRequest{})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failed := err.(*abi.Error)
	require.Equal(t, "id", failed.InitFailure.ID)
	require.True(t, failed.InitFailure.State.Equal(property.MapOf(map[string]property.Value{"known": property.Bool(true)})))
	require.EqualError(t, err, "hand: create (host): the provider broke the contract, but the resource exists\n"+
		"  - the property deep[1] of the state that it answered is unknown, which only a preview allows")

	_, err = p.Update(ctx, abi.UpdateRequest{})
	require.EqualError(t, err, "hand: update (host): the provider broke the contract: "+
		"the property deep[1] of the state that it answered is unknown, which only a preview allows")
	_, err = p.Read(ctx, abi.ReadRequest{})
	require.ErrorContains(t, err, "hand: read (host): the provider broke the contract: the property deep[1]")
	_, err = p.Invoke(ctx, abi.InvokeRequest{})
	require.ErrorContains(t, err, "hand: invoke (host): the provider broke the contract: the property deep[1] of the result")
}

func TestStreamsKeepTheirInstance(t *testing.T) {
	// A stream yields two results. The counter of its instance would tell if another
	// call got in between.
	p := assemble(t, newHost(t, host.NewConfig()), assembly{
		bodies: map[string]code{
			"stream-invoke": returns(answer),
			"stream-next":   count + choose(2, answer+64, answer2),
			"stream-close":  returns(answer2 + 64),
			"get-schema":    count + choose(1, answer2+128, answer2+128),
		},
		data: map[uint32]string{
			answer:       words(0, 0, 7, 0),
			answer + 64:  words(0, 1, contents, 1),
			answer2:      words(0, 0, 0, 0),
			answer2 + 64: words(0), answer2 + 128: words(0, contents, 0),
			contents: "\xa0",
		},
	})
	ctx := t.Context()
	var open []abi.StreamHandle
	for range defaultOf(t, "streams") {
		handle, err := p.StreamInvoke(ctx, abi.InvokeRequest{})
		require.NoError(t, err)
		open = append(open, handle)
	}
	_, err := p.StreamInvoke(ctx, abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "8 streams of the provider are open already: close one")

	for _, handle := range open[:4] {
		for range 2 {
			item, err := p.StreamNext(ctx, handle)
			require.NoError(t, err)
			require.NotNil(t, item.Result)
			_, err = schema(ctx, p)
			require.NoError(t, err)
		}
		item, err := p.StreamNext(ctx, handle)
		require.NoError(t, err)
		require.Nil(t, item.Result)
		_, err = p.StreamNext(ctx, handle)
		require.ErrorIs(t, err, abi.ErrNotFound)
		require.NoError(t, p.StreamClose(ctx, handle))
	}
	require.NoError(t, p.StreamClose(ctx, open[4]))
	require.NoError(t, p.StreamClose(ctx, open[4]))
	_, err = p.StreamNext(ctx, open[4])
	require.ErrorIs(t, err, abi.ErrNotFound)
	_, err = p.StreamInvoke(ctx, abi.InvokeRequest{})
	require.NoError(t, err)

	require.NoError(t, p.Close())
	_, err = p.StreamNext(ctx, open[5])
	require.Error(t, err)
}
