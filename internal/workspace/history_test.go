package workspace

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

func TestHistoryIsBoundedAndFollowsTheStack(t *testing.T) {
	w := open(t, "", map[string]string{"Husk.yaml": "name: demo\n"})
	require.NoError(t, w.Init(t.Context(), "dev"))
	const more = 5
	for i := range keptUpdates + more {
		var failed error
		if i == keptUpdates+more-1 {
			failed = errors.New("it rained")
		}
		require.NoError(t, w.Record(t.Context(), "dev", w.Begun(fmt.Sprint("up ", i)), failed))
	}
	updates, _, err := w.History(t.Context(), "dev")
	require.NoError(t, err)
	require.Len(t, updates, keptUpdates)
	require.Equal(t, fmt.Sprint("up ", keptUpdates+more-1), updates[0].Kind, "the newest first")
	require.Equal(t, "failed", updates[0].Result)
	require.Equal(t, fmt.Sprint("up ", more), updates[keptUpdates-1].Kind, "the oldest are dropped")
	require.Equal(t, "succeeded", updates[1].Result)
	require.False(t, updates[0].End.Before(updates[0].Start))

	require.NoError(t, w.Rename(t.Context(), "dev", "prod"))
	updates, _, err = w.History(t.Context(), "prod")
	require.NoError(t, err)
	require.Len(t, updates, keptUpdates)
	require.NoError(t, w.Remove(t.Context(), "prod", nil))
	require.NoError(t, w.Init(t.Context(), "prod"))
	updates, _, err = w.History(t.Context(), "prod")
	require.NoError(t, err)
	require.Empty(t, updates, "a new stack of the name begins anew")
}

// goneArchive is a store whose histories cannot be read.
type goneArchive struct{ state.Store }

func (goneArchive) History(context.Context, state.StackName) ([][]byte, error) {
	return nil, backend.Unreachable(errors.New("the history is away"))
}

// TestARunWhoseUpdateIsNotRecorded has the record of a run say that the history could not be read.
func TestARunWhoseUpdateIsNotRecorded(t *testing.T) {
	w := open(t, "", map[string]string{"Husk.yaml": "name: demo\nencryption: full\n"})
	require.NoError(t, w.Init(t.Context(), "dev"))
	st, err := w.Lease(t.Context(), "dev", "up")
	require.NoError(t, err)
	w.store = goneArchive{w.store}
	update := w.Begun("up").Ended(nil)
	const run = "20261123T134500.000Z-up-1"
	err = st.CloseWith(t.Context(), func(l state.Lease, err error) error {
		require.NoError(t, err)
		failed, lost := w.Release(t.Context(), l, "dev", Ending{Update: &update, Run: run, Record: func(failed error) ([]byte, error) {
			return fmt.Append(nil, failed), nil
		}})
		require.NoError(t, lost)
		return failed
	})
	require.ErrorContains(t, err, "the history is away")
	record, err := w.backend.History.Get(t.Context(), w.name("dev"), run)
	require.NoError(t, err)
	require.Contains(t, string(record), "the history is away")
}
