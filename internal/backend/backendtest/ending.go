package backendtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

const endingRun = "20261123T134500.000Z-up-1"

// ending has a lease end with the data that a run saves.
func ending(t *testing.T, b *backend.Backend) {
	ctx, a := t.Context(), b.State
	require.NoError(t, b.State.Create(ctx, name, empty))
	first, second := []byte(`{"is":"first"}`), []byte(`{"is":"second"}`)
	require.NoError(t, a.SetHistory(ctx, name, [][]byte{first}))
	l, updates := leased(t, b)
	require.Equal(t, [][]byte{first}, updates)
	stored, unknown := backend.Digest([]byte("stored")), backend.Digest([]byte("unknown"))
	require.NoError(t, b.Modules.Put(ctx, stored, func() ([]byte, error) { return []byte("stored"), nil }))
	release := func(e backend.Ending) backend.Ended {
		ended := b.Release(ctx, name, l, e)
		require.NoError(t, ended.Lost)
		return ended
	}
	ended := release(backend.Ending{Updates: [][]byte{first, second}, Run: endingRun, Record: []byte("record"), Modules: []string{stored, unknown}})
	require.NoError(t, ended.Err)
	require.Contains(t, ended.Missing, unknown)
	require.Error(t, l.Append(ctx, 1, []byte("late")))
	record, err := b.History.Get(ctx, name, endingRun)
	require.NoError(t, err)
	require.Equal(t, "record", string(record))

	l, updates = leased(t, b)
	require.Equal(t, [][]byte{first, second}, updates)
	require.Equal(t, backend.Ended{}, release(backend.Ending{}))
	l, updates = leased(t, b)
	require.Equal(t, [][]byte{first, second}, updates, "a run that leaves nothing changes nothing")
	ended = release(backend.Ending{Updates: [][]byte{[]byte("two\nlines")}, Run: endingRun, Record: []byte("again")})
	require.ErrorContains(t, ended.Err, "more than one line")
	record, err = b.History.Get(ctx, name, endingRun)
	require.NoError(t, err)
	require.Equal(t, "again", string(record), "what cannot be stored does not keep the rest from being done")

	l, updates = leased(t, b)
	require.Equal(t, [][]byte{first, second}, updates)
	held := backend.WithToken(ctx, l.Token())
	for _, rewritten := range [][][]byte{{second}, {first}} {
		require.NoError(t, a.SetHistory(held, name, rewritten))
		updates, err = a.History(held, name)
		require.NoError(t, err)
		require.Equal(t, rewritten, updates, "a holder may also rewrite it")
	}
	const more = 12
	for n := range backend.KeptRecords + more {
		require.Equal(t, backend.Ended{}, release(backend.Ending{Run: fmt.Sprintf("20261124T1345%02d.000Z-up-%d", n, n), Record: []byte("many")}))
		l, _ = leased(t, b)
	}
	require.NoError(t, l.Release(ctx))
	ids, err := b.History.List(ctx, name)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(ids), backend.KeptRecords)
	require.Less(t, len(ids), backend.KeptRecords+more, "the oldest are removed sooner or later")
	require.Equal(t, fmt.Sprintf("20261124T1345%02d.000Z-up-%d", backend.KeptRecords+more-1, backend.KeptRecords+more-1), ids[len(ids)-1])
}

// leased returns a lease, and the history as its holder reads it.
func leased(t *testing.T, b *backend.Backend) (state.Lease, [][]byte) {
	t.Helper()
	l, err := b.State.Lease(t.Context(), name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(t.Context())
	require.NoError(t, err)
	updates, err := b.State.History(backend.WithToken(t.Context(), l.Token()), name)
	require.NoError(t, err)
	return l, updates
}

// fencedEnding checks that the ending of a holder that has lost its lease returns an error, and keeps the history of the
// present holder.
func fencedEnding(t *testing.T, b *backend.Backend) {
	ctx, a := t.Context(), b.State
	former, _ := leased(t, b)
	require.NoError(t, b.State.Break(ctx, name))
	latter, updates := leased(t, b)
	latters := append(updates, []byte(`{"is":"latter"}`))
	require.NoError(t, a.SetHistory(backend.WithToken(ctx, latter.Token()), name, latters))
	ended := b.Release(ctx, name, former, backend.Ending{Updates: append(updates, []byte(`{"is":"former"}`)), Run: endingRun, Record: []byte("former")})
	require.ErrorIs(t, ended.Err, state.ErrFenced)
	require.NoError(t, ended.Lost)
	record, err := b.History.Get(ctx, name, endingRun)
	require.NoError(t, err)
	require.Equal(t, "former", string(record), "what it did is told")
	_, err = b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.ErrorIs(t, err, state.ErrLocked, "the lease of the other lasts")
	is, err := a.History(ctx, name)
	require.NoError(t, err)
	require.Equal(t, latters, is[:len(latters)], "nothing of the other is lost")
	require.NoError(t, a.SetHistory(backend.WithToken(ctx, latter.Token()), name, nil))
	require.NoError(t, latter.Release(ctx))
}

// Endings has several runs end, one after the other, while faults happen. An update that was confirmed is in the history,
// and none is there twice. open returns the backend as run n reaches it.
func Endings(t *testing.T, open func(n int) *backend.Backend, cause func(*rand.Rand)) {
	const (
		runs, turns = 3, 15
		many        = 300 // refusals: what arrived late has taken a lease for nobody
		pause       = 30 * time.Millisecond
	)
	first := open(0)
	ctx := t.Context()
	require.NoError(t, first.State.Create(ctx, name, empty))
	backends := make([]*backend.Backend, runs)
	for n := range backends {
		backends[n] = open(n)
	}
	done := make(chan struct{})
	var causing, work sync.WaitGroup
	causing.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(random.Int64N(int64(pause)))):
				cause(random)
			}
		}
	})
	confirmed := make([][][]byte, runs)
	for n, b := range backends {
		work.Go(func() {
			for turn, refused := 0, 0; turn < turns; {
				l, err := b.State.Lease(ctx, name, state.Holder{PID: n})
				if err != nil {
					if refused++; refused%many == 0 {
						_ = b.State.Break(ctx, name)
					}
					time.Sleep(time.Millisecond)
					continue
				}
				turn, refused = turn+1, 0
				updates, err := b.State.History(backend.WithToken(ctx, l.Token()), name)
				if err != nil {
					_ = l.Release(ctx)
					continue
				}
				update := fmt.Appendf(nil, `{"run":"%d.%d"}`, n, turn)
				ended := b.Release(ctx, name, l, backend.Ending{Updates: append(updates, update), Run: fmt.Sprintf("20261124T1345%02d.000Z-up-%d", turn, n), Record: update})
				if ended.Err == nil {
					confirmed[n] = append(confirmed[n], update)
				}
			}
		})
	}
	work.Wait()
	close(done)
	causing.Wait()
	require.NotEmpty(t, confirmed[0])
	updates, err := first.State.History(ctx, name)
	require.NoError(t, err)
	all := bytes.Join(updates, []byte("\n"))
	for _, of := range confirmed {
		for _, update := range of {
			require.Equal(t, 1, bytes.Count(all, update), "%s in\n%s", update, all)
		}
	}
}
