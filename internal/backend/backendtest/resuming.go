package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// Resuming tests a [backend.Resumer] whose lease two processes use, each with a backend of its own for the same stacks.
func Resuming(t *testing.T, first, second *backend.Backend) {
	ctx, a, b := t.Context(), first.State.(backend.Resumer), second.State.(backend.Resumer)
	stack := state.StackName{Project: "resuming", Name: "s"}
	require.NoError(t, a.Create(ctx, stack, empty))
	key := backend.NewLeaseKey("ann", "secret")
	taken, c, err := a.LeaseAs(ctx, stack, state.Holder{PID: 1, Host: "here"}, key, true)
	require.NoError(t, err)
	require.Empty(t, c.Records)
	again, c, err := b.LeaseAs(ctx, stack, state.Holder{PID: 1}, key, true)
	require.NoError(t, err, "the answer was lost")
	require.Equal(t, taken.Token(), again.Token())
	require.NotNil(t, c)
	_, _, err = b.LeaseAs(ctx, stack, state.Holder{PID: 2}, backend.NewLeaseKey("bob", "secret"), true)
	var locked *state.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, "here", locked.Holder.Host)

	in := func(store backend.Resumer, step func(state.Lease) error) {
		t.Helper()
		l, err := store.Resume(ctx, stack, key)
		require.NoError(t, err)
		require.Equal(t, taken.Token(), l.Token())
		require.NoError(t, step(l))
	}
	appended := func(sequence uint64, text string) func(state.Lease) error {
		return func(l state.Lease) error { return l.Append(ctx, sequence, []byte(text)) }
	}
	in(a, appended(1, "one"))
	in(b, appended(1, "one")) // the answer was lost
	in(b, appended(2, "two"))
	l, err := a.Resume(ctx, stack, key)
	require.NoError(t, err)
	require.ErrorIs(t, l.Append(ctx, 2, []byte("other")), state.ErrSequence)
	require.ErrorIs(t, l.Append(ctx, 4, []byte("four")), state.ErrSequence)
	// Of two attempts at once, one comes second.
	x, err := a.Resume(ctx, stack, key)
	require.NoError(t, err)
	y, err := b.Resume(ctx, stack, key)
	require.NoError(t, err)
	require.NoError(t, x.Append(ctx, 3, []byte("three")))
	if err := y.Append(ctx, 3, []byte("three")); err != nil {
		require.ErrorIs(t, err, backend.ErrRaced)
	}
	x, err = a.Resume(ctx, stack, key)
	require.NoError(t, err)
	y, err = b.Resume(ctx, stack, key)
	require.NoError(t, err)
	require.NoError(t, x.Checkpoint(ctx, 3, []byte(`{"three":3}`)))
	if err := y.Checkpoint(ctx, 3, []byte(`{"three":3}`)); err != nil {
		require.ErrorIs(t, err, backend.ErrRaced)
	}
	// A late checkpoint does not take away records that were appended meanwhile.
	x, err = a.Resume(ctx, stack, key)
	require.NoError(t, err)
	y, err = b.Resume(ctx, stack, key)
	require.NoError(t, err)
	require.NoError(t, x.Append(ctx, 4, []byte("four")))
	require.ErrorIs(t, y.Checkpoint(ctx, 3, []byte(`{"three":3}`)), backend.ErrRaced)
	require.NoError(t, b.Extend(ctx, stack, key))
	now, err := a.Load(ctx, stack)
	require.NoError(t, err)
	require.JSONEq(t, `{"three":3}`, string(now.Checkpoint))
	require.Equal(t, [][]byte{[]byte("four")}, now.Records)

	in(b, func(l state.Lease) error { return l.Release(ctx) })
	_, err = a.Resume(ctx, stack, key)
	require.ErrorIs(t, err, state.ErrFenced)
	require.ErrorIs(t, taken.Append(ctx, 1, []byte("late")), state.ErrFenced)
	require.ErrorIs(t, a.Extend(ctx, stack, key), state.ErrFenced)
	_, _, err = a.LeaseAs(ctx, stack, state.Holder{PID: 1}, key, false)
	require.ErrorIs(t, err, state.ErrFenced, "an attempt that arrives after the lease has ended takes none")

	other := state.StackName{Project: "resuming", Name: "other"}
	require.NoError(t, a.Create(ctx, other, empty))
	keys := map[state.StackName]backend.LeaseKey{stack: backend.NewLeaseKey("ann", "second"), other: backend.NewLeaseKey("ann", "third")}
	for name, key := range keys {
		_, _, err := a.LeaseAs(ctx, name, state.Holder{PID: 1}, key, false)
		require.NoError(t, err)
	}
	require.NoError(t, b.EndLeases(ctx, "bob", state.StackName{}))
	require.NoError(t, a.Extend(ctx, stack, keys[stack]))
	require.NoError(t, b.EndLeases(ctx, "ann", stack))
	require.ErrorIs(t, a.Extend(ctx, stack, keys[stack]), state.ErrFenced)
	require.NoError(t, a.Extend(ctx, other, keys[other]))
	require.NoError(t, b.EndLeases(ctx, "ann", state.StackName{}))
	require.ErrorIs(t, a.Extend(ctx, other, keys[other]), state.ErrFenced)

	continuing(t, a, b)
}

// continuing tests [backend.Resumer.Continue].
func continuing(t *testing.T, a, b backend.Resumer) {
	ctx, stack := t.Context(), state.StackName{Project: "resuming", Name: "continued"}
	records := func(texts ...string) (all [][]byte) {
		for _, text := range texts {
			all = append(all, []byte(text))
		}
		return all
	}
	is := func(want ...string) {
		t.Helper()
		c, err := a.Load(ctx, stack)
		require.NoError(t, err)
		require.Equal(t, records(want...), c.Records)
	}
	require.ErrorIs(t, a.Continue(ctx, stack, 1, 1, records("one")), state.ErrStackNotFound)
	require.NoError(t, a.Create(ctx, stack, empty))
	lost, _, err := a.LeaseAs(ctx, stack, state.Holder{PID: 1}, backend.NewLeaseKey("ann", "lost"), true)
	require.NoError(t, err)
	require.NoError(t, lost.Append(ctx, 1, []byte("one")))
	require.NoError(t, b.EndLeases(ctx, "ann", stack))
	token := lost.Token()
	require.ErrorIs(t, b.Continue(ctx, stack, token, 3, records("three")), state.ErrSequence)
	require.ErrorIs(t, b.Continue(ctx, stack, token, 1, records("other", "two")), state.ErrSequence)
	is("one")
	for range 2 { // the first answer was lost
		require.NoError(t, b.Continue(ctx, stack, token, 1, records("one", "two", "three")))
		is("one", "two", "three")
	}
	next, c, err := b.LeaseAs(ctx, stack, state.Holder{PID: 2}, backend.NewLeaseKey("bob", "next"), true)
	require.NoError(t, err)
	require.Equal(t, token+1, next.Token(), "it takes no lease")
	require.Len(t, c.Records, 3)
	require.NoError(t, a.Continue(ctx, stack, token, 2, records("two", "three")), "an answer that was lost for long")
	require.ErrorIs(t, a.Continue(ctx, stack, token, 4, records("four")), state.ErrFenced)
	is("one", "two", "three")
	require.NoError(t, next.Append(ctx, 4, []byte("next")))
	require.NoError(t, next.Release(ctx))
}
