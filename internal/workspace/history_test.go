package workspace

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.NoError(t, w.Record(t.Context(), "dev", Begun(fmt.Sprint("up ", i)), failed))
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
	require.NoError(t, w.Remove(t.Context(), "prod", false))
	require.NoError(t, w.Init(t.Context(), "prod"))
	updates, _, err = w.History(t.Context(), "prod")
	require.NoError(t, err)
	require.Empty(t, updates, "a new stack of the name begins anew")
}
