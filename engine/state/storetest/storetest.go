// Package storetest holds the tests that every [state.Store] must pass.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

var name = state.StackName{Project: "proj", Name: "dev"}

var holder = state.Holder{PID: os.Getpid(), Host: "here", User: "me", Command: "husk up", Since: time.Unix(1e9, 0).UTC()}

// checkpoint returns a checkpoint with the given text in it.
func checkpoint(what string) []byte {
	return fmt.Appendf(nil, `{"version":3,"checkpoint":{"stack":%q}}`, what)
}

// Run tests the stores that open returns. Each is empty.
func Run(t *testing.T, open func(t *testing.T) state.Store) {
	for name, test := range map[string]func(*testing.T, state.Store){
		"create, list, and load":       createListLoad,
		"records follow a checkpoint":  records,
		"a checkpoint drops records":   checkpoints,
		"one lease at a time":          oneLease,
		"leases across goroutines":     racingLeases,
		"a lease and a load in one":    leaseAndLoad,
		"a broken lease is fenced":     broken,
		"a released lease is fenced":   released,
		"tokens increase":              tokens,
		"remove":                       remove,
		"rename":                       rename,
		"two checkpoints at once":      both,
		"reset":                        reset,
		"sequence numbers":             sequences,
		"invalid names":                invalidNames,
		"missing stacks":               missing,
		"cancelled contexts":           cancelled,
		"contents belong to the taker": aliasing,
		"backup and history":           archive,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func leaseAndLoad(t *testing.T, s state.Store) {
	ctx := t.Context()
	_, _, err := s.LeaseAndLoad(ctx, name, holder)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	mustCreate(t, s)
	first, c, err := s.LeaseAndLoad(ctx, name, holder)
	require.NoError(t, err)
	require.Contains(t, string(c.Checkpoint), `"zero"`)
	require.Empty(t, c.Records)
	require.NoError(t, first.Append(ctx, 1, []byte("one")))
	_, _, err = s.LeaseAndLoad(ctx, name, state.Holder{PID: holder.PID + 1})
	var locked *state.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, holder, locked.Holder)
	require.NoError(t, first.Append(ctx, 2, []byte("two")))
	require.NoError(t, first.Release(ctx))

	second, c, err := s.LeaseAndLoad(ctx, name, holder) // after a holder that has left records
	require.NoError(t, err)
	require.Greater(t, second.Token(), first.Token())
	require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, c.Records)
	require.Error(t, first.Append(ctx, 3, []byte("too late")), "it has ended")
	require.NoError(t, second.Append(ctx, 3, []byte("three")))
	require.NoError(t, s.Break(ctx, name))

	third, c, err := s.LeaseAndLoad(ctx, name, holder) // after one that hangs
	require.NoError(t, err)
	require.Len(t, c.Records, 3)
	require.ErrorIs(t, second.Append(ctx, 4, []byte("too late")), state.ErrFenced)
	require.NoError(t, third.Checkpoint(ctx, 3, checkpoint("three")))
	require.NoError(t, third.Release(ctx))
	require.NoError(t, second.Release(ctx))

	fourth, c, err := s.LeaseAndLoad(ctx, name, holder) // after one that has left nothing
	require.NoError(t, err)
	require.Contains(t, string(c.Checkpoint), `"three"`)
	require.Equal(t, uint64(3), c.Sequence)
	require.NoError(t, fourth.Release(ctx))
	fifth, _, err := s.LeaseAndLoad(ctx, name, holder) // after one that has changed nothing
	require.NoError(t, err)
	require.NoError(t, fifth.Append(ctx, 4, []byte("four")))
	require.NoError(t, fifth.Release(ctx))
	requireContents(t, s, 3, "three", "four")
}

func mustCreate(t *testing.T, s state.Store) {
	require.NoError(t, s.Create(t.Context(), name, checkpoint("zero")))
}

func mustLease(t *testing.T, s state.Store) state.Lease {
	l, err := s.Lease(t.Context(), name, holder)
	require.NoError(t, err)
	_, err = l.Load(t.Context())
	require.NoError(t, err)
	return l
}

func mustCreateAndLease(t *testing.T, s state.Store) state.Lease {
	mustCreate(t, s)
	return mustLease(t, s)
}

