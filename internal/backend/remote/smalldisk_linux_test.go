package remote_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
)

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) { backendtest.WithDisks(t, "TestOnSmallDisk", false) }

// TestOnSmallDisk has the server keep stacks on a disk that is full.
func TestOnSmallDisk(t *testing.T) {
	for name, open := range map[string]func(disk string) (*backend.Backend, error){
		"file": func(disk string) (*backend.Backend, error) { return backend.Files(disk, filestore.New(disk)), nil },
		"SQLite": func(disk string) (*backend.Backend, error) {
			return openFile(t.Context(), filepath.Join(disk, "stacks.db"))
		},
	} {
		t.Run(name, func(t *testing.T) { historyOnDisk(t, backendtest.NewDisk(t, name, "8m"), open) })
	}
}

func historyOnDisk(t *testing.T, disk string, openBackend func(disk string) (*backend.Backend, error)) {
	kept, err := openBackend(disk)
	require.NoError(t, err)
	if kept.Close != nil {
		t.Cleanup(kept.Close)
	}
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
