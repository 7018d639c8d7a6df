package workspace

import "path/filepath"

// StoresDir returns the directory for values that a stack's providers store. The store of states renames
// and removes it with the stack.
func (w *Workspace) StoresDir(stack string) string {
	return filepath.Join(w.Place, "kv", w.Project.Name, stack)
}
