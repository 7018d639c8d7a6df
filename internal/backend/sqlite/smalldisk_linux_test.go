package sqlite_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/backend/sqlite"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	backendtest.WithDisks(t, "TestOnSmallDisk", false)
}

// TestOnSmallDisk fills a disk while a run goes on. What was confirmed is there, and the run goes on when there is
// space again.
func TestOnSmallDisk(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, dir string) state.Store{
		"file": func(_ *testing.T, dir string) state.Store { return filestore.New(dir) },
		"SQLite": func(t *testing.T, dir string) state.Store {
			b, err := sqlite.Open(t.Context(), "sqlite://"+filepath.Join(dir, "stacks.db"), dir)
			require.NoError(t, err)
			t.Cleanup(b.Close)
			return b.State
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := backendtest.NewDisk(t, name, "2m") // a file that was removed takes space until it is closed
			ballast := filepath.Join(at, "ballast")
			require.NoError(t, os.WriteFile(ballast, make([]byte, 600<<10), 0o600))
			ctx, stack := t.Context(), state.StackName{Project: "p", Name: "s"}
			store := open(t, at)
			require.NoError(t, store.Create(ctx, stack, []byte("{}")))
			l, err := store.Lease(ctx, stack, state.Holder{PID: 1})
			require.NoError(t, err)
			_, err = l.Load(ctx)
			require.NoError(t, err)
			var confirmed uint64
			record := make([]byte, 40<<10)
			var full *state.NoSpaceError
			for full == nil {
				err := l.Append(ctx, confirmed+1, record)
				if err == nil {
					confirmed++
					continue
				}
				require.ErrorAs(t, err, &full)
				require.ErrorContains(t, err, "free some space")
				if full.Saved {
					confirmed++
				}
			}
			require.Positive(t, confirmed)
			require.NoError(t, os.Remove(ballast))
			require.NoError(t, l.Append(ctx, confirmed+1, record), "it goes on")
			require.NoError(t, l.Checkpoint(ctx, confirmed+1, []byte(`{"all":true}`)))
			require.NoError(t, l.Release(ctx))
			c, err := open(t, at).Load(ctx, stack)
			require.NoError(t, err)
			require.Equal(t, confirmed+1, c.Sequence)
		})
		t.Run("history of "+name, func(t *testing.T) {
			at := backendtest.NewDisk(t, "history of "+name, "8m")
			backendtest.Case{
				Local: true, Late: true, Open: func(int) state.Store { return open(t, at) },
				Faults: []backendtest.Fault{{Times: 15, Cause: func(random *rand.Rand) {
					const longest = 50 // milliseconds
					free := backendtest.Fill(t, at)
					time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond)
					free()
				}}},
			}.Run(t)
		})
	}
}
