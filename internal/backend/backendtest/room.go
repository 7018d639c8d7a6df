package backendtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Room tests that what a client asks of a backend has room before it is loaded: see [intake.WithRoom]. The backend is empty.
func Room(t *testing.T, b *backend.Backend) {
	const size = 1 << 20
	ctx, large := t.Context(), []byte(strings.Repeat("x", size))
	checkpoint := []byte(string(empty) + strings.Repeat(" ", size))
	sum := sha256.Sum256(large)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	require.NoError(t, b.State.Create(ctx, name, checkpoint))
	l, err := b.State.Lease(ctx, name, state.Holder{})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, 1, []byte("{}")))
	require.NoError(t, l.Checkpoint(ctx, 1, checkpoint)) // which keeps the first as a backup
	require.NoError(t, b.State.SetHistory(ctx, name, [][]byte{large}))
	require.NoError(t, l.Release(ctx))
	backups, err := b.State.Backups(ctx, name)
	require.NoError(t, err)
	require.NotEmpty(t, backups)
	require.NoError(t, b.Modules.Put(ctx, digest, func() ([]byte, error) { return large, nil }))
	_, err = b.KV.Save(ctx, name, "aws", large, "")
	require.NoError(t, err)
	require.NoError(t, b.History.Put(ctx, name, "run", large))

	full := errors.New("there is no room")
	for _, r := range []struct {
		what string
		read func(context.Context) error
	}{
		{"a state", func(ctx context.Context) error { _, err := b.State.Load(ctx, name); return err }},
		{"a backup", func(ctx context.Context) error { _, err := b.State.Backup(ctx, name, backups[0].ID); return err }},
		{"a history", func(ctx context.Context) error { _, err := b.State.History(ctx, name); return err }},
		{"a module", func(ctx context.Context) error { _, err := b.Modules.Get(ctx, digest); return err }},
		{"values of a provider", func(ctx context.Context) error { _, _, err := b.KV.Load(ctx, name, "aws"); return err }},
		{"the record of a run", func(ctx context.Context) error { _, err := b.History.Get(ctx, name, "run"); return err }},
		// The last one, because a store may remember what its holder has read.
		{"a lease and a state", func(ctx context.Context) error {
			l, _, err := b.State.LeaseAndLoad(ctx, name, state.Holder{})
			if l != nil {
				err = errors.Join(err, l.Release(ctx))
			}
			return err
		}},
	} {
		err := r.read(intake.WithRoom(ctx, func(bytes int64) error {
			if bytes >= size {
				return full
			}
			return nil
		}))
		require.ErrorIs(t, err, full, r.what)
		var taken int64
		require.NoError(t, r.read(intake.WithRoom(ctx, func(bytes int64) error {
			taken += bytes
			return nil
		})), r.what)
		require.GreaterOrEqual(t, taken, int64(size), r.what)
	}
}