// requireContents compares what a reader sees. The checkpoint's JSON may have a
// member of the store's own.
func requireContents(t *testing.T, s state.Store, sequence uint64, what string, records ...string) {
	t.Helper()
	c, err := s.Load(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, sequence, c.Sequence)
	require.Contains(t, string(c.Checkpoint), fmt.Sprintf("%q", what))
	require.Nil(t, c.Dropped)
	require.Len(t, c.Records, len(records))
	for i, r := range records {
		require.Equal(t, r, string(c.Records[i]))
	}
}

func createListLoad(t *testing.T, s state.Store) {
	ctx := t.Context()
	names, err := s.List(ctx)
	require.NoError(t, err)
	require.Empty(t, names)
	mustCreate(t, s)
	other := state.StackName{Project: "another", Name: "prod.eu-1_x"}
	require.NoError(t, s.Create(ctx, other, checkpoint("other")))
	require.ErrorIs(t, s.Create(ctx, name, checkpoint("again")), state.ErrStackExists)
	names, err = s.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.StackName{other, name}, names)
	requireContents(t, s, 0, "zero")
}

func records(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	requireContents(t, s, 0, "zero", "one")
	require.NoError(t, l.Append(ctx, 2, nil))
	require.NoError(t, l.Append(ctx, 3, []byte("three\x00\n")))
	requireContents(t, s, 0, "zero", "one", "", "three\x00\n")
	require.NoError(t, l.Release(ctx))

	l = mustLease(t, s)
	c, err := l.Load(ctx)
	require.NoError(t, err)
	require.Len(t, c.Records, 3)
	require.NoError(t, l.Append(ctx, 4, []byte("four")))
	requireContents(t, s, 0, "zero", "one", "", "three\x00\n", "four")
	require.NoError(t, l.Release(ctx))
}

func checkpoints(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	require.NoError(t, l.Append(ctx, 2, []byte("two")))
	require.NoError(t, l.Checkpoint(ctx, 2, checkpoint("two")))
	requireContents(t, s, 2, "two")
	require.NoError(t, l.Append(ctx, 3, []byte("three")))
	requireContents(t, s, 2, "two", "three")
	require.NoError(t, l.Checkpoint(ctx, 3, checkpoint("three")))
	require.NoError(t, l.Checkpoint(ctx, 3, checkpoint("three again")))
	requireContents(t, s, 3, "three again")
	require.NoError(t, l.Release(ctx))
	l = mustLease(t, s)
	require.NoError(t, l.Append(ctx, 4, []byte("four")))
	requireContents(t, s, 3, "three again", "four")
	require.NoError(t, l.Release(ctx))
}

func oneLease(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	_, err := s.Lease(ctx, name, state.Holder{})
	require.ErrorIs(t, err, state.ErrLocked)
	require.ErrorIs(t, s.Create(ctx, name, checkpoint("again")), state.ErrStackExists)
	var locked *state.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, holder, locked.Holder)
	require.ErrorContains(t, err, "husk up")
	require.NoError(t, l.Append(ctx, 1, []byte("one")), "the holder is not disturbed")

	other := state.StackName{Project: name.Project, Name: "other"}
	require.NoError(t, s.Create(ctx, other, checkpoint("other")))
	l2, err := s.Lease(ctx, other, holder)
	require.NoError(t, err, "other stacks are free")
	require.NoError(t, l2.Release(ctx))
	require.NoError(t, l.Release(ctx))
	require.NoError(t, l.Release(ctx), "again")
	require.NoError(t, mustLease(t, s).Release(ctx))
}

func racingLeases(t *testing.T, s state.Store) {
	mustCreate(t, s)
	var mu sync.Mutex
	var won []state.Lease
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for range cap(errs) {
		wg.Go(func() {
			l, err := s.Lease(context.Background(), name, holder)
			if err != nil {
				errs <- err
				return
			}
			mu.Lock()
			won = append(won, l)
			mu.Unlock()
		})
	}
	wg.Wait()
	close(errs)
	require.Len(t, won, 1)
	for err := range errs {
		require.ErrorIs(t, err, state.ErrLocked)
	}
	require.NoError(t, won[0].Release(t.Context()))
}

