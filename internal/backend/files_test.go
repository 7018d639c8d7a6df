package backend_test

import (
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

func TestHistory(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		backendtest.History(t, func(int) state.Store { return filestore.New(dir) })
	})
	t.Run("memory", func(t *testing.T) {
		var store memstore.Store
		backendtest.History(t, func(int) state.Store { return &store })
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
