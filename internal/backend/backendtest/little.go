package backendtest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// Little tests that steps which change little of a stack and of modules do not write the large contents beside that again. written returns
// how many bytes were written since the beginning. The backend is empty.
func Little(t *testing.T, b *backend.Backend, written func(*testing.T) int64) {
	const size = 4 << 20
	ctx, large := t.Context(), make([]byte, size)
	_, err := rand.NewChaCha8([32]byte{}).Read(large) // which cannot be compressed
	require.NoError(t, err)
	digest := backend.Digest(large)
	put := func() {
		require.NoError(t, b.Modules.Put(ctx, digest, func() ([]byte, error) { return large, nil }))
	}
	require.NoError(t, b.State.Create(ctx, name, large))
	put()
	before := written(t)
	put()
	l, err := b.State.Lease(ctx, name, state.Holder{User: "somebody"})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	for n := range uint64(300) { // from small numbers to ones that take more bytes
		require.NoError(t, l.Append(ctx, n+1, []byte("{}")))
	}
	require.NoError(t, l.Release(ctx))
	require.Less(t, written(t)-before, int64(size))
}
