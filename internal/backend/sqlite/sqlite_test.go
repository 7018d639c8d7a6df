package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/storetest"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/sqlite"
)

func open(t *testing.T, file string) *backend.Backend {
	b, err := sqlite.Open(t.Context(), "sqlite://"+filepath.ToSlash(file), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func openNew(t *testing.T) *backend.Backend {
	return open(t, filepath.Join(t.TempDir(), "dir", "stacks.db"))
}

// The count is of all that the process writes, so that no other test runs beside it.
func TestLittleIsWritten(t *testing.T) { backendtest.Little(t, openNew(t), written) }

func TestSQLite(t *testing.T) {
	t.Parallel()
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) state.Store { return openNew(t).State })
	})
	t.Run("backend", func(t *testing.T) { backendtest.Run(t, openNew) })
	t.Run("room", func(t *testing.T) { backendtest.Room(t, openNew(t)) })
	t.Run("fencing", func(t *testing.T) { backendtest.Fencing(t, openNew(t)) })
	t.Run("resuming", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "stacks.db")
		backendtest.Resuming(t, open(t, file), open(t, file))
	})
	t.Run("history of several writers", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "stacks.db")
		backendtest.Case{
			Local: true, Open: func(int) state.Store { return open(t, file).State },
			Faults: []backendtest.Fault{{Expires: true, Every: 4, Cause: func(*rand.Rand) { clockJumps(t, file) }}},
		}.Run(t)
	})
	t.Run("history of processes that are killed and paused", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "stacks.db")
		processes := backendtest.NewProcesses(t)
		// A transaction that a killed process has written may be found later, when all have closed the file and it is
		// recovered, unless another was written in its place.
		backendtest.Case{
			Open:   func(n int) state.Store { return processes.Open(n, file) },
			Faults: []backendtest.Fault{processes.Kill(false, 40), processes.Pause(func() { clockJumps(t, file) }, 5)},
		}.Run(t)
	})
}

// written returns how many bytes this process has written.
func written(t *testing.T) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	_, err = fmt.Sscanf(string(text[bytes.Index(text, []byte("wchar")):]), "wchar: %d", &n)
	require.NoError(t, err)
	return n
}

// TestMain is also that of the writers of TestSQLite.
func TestMain(m *testing.M) {
	backendtest.Main(m, func(ctx context.Context, file string) (state.Store, error) {
		b, err := sqlite.Open(ctx, "sqlite://"+filepath.ToSlash(file), "")
		if err != nil {
			return nil, err
		}
		return b.State, nil
	})
}

// clockJumps has the clock jump ahead by more than a lease lasts.
func clockJumps(t *testing.T, file string) {
	db, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(file)+"?_pragma=busy_timeout(15000)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE stacks SET expires = 1")
	require.NoError(t, errors.Join(err, db.Close()))
}

func TestFiles(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "stacks.db")
	b := open(t, file)
	require.NoError(t, b.Check(ctx))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	b.Close()
	change := func(statement string) {
		db, err := sql.Open("sqlite3", file)
		require.NoError(t, err)
		_, err = db.Exec(statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	change("PRAGMA user_version = 99")
	require.ErrorIs(t, open(t, file).Check(ctx), backend.ErrNewerSchema)
	change("PRAGMA application_id = 7")
	require.ErrorContains(t, open(t, file).Check(ctx), "tables of another program")

	text := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("These are notes of somebody, and no database at all, as one can see at once by looking at them, and there is more."), 0o600))
	err = open(t, text).Check(ctx)
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, text)
	require.ErrorContains(t, open(t, filepath.Join(text, "below.db")).Check(ctx), text)
	for _, url := range []string{"sqlite://", "sqlite:///a.db?mode=memory", "postgres://x"} {
		_, err := sqlite.Open(ctx, url, t.TempDir())
		require.ErrorContains(t, err, "form sqlite:///path/to/file.db")
	}
}

func TestMissingRecords(t *testing.T) {
	ctx, name := t.Context(), state.StackName{Project: "p", Name: "s"}
	file := filepath.Join(t.TempDir(), "stacks.db")
	b := open(t, file)
	require.NoError(t, b.State.Create(ctx, name, []byte("{}")))
	l, err := b.State.Lease(ctx, name, state.Holder{PID: 1})
	require.NoError(t, err)
	_, err = l.Load(ctx)
	require.NoError(t, err)
	for n := range uint64(3) {
		require.NoError(t, l.Append(ctx, n+1, fmt.Append(nil, n)))
	}
	db, err := sql.Open("sqlite3", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.Exec("DELETE FROM journal WHERE sequence = 2")
	require.NoError(t, err)
	_, err = b.State.Load(ctx, name)
	require.ErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "record 2 is missing")
	salvage, err := l.Salvage(ctx)
	require.NoError(t, err)
	require.Len(t, salvage.Records, 1)
	require.Len(t, salvage.Lost, 1)
	aside, err := l.Reset(ctx, []byte(`{"mended":true}`))
	require.NoError(t, err)
	require.Len(t, aside, 1)
	c, err := l.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, c.Sequence+1, []byte("next")))
	a := b.State
	backups, err := a.Backups(ctx, name)
	require.NoError(t, err)
	kept, err := a.Backup(ctx, name, backups[0].ID)
	require.NoError(t, err)
	require.Len(t, kept.Records, 1)
	require.Len(t, kept.Lost, 1)
	_, err = a.Backup(ctx, name, "01")
	require.ErrorIs(t, err, state.ErrNoBackup)
	_, err = db.Exec("UPDATE stacks SET last = last - 1")
	require.NoError(t, err)
	require.ErrorContains(t, l.Append(ctx, c.Sequence+2, []byte("after")), "somebody has changed its tables")
	require.Error(t, l.Append(ctx, c.Sequence+2, []byte("after")), "the lease takes no more")
	require.NoError(t, l.Release(ctx))
}