func broken(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	paused := mustLease(t, s)
	require.NoError(t, paused.Append(ctx, 1, []byte("one")))
	require.NoError(t, s.Break(ctx, name))
	require.ErrorIs(t, paused.Append(ctx, 2, []byte("too late")), state.ErrFenced)

	l := mustLease(t, s)
	require.Greater(t, l.Token(), paused.Token())
	require.NoError(t, l.Append(ctx, 2, []byte("two")))
	require.ErrorIs(t, paused.Append(ctx, 2, []byte("too late")), state.ErrFenced)
	require.ErrorIs(t, paused.Append(ctx, 3, []byte("too late")), state.ErrFenced)
	require.ErrorIs(t, paused.Checkpoint(ctx, 1, checkpoint("too late")), state.ErrFenced)
	require.ErrorIs(t, paused.Remove(ctx), state.ErrFenced)
	_, err := paused.Load(ctx)
	require.ErrorIs(t, err, state.ErrFenced)
	require.NoError(t, paused.Release(ctx))

	_, err = s.Lease(ctx, name, holder)
	require.ErrorIs(t, err, state.ErrLocked, "the old holder's release does not end the new lease")
	requireContents(t, s, 0, "zero", "one", "two")
	require.NoError(t, l.Release(ctx))
	require.NoError(t, s.Break(ctx, name), "a lease that nobody holds can be broken")
	require.NoError(t, mustLease(t, s).Release(ctx))
}

func released(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	require.NoError(t, l.Release(ctx))
	require.Error(t, l.Append(ctx, 1, []byte("one")))
	require.Error(t, l.Checkpoint(ctx, 0, checkpoint("one")))
	require.Error(t, l.Remove(ctx))
	requireContents(t, s, 0, "zero")
}

func tokens(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	last := uint64(0)
	for range 4 {
		l := mustLease(t, s)
		require.Greater(t, l.Token(), last)
		last = l.Token()
		require.NoError(t, l.Release(ctx))
	}
	l := mustLease(t, s)
	last = l.Token()
	require.NoError(t, l.Remove(ctx))
	require.NoError(t, l.Release(ctx))
	mustCreate(t, s)
	l = mustLease(t, s)
	require.Greater(t, l.Token(), last, "also when the stack is made anew")
	require.NoError(t, l.Release(ctx))
}

func remove(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	require.NoError(t, s.SetHistory(ctx, name, [][]byte{[]byte("{}")}))
	require.NoError(t, l.Remove(ctx))
	require.Error(t, l.Append(ctx, 2, []byte("two")))
	require.NoError(t, l.Release(ctx))
	history, err := s.History(ctx, name)
	require.NoError(t, err)
	require.Empty(t, history)
	_, err = s.Load(ctx, name)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	names, err := s.List(ctx)
	require.NoError(t, err)
	require.Empty(t, names)
	mustCreate(t, s)
	requireContents(t, s, 0, "zero")
}

func rename(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	taken := state.StackName{Project: "proj", Name: "taken"}
	require.NoError(t, s.Create(ctx, taken, checkpoint("taken")))
	l := mustLease(t, s)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	require.ErrorIs(t, l.Rename(ctx, taken, checkpoint("new")), state.ErrStackExists)
	require.ErrorIs(t, l.Rename(ctx, state.StackName{Project: "..", Name: "x"}, checkpoint("new")), state.ErrStackName)
	requireContents(t, s, 0, "zero", "one")
	to := state.StackName{Project: "other", Name: "new"}
	require.NoError(t, s.SetHistory(ctx, name, [][]byte{[]byte("{}")}))
	require.NoError(t, l.Rename(ctx, to, checkpoint("new")))
	require.Error(t, l.Append(ctx, 2, []byte("two")))
	require.NoError(t, l.Release(ctx))
	for stack, want := range map[state.StackName]int{name: 0, to: 1} {
		history, err := s.History(ctx, stack)
		require.NoError(t, err)
		require.Len(t, history, want, "the history goes with the stack")
	}
	names, err := s.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.StackName{to, taken}, names)
	c, err := s.Load(ctx, to)
	require.NoError(t, err)
	require.Contains(t, string(c.Checkpoint), `"new"`)
	require.Empty(t, c.Records)
}

