package backend_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/memstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/backendtest"
)

func openFiles(t *testing.T) *backend.Backend {
	dir := t.TempDir()
	return backend.Files(dir, filestore.New(dir))
}

func TestFiles(t *testing.T) { backendtest.Run(t, openFiles) }

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
		processes := backendtest.NewProcesses(t, false)
		backendtest.Case{
			Local: true, Late: true,
			Open: func(n int) state.Store { return processes.Open(n, dir) },
			// The lock of a process ends with it, and not when it is paused.
			Faults: []backendtest.Fault{processes.Kill(true, 40), processes.Pause(nil, 5)},
		}.Run(t)
	})
	t.Run("memory", func(t *testing.T) {
		var store memstore.Store
		backendtest.Case{Local: true, Open: func(int) state.Store { return &store }}.Run(t)
	})
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
