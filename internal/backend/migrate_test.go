package backend_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// cut is a store, and the other parts of a backend, that fail from a step on, as if the process had ended.
type cut struct {
	state.Store

	steps *int
}

var errCut = errors.New("cut off")

func (c cut) step() error {
	if *c.steps--; *c.steps < 0 {
		return errCut
	}
	return nil
}

func (c cut) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.Store.Create(ctx, name, checkpoint)
}

func (c cut) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.Store.SetHistory(ctx, name, records)
}

func (c cut) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	l, err := c.Store.Lease(ctx, name, holder)
	return cutLease{l, c}, err
}

func (c cut) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, c, name, holder)
}

type cutLease struct {
	state.Lease
	cut cut
}

func (l cutLease) Remove(ctx context.Context) error {
	if err := l.cut.step(); err != nil {
		return err
	}
	return l.Lease.Remove(ctx)
}

func (l cutLease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := l.cut.step(); err != nil {
		return err
	}
	return l.Lease.Rename(ctx, to, checkpoint)
}

// cutting returns a backend that shares what b has.
func cutting(b *backend.Backend, steps *int) *backend.Backend {
	out := *b
	out.State = cut{Store: b.State, steps: steps}
	return &out
}

func TestMoveIsCutOffAtEveryStep(t *testing.T) {
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	completed := false
	for steps := 0; !completed; steps++ {
		require.Less(t, steps, 50, "the move never completes")
		from, to := openFiles(t), openFiles(t)
		require.NoError(t, from.State.Create(ctx, name, []byte(`{"version":3,"checkpoint":{"stack":"organization/p/s"}}`)))
		_, err := from.KV.Save(ctx, name, "aws", []byte("value"), "")
		require.NoError(t, err)
		require.NoError(t, from.History.Put(ctx, name, "20261123T134500.000Z-up-1", []byte("run")))
		require.NoError(t, from.State.SetHistory(ctx, name, [][]byte{[]byte("{}")}))
		left := steps
		m := &backend.Migration{
			From: cutting(from, &left), To: cutting(to, &left),
			Fold:    func(context.Context, state.StackName) error { return nil },
			Modules: func(*state.Snapshot) []string { return nil },
		}
		err = m.Move(ctx, name)
		completed = err == nil
		if !completed {
			require.ErrorIs(t, err, errCut)
		}
		here, err := from.State.List(ctx)
		require.NoError(t, err)
		there, err := to.State.List(ctx)
		require.NoError(t, err)
		require.False(t, slices.Contains(here, name) && slices.Contains(there, name), "two backends have it")
		if !completed {
			m.From, m.To = from, to
			require.NoError(t, m.Move(ctx, name), fmt.Sprint("after step ", steps))
		}
		names, err := to.State.List(ctx)
		require.NoError(t, err)
		require.Equal(t, []state.StackName{name}, names)
		names, err = from.State.List(ctx)
		require.NoError(t, err)
		require.Empty(t, names)
		value, _, err := to.KV.Load(ctx, name, "aws")
		require.NoError(t, err)
		require.Equal(t, "value", string(value))
		run, err := to.History.Get(ctx, name, "20261123T134500.000Z-up-1")
		require.NoError(t, err)
		require.Equal(t, "run", string(run))
		updates, err := to.State.History(ctx, name)
		require.NoError(t, err)
		require.Len(t, updates, 1)
		require.ErrorIs(t, m.Move(ctx, name), state.ErrStackExists)
	}
}

func TestLockedStackIsNotMoved(t *testing.T) {
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	from, to := openFiles(t), openFiles(t)
	require.NoError(t, from.State.Create(ctx, name, []byte(`{"version":3,"checkpoint":{}}`)))
	l, err := from.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	m := &backend.Migration{From: from, To: to}
	require.ErrorIs(t, m.Move(ctx, name), state.ErrLocked)
	require.NoError(t, l.Release(ctx))
	names, err := to.State.List(ctx)
	require.NoError(t, err)
	require.Empty(t, names)
}
