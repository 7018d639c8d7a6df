package postgres_test

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) { withDisks(t, "TestOnSmallDisk") }

// TestFullLog runs TestLogOnSmallDisk in a process that has mounts of its own.
func TestFullLog(t *testing.T) { withDisks(t, "TestLogOnSmallDisk") }

func withDisks(t *testing.T, test string) {
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	t.Parallel()
	backendtest.WithDisks(t, test, true)
}

// TestLogOnSmallDisk has all of a server on a disk that is full, so that it can write no more of its log: it ends in the
// middle of what it does. It starts again when there is space.
func TestLogOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "all", "128m")
	require.NoError(t, os.Chmod(disk, 0o711)) // the server's directory is in it
	t.Setenv("TMPDIR", disk)
	s := postgrestest.Start(t)
	backendtest.History(t, func(int) state.Store {
		b, err := postgres.Open(t.Context(), named.ByOperator(s.URL("postgres", 0), "the test"), "")
		require.NoError(t, err)
		t.Cleanup(b.Close)
		require.NoError(t, b.Check(t.Context()))
		return b.State
	}, backendtest.Fault{Every: 8, Times: 3, Cause: func(random *rand.Rand) {
		free := backendtest.Fill(t, disk)
		for serves := true; serves; { // until it needs another file for the log
			serves = write(t.Context(), s, "SELECT pg_switch_wal()") && write(t.Context(), s, "SELECT pg_logical_emit_message(true, 'a', 'b')")
		}
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
		free()
		s.Restart(t)
	}})
}

// write has a server write to its log, and reports whether it could.
func write(ctx context.Context, s *postgrestest.Server, statement string) bool {
	conn, err := pgconn.Connect(ctx, s.URL("postgres", 0))
	if err != nil {
		return false
	}
	_, err = conn.Exec(ctx, statement).ReadAll()
	_ = conn.Close(ctx)
	return err == nil
}

// TestOnSmallDisk has the tables of a server on a disk that is full.
func TestOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "tablespace", "64m")
	s := postgrestest.Start(t)
	s.Give(t, disk)
	s.Execute(t, "postgres", "CREATE TABLESPACE small LOCATION '"+disk+"'")
	url := s.URL("postgres", 0) + "&default_tablespace=small&schema="
	t.Run("refused", func(t *testing.T) {
		b, err := postgres.Open(t.Context(), named.ByOperator(url+"refused", "the test"), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(b.Close)
		require.NoError(t, b.Check(t.Context()))
		free := func() {}
		backendtest.FullDisk(t, b, func(full bool) {
			if full {
				free = backendtest.Fill(t, disk)
			} else {
				free()
			}
		})
	})
	t.Run("history", func(t *testing.T) {
		backendtest.History(t, func(int) state.Store {
			b, err := postgres.Open(t.Context(), named.ByOperator(url+"history", "the test"), t.TempDir())
			require.NoError(t, err)
			t.Cleanup(b.Close)
			require.NoError(t, b.Check(t.Context()))
			return b.State
		}, backendtest.Fault{Times: 15, Cause: func(random *rand.Rand) {
			const longest = 50 // milliseconds
			free := backendtest.Fill(t, disk)
			time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond)
			free()
		}})
	})
}
