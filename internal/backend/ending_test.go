package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/memstore"
)

// stubborn is a lease that fails to end.
type stubborn struct {
	state.Lease
	alone error
}

func (s *stubborn) Release(ctx context.Context) error {
	return errors.Join(s.alone, s.Lease.Release(ctx))
}

// TestReleaseByParts has the step that ends a lease fail.
func TestReleaseByParts(t *testing.T) {
	name := state.StackName{Project: "p", Name: "s"}
	broken := errors.New("broken")
	for about, c := range map[string]struct {
		with, alone error
		isStep      bool
		parts       bool // whether what the step had to store is stored by calls
		want        error
		missing     []string
	}{
		"no such step":             {parts: true, missing: []string{"m"}},
		"no such step, and broken": {alone: broken, parts: true, want: broken, missing: []string{"m"}},
		"the step":                 {isStep: true, missing: []string{"of the step"}},
		"it is refused":            {isStep: true, with: broken, parts: true, missing: []string{"m"}},
		"refused, and broken":      {isStep: true, with: errors.New("refused"), alone: broken, parts: true, want: broken, missing: []string{"m"}},
		"nobody is reached":        {isStep: true, with: Unreachable(broken), want: ErrUnreachable},
	} {
		t.Run(about, func(t *testing.T) {
			var store memstore.Store
			b := Files(t.TempDir(), &store)
			require.NoError(t, store.Create(t.Context(), name, []byte("{}")))
			l, err := store.Lease(t.Context(), name, state.Holder{})
			require.NoError(t, err)
			lease := &stubborn{Lease: l, alone: c.alone}
			if c.isStep {
				b.End = func(_ context.Context, of state.Lease, _ Ending) ([]string, error) {
					require.Equal(t, lease, of)
					if c.with != nil {
						return nil, c.with
					}
					return []string{"of the step"}, nil
				}
			}
			const run = "20261123T134500.000Z-up-1"
			ended := b.Release(t.Context(), name, lease, Ending{Updates: [][]byte{[]byte("{}")}, Run: run, Record: []byte("record"), Modules: []string{"m"}})
			require.ErrorIs(t, ended.Err, c.want)
			require.NoError(t, ended.Lost)
			require.Equal(t, c.missing, ended.Missing)
			updates, err := store.History(t.Context(), name)
			require.NoError(t, err)
			ids, err := b.History.List(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, c.parts, len(updates) == 1)
			require.Equal(t, c.parts, len(ids) == 1)
		})
	}
}

// TestUpdatesAreOfALease gives what a holder has read to that holder, and once.
func TestUpdatesAreOfALease(t *testing.T) {
	name, records := state.StackName{Project: "p", Name: "s"}, [][]byte{[]byte("{}")}
	var u Updates
	take := func(token uint64) bool {
		got, ok := u.Take(WithToken(t.Context(), token), name)
		if ok {
			require.Equal(t, records, got)
		}
		return ok
	}
	require.False(t, take(0), "nobody has read it")
	u.Keep(name, 2, records)
	require.False(t, take(1), "a former holder")
	require.False(t, take(0), "who has no lease")
	require.True(t, take(2))
	require.False(t, take(2))
}