func both(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	other := state.StackName{Project: "other", Name: "prod"}
	require.NoError(t, s.Create(ctx, other, checkpoint("other zero")))
	l := mustLease(t, s)
	o, err := s.Lease(ctx, other, holder)
	require.NoError(t, err)
	_, err = o.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	mine := state.NextCheckpoint{Sequence: 1, Checkpoint: checkpoint("one")}
	others := state.NextCheckpoint{Checkpoint: checkpoint("other one")}
	require.Error(t, l.CheckpointBoth(ctx, mine, l, mine))
	require.ErrorIs(t, l.CheckpointBoth(ctx, others, o, others), state.ErrSequence)
	require.ErrorIs(t, l.CheckpointBoth(ctx, mine, o, mine), state.ErrSequence)
	requireContents(t, s, 0, "zero", "one")
	require.NoError(t, l.CheckpointBoth(ctx, mine, o, others))
	requireContents(t, s, 1, "one")
	c, err := s.Load(ctx, other)
	require.NoError(t, err)
	require.Contains(t, string(c.Checkpoint), `"other one"`)
	require.NoError(t, l.Append(ctx, 2, []byte("two")), "both leases go on")
	require.NoError(t, o.Append(ctx, 1, []byte("other two")))
	require.NoError(t, s.Break(ctx, other))
	mine.Sequence, others.Sequence = 2, 1
	require.ErrorIs(t, l.CheckpointBoth(ctx, mine, o, others), state.ErrFenced)
	requireContents(t, s, 1, "one", "two")
	require.NoError(t, errors.Join(l.Release(ctx), o.Release(ctx)))
}

func reset(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	l, err := s.Lease(ctx, name, holder)
	require.NoError(t, err)
	for _, what := range []string{"first", "second"} {
		_, err = l.Reset(ctx, checkpoint(what))
		require.NoError(t, err)
		c, err := l.Salvage(ctx)
		require.NoError(t, err)
		require.Contains(t, string(c.Checkpoint), fmt.Sprintf("%q", what))
	}
	c, err := l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Reserve(ctx))
	require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("one")))
	requireContents(t, s, c.Sequence, "second", "one")
	_, err = l.Reset(ctx, checkpoint("third"))
	require.NoError(t, err)
	c, err = s.Load(ctx, name)
	require.NoError(t, err)
	require.Empty(t, c.Records)
	require.NoError(t, l.Release(ctx))
	_, err = l.Reset(ctx, checkpoint("too late"))
	require.Error(t, err)
	require.Error(t, l.Reserve(ctx))
}

func sequences(t *testing.T, s state.Store) {
	ctx, l := t.Context(), mustCreateAndLease(t, s)
	require.ErrorIs(t, l.Append(ctx, 0, []byte("x")), state.ErrSequence)
	require.ErrorIs(t, l.Append(ctx, 2, []byte("x")), state.ErrSequence)
	require.NoError(t, l.Append(ctx, 1, []byte("one")))
	require.ErrorIs(t, l.Append(ctx, 1, []byte("one")), state.ErrSequence)
	require.ErrorIs(t, l.Checkpoint(ctx, 0, checkpoint("x")), state.ErrSequence)
	require.ErrorIs(t, l.Checkpoint(ctx, 2, checkpoint("x")), state.ErrSequence)
	requireContents(t, s, 0, "zero", "one")
	require.NoError(t, l.Append(ctx, 2, []byte("two")), "a refused write spoils nothing")
	require.NoError(t, l.Release(ctx))
}

func invalidNames(t *testing.T, s state.Store) {
	for _, bad := range []state.StackName{
		{}, {Project: "p"}, {Name: "n"}, {Project: "..", Name: "n"}, {Project: "p", Name: ".."},
		{Project: "p", Name: "a/b"}, {Project: "p", Name: `a\b`}, {Project: "p", Name: ".hidden"}, {Project: "p", Name: "a\x00"},
	} {
		require.ErrorIs(t, s.Create(t.Context(), bad, checkpoint("x")), state.ErrStackName, "%q", bad)
		_, err := s.Load(t.Context(), bad)
		require.ErrorIs(t, err, state.ErrStackName, "%q", bad)
		_, err = s.Lease(t.Context(), bad, holder)
		require.ErrorIs(t, err, state.ErrStackName, "%q", bad)
		require.ErrorIs(t, s.Break(t.Context(), bad), state.ErrStackName, "%q", bad)
	}
}

