package pool

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type guest struct{ closed bool }

func (g *guest) Close() { g.closed = true }

// full returns a pool in which each processor has a guest that computes.
func full(t *testing.T) (*Pool[*guest], int) {
	t.Helper()
	var idling atomic.Int64
	processors := runtime.GOMAXPROCS(0)
	p := New[*guest](processors+4, 1, nil, &idling)
	for range processors {
		g, err := p.Take(t.Context())
		require.NoError(t, err)
		require.Nil(t, g)
	}
	return p, processors
}

// taken calls Take, and returns what it says.
func taken(ctx context.Context, p *Pool[*guest]) chan *guest {
	got := make(chan *guest, 1)
	go func() {
		if g, err := p.Take(ctx); err == nil {
			got <- g
		}
		close(got)
	}()
	synctest.Wait()
	return got
}

func TestACallTakesTheInstanceOfAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := full(t)
		first, second := taken(t.Context(), p), taken(t.Context(), p)
		require.Empty(t, first)
		g := &guest{}
		require.True(t, p.Put(g))
		require.Same(t, g, <-first)
		require.Empty(t, second)
		p.Leave() // a crash
		require.Nil(t, <-second)
	})
}

func TestACallRunsWhileAnotherOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := full(t)
		got := taken(t.Context(), p)
		require.Empty(t, got)
		p.Pause()
		g, ok := <-got
		require.True(t, ok)
		require.Nil(t, g)
		p.Resume() // a guest goes on without a question
		require.Empty(t, taken(t.Context(), p))
	})
}

func TestACallWithAnInstanceOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := full(t)
		p.Begin() // the guest of a stream computes, too
		p.Pause()
		got := taken(t.Context(), p)
		require.Empty(t, got)
		p.Resume()
		p.End()
		require.Empty(t, got)
		p.Leave()
		require.Nil(t, <-got)
	})
}

func TestGuestsThatComputeForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := full(t)
		begin := time.Now()
		g, err := p.Take(t.Context())
		require.NoError(t, err)
		require.Nil(t, g)
		require.Equal(t, patience, time.Since(begin))
	})
}

func TestTheEndOfACallThatWaitsForAnInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, processors := full(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		got := taken(ctx, p)
		cancel(context.Canceled)
		_, ok := <-got
		require.False(t, ok)
		got = taken(t.Context(), p)
		p.Close()
		_, ok = <-got
		require.False(t, ok)
		_, err := p.Take(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		for range processors { // the calls that failed left their slots
			p.Leave()
		}
		require.Empty(t, p.slots)
		require.Zero(t, p.computing)
		require.Zero(t, p.waiters)
	})
}
