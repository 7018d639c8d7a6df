package backendtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// FullDisk has the server of an empty backend run out of space in the middle of a run, and get some again. Whatever needs
// space is refused with an error that says so, changes nothing, and can be tried again under the same lease.
func FullDisk(t *testing.T, b *backend.Backend, setFull func(full bool)) {
	ctx := t.Context()
	require.NoError(t, b.State.Create(ctx, name, empty))
	version, err := b.KV.Save(ctx, name, "aws", []byte("before"), "")
	require.NoError(t, err)
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	c, err := l.Load(ctx)
	require.NoError(t, err)
	last := c.Sequence + uint64(len(c.Records))
	require.NoError(t, l.Append(ctx, last+1, []byte("before")))

	// The refused record does not fit into space that a server has set aside.
	large := make([]byte, 64<<10)
	for i := range large {
		large[i] = byte('a' + rand.IntN('z'-'a')) // not to be compressed to nothing
	}
	checkpoint := fmt.Appendf(nil, `{"version":3,"checkpoint":{"stack":"%s"}}`, large)
	setFull(true)
	const twice = 2
	for range twice {
		refused := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, state.ErrNoSpace)
			require.ErrorContains(t, err, b.Place)
			require.ErrorContains(t, err, "what was saved before is intact; free some space")
		}
		refused(l.Append(ctx, last+2, large))
		refused(l.Checkpoint(ctx, last+1, checkpoint))
		_, err = b.KV.Save(ctx, name, "aws", large, version)
		refused(err)
		refused(b.Modules.Put(ctx, backend.Digest(large), func() ([]byte, error) { return large, nil }))
		refused(b.History.Put(ctx, name, "20261123T134500.000Z-up-1", large))
		refused(b.State.SetHistory(ctx, name, [][]byte{checkpoint}))
		c, err := b.State.Load(ctx, name)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("before")}, c.Records)
	}

	setFull(false)
	require.NoError(t, l.Append(ctx, last+2, []byte("after")))
	_, err = b.KV.Save(ctx, name, "aws", []byte("after"), version)
	require.NoError(t, err)
	c, err = b.State.Load(ctx, name)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("before"), []byte("after")}, c.Records)
	require.NoError(t, l.Checkpoint(ctx, last+2, empty))
	require.NoError(t, l.Release(ctx))
	has, err := b.Modules.Has(ctx, backend.Digest(large))
	require.NoError(t, err)
	require.False(t, has)
}
