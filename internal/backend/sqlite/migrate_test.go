package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/testkit/schematest"
)

// Programs of all versions that go on using a file find what they read and write after each migration.
func TestMigrationsOnlyAdd(t *testing.T) {
	db, err := sql.Open("sqlite3", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	after := make([]schematest.Parts, 1)
	for _, migration := range migrations {
		_, err := db.Exec(migration)
		require.NoError(t, err)
		after = append(after, schematest.SQLite(t, db))
	}
	require.Empty(t, schematest.Broken(after, oldest, nil))
	require.Contains(t, fmt.Sprint(schematest.Broken(after, oldest-1, nil)), "version 1 uses modules.kept")
}

// upgrade opens a file as a program does that knows more migrations, with an oldest version that can use the tables.
func upgrade(t *testing.T, file string, least int, more ...string) {
	all, was := migrations, oldest
	migrations, oldest = append(slices.Clone(all), more...), least
	defer func() { migrations, oldest = all, was }()
	b, err := Open(t.Context(), "sqlite://"+filepath.ToSlash(file), t.TempDir())
	require.NoError(t, err)
	defer b.Close()
	found, err := b.State.List(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1, "what a program of the version before has written")
}

// A program goes on using a file after one of a later version has added to the tables, and refuses it once one has removed something.
func TestProgramsOfTheVersionBefore(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "stacks.db")
	open := func() *backend.Backend {
		b, err := Open(ctx, "sqlite://"+filepath.ToSlash(file), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b
	}
	running := open()
	name := state.StackName{Project: "shop", Name: "dev"}
	require.NoError(t, running.State.Create(ctx, name, []byte("{}")))
	add := "ALTER TABLE stacks ADD COLUMN more TEXT NOT NULL DEFAULT ''; CREATE TABLE more (of TEXT NOT NULL) STRICT"
	upgrade(t, file, oldest, add)
	for _, b := range []*backend.Backend{running, open()} {
		require.NoError(t, b.Check(ctx))
		l, c, err := b.State.LeaseAndLoad(ctx, name, state.Holder{})
		require.NoError(t, err)
		require.NoError(t, l.Checkpoint(ctx, c.Sequence, []byte("{}")))
		require.NoError(t, l.Release(ctx))
	}
	upgrade(t, file, oldest, add) // it knows that it need not add again

	upgrade(t, file, len(migrations)+2, add, "ALTER TABLE stacks DROP COLUMN holder")
	for _, b := range []*backend.Backend{running, open()} {
		_, err := b.State.Lease(ctx, name, state.Holder{})
		require.ErrorIs(t, err, backend.ErrNewerSchema)
		require.ErrorContains(t, err, "has version 4 of its schema, and this husk knows versions up to 2")
	}
}

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
