package remote_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/backendtest"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) { backendtest.WithDisks(t, "TestOnSmallDisk", false) }

// TestOnSmallDisk has the server keep stacks on a disk that is full.
func TestOnSmallDisk(t *testing.T) {
	disk := backendtest.NewDisk(t, "SQLite", "8m")
	kept, err := openFile(t.Context(), filepath.Join(disk, "stacks.db"))
	require.NoError(t, err)
	t.Cleanup(kept.Close)
	server, _ := serve(t, kept)
	backendtest.Case{
		Late: true, Open: func(int) state.Store { return open(t, server.URL, "all").State },
		Faults: []backendtest.Fault{{Times: 15, Cause: func(random *rand.Rand) {
			const longest = 50 // milliseconds
			free := backendtest.Fill(t, disk)
			time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond)
			free()
		}}},
	}.Run(t)
}
