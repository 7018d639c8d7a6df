package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// renamed opens a project with a stack dev, and a renaming to prod that was written down. The
// function that it returns opens the project again.
func renamed(t *testing.T, files map[string]string) (w *Workspace, reopen func() error) {
	t.Helper()
	files["Husk.yaml"] = "name: demo\n"
	w = open(t, "", files)
	makeStack(t, w, "dev")
	require.NoError(t, w.writeData(renamingFile, renaming{From: "dev", To: "prod"}))
	return w, func() error {
		again, err := Open(t.Context(), w.Project.Root, Options{Store: func(string) state.Store { return w.store }})
		if err == nil {
			*w = *again
		}
		return err
	}
}

// aState is the checkpoint of a stack that has nothing, not even a key, which takes long to make.
const aState = `{"version":3,"checkpoint":{"latest":{}}}`

func makeStack(t *testing.T, w *Workspace, stack string) {
	t.Helper()
	require.NoError(t, w.store.Create(t.Context(), w.name(stack), []byte(aState)))
}

// take renames the state and nothing else.
func take(t *testing.T, w *Workspace) {
	t.Helper()
	lease, err := w.store.Lease(t.Context(), w.name("dev"), state.Holder{})
	require.NoError(t, err)
	require.NoError(t, lease.Rename(t.Context(), w.name("prod"), []byte(aState)))
	require.NoError(t, lease.Release(t.Context()))
}

func requireSelected(t *testing.T, w *Workspace, want string) {
	t.Helper()
	selected, err := w.Stack("")
	require.NoError(t, err)
	require.Equal(t, want, selected)
}

func TestRenamingThatWasCutOff(t *testing.T) {
	t.Run("before the state was renamed", func(t *testing.T) {
		w, reopen := renamed(t, map[string]string{"Husk.dev.yaml": "config: {}\n"})
		require.NoError(t, reopen())
		requireSelected(t, w, "dev")
		require.FileExists(t, filepath.Join(w.Project.Dir, "Husk.dev.yaml"))
		require.NoFileExists(t, w.dataPath(renamingFile))
	})
	t.Run("after the state was renamed", func(t *testing.T) {
		w, reopen := renamed(t, map[string]string{"Husk.dev.yaml": "config: {}\n"})
		take(t, w)
		require.NoError(t, reopen())
		requireSelected(t, w, "prod")
		require.FileExists(t, filepath.Join(w.Project.Dir, "Husk.prod.yaml"))
		require.NoFileExists(t, filepath.Join(w.Project.Dir, "Husk.dev.yaml"))
		require.NoFileExists(t, w.dataPath(renamingFile))
	})
	t.Run("with a configuration of the new name", func(t *testing.T) {
		w, reopen := renamed(t, map[string]string{"Husk.dev.yaml": "config: {}\n", "Husk.prod.yaml": "config: {}\n"})
		take(t, w)
		require.NoError(t, reopen())
		requireSelected(t, w, "prod")
		require.FileExists(t, filepath.Join(w.Project.Dir, "Husk.prod.yaml"))
		require.FileExists(t, filepath.Join(w.Project.Dir, "Husk.dev.yaml"), "which of the two is right nobody knows")
		require.NoFileExists(t, w.dataPath(renamingFile))
	})
	t.Run("another stack is selected", func(t *testing.T) {
		w, reopen := renamed(t, map[string]string{})
		makeStack(t, w, "test")
		require.NoError(t, w.Select(t.Context(), "test"))
		take(t, w)
		require.NoError(t, reopen())
		requireSelected(t, w, "test")
	})
	t.Run("the stack was removed since", func(t *testing.T) {
		w, reopen := renamed(t, map[string]string{"Husk.dev.yaml": "config: {}\n"})
		require.NoError(t, w.Remove(t.Context(), "dev", func([]*state.Resource, error) error { return nil }))
		require.NoError(t, reopen())
		require.FileExists(t, filepath.Join(w.Project.Dir, "Husk.dev.yaml"))
		require.NoFileExists(t, w.dataPath(renamingFile))
	})
}

// A renaming that is going on is nobody else's to undo.
func TestRenamingThatGoesOn(t *testing.T) {
	w, reopen := renamed(t, map[string]string{})
	lease, err := w.store.Lease(t.Context(), w.name("dev"), state.Holder{})
	require.NoError(t, err)
	require.NoError(t, reopen())
	require.FileExists(t, w.dataPath(renamingFile))
	require.NoError(t, lease.Release(t.Context()))
}

func TestRenamingThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "{", `{"from":"dev","to":"prod"}`, `{"crc32c":"00000000","from":"dev","to":"prod"}`} {
		w, reopen := renamed(t, map[string]string{})
		require.NoError(t, os.WriteFile(w.dataPath(renamingFile), []byte(text), 0o644))
		require.ErrorContains(t, reopen(), "remove the file, and see the name of the stack with husk stack ls", text)
	}
}

// A renaming that fails leaves no trace.
func TestRenamingThatFails(t *testing.T) {
	w := open(t, "", map[string]string{"Husk.yaml": "name: demo\n"})
	require.NoError(t, w.Init(t.Context(), "dev"))
	makeStack(t, w, "prod")
	require.ErrorIs(t, w.Rename(t.Context(), "dev", "prod"), state.ErrStackExists)
	require.NoFileExists(t, w.dataPath(renamingFile))
	require.ErrorIs(t, w.Rename(t.Context(), "nowhere", "there"), state.ErrStackNotFound)
	require.NoFileExists(t, w.dataPath(renamingFile))
}
