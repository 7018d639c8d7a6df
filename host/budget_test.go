package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
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
	var exceeded *host.ExceededError
	require.ErrorAs(t, err, &exceeded)
	require.Equal(t, host.ExceededError{Limit: host.LimitTotalMemory, Most: 4 << 20}, *exceeded)
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
		var exceeded *host.ExceededError
		require.ErrorAs(t, err, &exceeded)
		require.Equal(t, host.LimitTotalMemory, exceeded.Limit)
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
