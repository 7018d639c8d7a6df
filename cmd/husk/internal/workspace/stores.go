package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// StoresDir is the directory beside the state for what a stack's providers keep.
func (w *Workspace) StoresDir(stack string) string {
	return filepath.Join(w.Place, "kv", w.Project.Name, stack)
}

// moveStores gives what a stack's providers keep to another one.
func (w *Workspace) moveStores(stack, to string) error {
	err := os.Rename(w.StoresDir(stack), w.StoresDir(to))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeStores forgets what a stack's providers keep.
func (w *Workspace) removeStores(stack string) error { return os.RemoveAll(w.StoresDir(stack)) }
