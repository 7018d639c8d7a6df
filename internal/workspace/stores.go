package workspace

import "path/filepath"

// StoresDir is the directory beside the state for what a stack's providers keep. The store
// renames and removes it with the stack.
func (w *Workspace) StoresDir(stack string) string {
	return filepath.Join(w.Place, "kv", w.Project.Name, stack)
}
