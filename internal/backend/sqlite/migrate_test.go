package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// The tables of the first version become those of this one, with all that is in them.
func TestTablesOfTheFirstVersion(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "stacks.db")
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(file))
	require.NoError(t, err)
	for _, statement := range []string{
		migrations[0], fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID),
		"INSERT INTO stacks (id, project, name, present, checkpoint, sequence, last) VALUES (1, 'shop', 'dev', 1, X'7b7d', 3, 4), (2, 'shop', 'gone', 0, NULL, 0, 0)",
		"INSERT INTO journal VALUES (1, 4, X'01')",
		fmt.Sprintf("INSERT INTO modules VALUES ('new', X'02', %d), ('old', X'03', 1)", time.Now().UnixMicro()),
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())

	b, err := Open(ctx, "sqlite://"+filepath.ToSlash(file), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	name := state.StackName{Project: "shop", Name: "dev"}
	l, c, err := b.State.LeaseAndLoad(ctx, name, state.Holder{})
	require.NoError(t, err)
	require.Equal(t, []byte("{}"), c.Checkpoint)
	require.Equal(t, [][]byte{{1}}, c.Records)
	require.NoError(t, l.Checkpoint(ctx, 4, []byte("next")))
	require.NoError(t, l.Release(ctx))
	backups, err := b.State.Backups(ctx, name)
	require.NoError(t, err)
	require.Len(t, backups, 1)
	kept, err := b.State.Backup(ctx, name, backups[0].ID)
	require.NoError(t, err)
	require.Equal(t, []byte("{}"), kept.Checkpoint)
	require.NoError(t, b.State.Create(ctx, state.StackName{Project: "shop", Name: "gone"}, []byte("again")))

	require.NoError(t, b.Modules.Collect(ctx, func() (map[string]bool, error) { return nil, nil }))
	for digest, want := range map[string]bool{"new": true, "old": false} {
		has, err := b.Modules.Has(ctx, digest)
		require.NoError(t, err)
		require.Equal(t, want, has, digest)
	}
	content, err := b.Modules.Get(ctx, "new")
	require.NoError(t, err)
	require.Equal(t, []byte{2}, content)
}
