package sealed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/sealed"
)

// TestUpdatesOfALostLock has a run write its update after its lock is lost, and after the next holder has read the history.
// That adds its own to it, although all is encrypted.
func TestUpdatesOfALostLock(t *testing.T) {
	p, keys := s3Place(t), secrets.NewProcessKey()
	mine, others := sealed.New(p.open(), keys, sealed.Full).Backend(), sealed.New(p.open(), keys, sealed.Full).Backend()
	require.NoError(t, state.Create(ctx, mine.State, stack, keys))
	zero, one, two := []byte(`"0"`), []byte(`"1"`), []byte(`"2"`)
	require.NoError(t, mine.State.SetHistory(ctx, stack, [][]byte{zero}))
	leased := func(b *backend.Backend) (state.Lease, [][]byte) {
		l, _, err := b.State.LeaseAndLoad(ctx, stack, holder)
		require.NoError(t, err)
		updates, err := b.State.History(backend.WithToken(ctx, l.Token()), stack)
		require.NoError(t, err)
		return l, updates
	}
	former, formers := leased(mine)
	require.NoError(t, others.State.Break(ctx, stack))
	latter, latters := leased(others)
	require.NoError(t, mine.State.SetHistory(backend.WithToken(ctx, former.Token()), stack, append(formers, one)))
	held := backend.WithToken(ctx, latter.Token())
	require.NoError(t, others.State.SetHistory(held, stack, append(latters, two)))
	updates, err := others.State.History(held, stack)
	require.NoError(t, err)
	require.Equal(t, [][]byte{zero, one, two}, updates)
	require.NoError(t, others.State.SetHistory(held, stack, updates))
	require.NoError(t, latter.Release(ctx))
	require.NoError(t, former.Release(ctx))
	require.NotContains(t, string(p.bytes()), `"2"`)
}