func missing(t *testing.T, s state.Store) {
	_, err := s.Load(t.Context(), name)
	require.ErrorIs(t, err, state.ErrStackNotFound)
	require.ErrorContains(t, err, name.String())
	_, err = s.Lease(t.Context(), name, holder)
	require.ErrorIs(t, err, state.ErrStackNotFound)
}

func cancelled(t *testing.T, s state.Store) {
	l := mustCreateAndLease(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Append(ctx, 1, []byte("one")), context.Canceled)
	require.ErrorIs(t, l.Checkpoint(ctx, 0, checkpoint("one")), context.Canceled)
	_, err := s.List(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Load(ctx, name)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Lease(ctx, name, holder)
	require.ErrorIs(t, err, context.Canceled)
	requireContents(t, s, 0, "zero")
	require.NoError(t, l.Append(t.Context(), 1, []byte("one")))
	require.NoError(t, l.Release(ctx), "a lease is released in any case")
	require.NoError(t, mustLease(t, s).Release(ctx))
}

func aliasing(t *testing.T, s state.Store) {
	l := mustCreateAndLease(t, s)
	record := []byte("one")
	require.NoError(t, l.Append(t.Context(), 1, record))
	copy(record, "XXX")
	c, err := s.Load(t.Context(), name)
	require.NoError(t, err)
	copy(c.Checkpoint, "XXX")
	copy(c.Records[0], "XXX")
	requireContents(t, s, 0, "zero", "one")
	require.NoError(t, l.Release(t.Context()))
}

func archive(t *testing.T, s state.Store) {
	ctx := t.Context()
	mustCreate(t, s)
	none, err := s.Backups(ctx, name)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = s.Backup(ctx, name, "1-1")
	require.ErrorIs(t, err, state.ErrNoBackup)
	l := mustLease(t, s)
	const changes = state.KeptBackups + 3
	for n := range uint64(changes) {
		require.NoError(t, l.Append(ctx, n+1, []byte("x")))
		require.NoError(t, l.Checkpoint(ctx, n+1, checkpoint(fmt.Sprint("after ", n+1))))
	}
	kept, err := s.Backups(ctx, name)
	require.NoError(t, err)
	require.Len(t, kept, state.KeptBackups)
	for i, info := range kept {
		backup, err := s.Backup(ctx, name, info.ID)
		require.NoError(t, err)
		require.Contains(t, string(backup.Checkpoint), fmt.Sprintf("%q", fmt.Sprint("after ", changes-1-i)), "the newest first")
		require.Empty(t, backup.Records, "they are in the next checkpoint")
		if i > 0 {
			require.False(t, info.Written.After(kept[i-1].Written))
		}
	}
	for _, id := range []string{"", "0", "../dev", "01-1", "999-999", kept[0].ID + "x"} {
		_, err = s.Backup(ctx, name, id)
		require.ErrorIs(t, err, state.ErrNoBackup, id)
	}
	other := state.StackName{Project: name.Project, Name: name.Name + ".1-2"}
	require.NoError(t, s.Create(ctx, other, checkpoint("other")))
	none, err = s.Backups(ctx, other)
	require.NoError(t, err)
	require.Empty(t, none, "they are those of another stack")

	records, err := s.History(ctx, name)
	require.NoError(t, err)
	require.Empty(t, records)
	want := [][]byte{[]byte(`{"kind":"up"}`), []byte(`{"kind":"destroy"}`)}
	require.NoError(t, s.SetHistory(ctx, name, want))
	records, err = s.History(ctx, name)
	require.NoError(t, err)
	require.Equal(t, want, records)
	require.NoError(t, s.SetHistory(ctx, name, nil))
	records, err = s.History(ctx, name)
	require.NoError(t, err)
	require.Empty(t, records)
	_, err = s.History(ctx, state.StackName{Project: "..", Name: "x"})
	require.ErrorIs(t, err, state.ErrStackName)
	require.NoError(t, l.Release(ctx))
}
