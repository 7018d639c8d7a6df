package backend_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
)

func openFiles(t *testing.T) *backend.Backend {
	dir := t.TempDir()
	return backend.Files(dir, filestore.New(dir))
}

func TestFiles(t *testing.T) { backendtest.Run(t, openFiles) }

func TestRoomForFiles(t *testing.T) { backendtest.Room(t, openFiles(t)) }

// TestMain is also that of the writers of TestHistory.
func TestMain(m *testing.M) {
	backendtest.Main(m, func(_ context.Context, dir string) (state.Store, error) { return filestore.New(dir), nil })
}

func TestHistory(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		backendtest.Case{Local: true, Late: true, Open: func(int) state.Store { return filestore.New(dir) }}.Run(t)
	})
	t.Run("file, by processes that are killed and paused", func(t *testing.T) {
		dir := t.TempDir()
		processes := backendtest.NewProcesses(t)
		backendtest.Case{
			Local: true, Late: true,
			Open: func(n int) state.Store { return processes.Open(n, dir) },
			// The lock of a process ends with it, and not when it is paused.
			Faults: []backendtest.Fault{processes.Kill(true, 40), processes.Pause(nil, 5)},
		}.Run(t)
	})
	t.Run("file, on a disk with errors and without space", func(t *testing.T) {
		disk := faultfs.New()
		const longest = 20 // milliseconds
		during := func(random *rand.Rand) { time.Sleep(time.Duration(random.IntN(longest)) * time.Millisecond) }
		backendtest.Case{
			Local: true, Late: true, Open: func(int) state.Store { return filestore.NewFS(disk) },
			Faults: []backendtest.Fault{{Times: 20, Cause: func(random *rand.Rand) {
				disk.Inject(failing(random.Uint64()))
				during(random)
				disk.Inject(nil)
			}}, {Times: 20, Cause: func(random *rand.Rand) {
				const most = 400 // bytes: some records
				disk.SetCapacity(disk.Used() + random.Int64N(most))
				during(random)
				disk.SetCapacity(0)
			}}},
		}.Run(t)
	})
	t.Run("memory", func(t *testing.T) {
		var store memstore.Store
		backendtest.Case{Local: true, Open: func(int) state.Store { return &store }}.Run(t)
	})
}

// failing returns what has some operations of a disk fail, and some writes write a part.
func failing(seed uint64) func(faultfs.Op) faultfs.Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(faultfs.Op) faultfs.Fault {
		mu.Lock()
		defer mu.Unlock()
		const some = 8 // one of so many
		if random.IntN(some) > 0 {
			return faultfs.Fault{}
		}
		return faultfs.Fault{Err: syscall.EIO, Partial: random.IntN(2) == 0}
	}
}

func TestNamesStayInTheDirectory(t *testing.T) {
	b, stack := openFiles(t), state.StackName{Project: "p", Name: "s"}
	for _, bad := range []string{"../x", "a/b", `a\b`, ""} {
		_, _, err := b.KV.Load(t.Context(), stack, bad)
		require.Error(t, err, bad)
		_, err = b.KV.Save(t.Context(), stack, bad, nil, "")
		require.Error(t, err, bad)
	}
	require.Error(t, b.History.Put(t.Context(), stack, "../x", nil))
	_, err := b.Modules.Get(t.Context(), "sha256:../x")
	require.Error(t, err)
}
