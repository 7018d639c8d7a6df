package postgres_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/postgrestest"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) { backendtest.WithDisks(t, "TestOnSmallDisk", true) }

// TestOnSmallDisk has the tables of a server on a disk that is full.
func TestOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "tablespace", "64m")
	s := postgrestest.Start(t)
	s.Give(t, disk)
	s.Execute(t, "postgres", "CREATE TABLESPACE small LOCATION '"+disk+"'")
	url := s.URL("postgres", 0) + "&default_tablespace=small&schema="
	t.Run("refused", func(t *testing.T) {
		b, err := postgres.Open(t.Context(), url+"refused", t.TempDir())
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
			b, err := postgres.Open(t.Context(), url+"history", t.TempDir())
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
