package workspace

import (
	"context"
	"path/filepath"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// OwnFiles returns the files of the workspace: states, modules, values of providers, and the selected stack.
func (w *Workspace) OwnFiles() []string {
	all := []string{w.dataPath("")}
	if inside, err := filepath.Rel(w.Place, w.Project.Dir); err != nil || !filepath.IsLocal(inside) {
		return append(all, w.Place)
	}
	// The project is in the directory of the state, which has other files, too.
	for _, name := range filestore.Names() {
		all = append(all, filepath.Join(w.Place, name))
	}
	return append(all, w.ModulesDir())
}

// References returns the stacks that a program can refer to: all in the same backend.
func (w *Workspace) References() builtin.Stacks {
	return builtin.Stacks{Store: w.store, Open: w.keys.Open}
}

// StoresDir returns the directory for values that a stack's providers store. The store of states renames
// and removes it with the stack.
func (w *Workspace) StoresDir(stack string) string {
	return filepath.Join(w.Place, "kv", w.Project.Name, stack)
}

// RunsDir returns the directory for records of a stack's deployments. The store of states renames and removes it
// with the stack.
func (w *Workspace) RunsDir(stack string) string {
	return filepath.Join(w.Place, "runs", w.Project.Name, stack)
}

// StateDirs returns the directories in which a file changes whenever the state or the history of a stack of the
// project does.
func (w *Workspace) StateDirs() []string {
	return []string{filepath.Join(w.Place, "stacks", w.Project.Name), filepath.Join(w.Place, "history", w.Project.Name)}
}

// KeepsRecords reports whether the store has a place for records of deployments.
func (w *Workspace) KeepsRecords() bool { return w.archive() != nil }

// ModulesDir returns the directory, beside the stacks, of the modules that made their resources.
func (w *Workspace) ModulesDir() string { return filepath.Join(w.Place, "modules") }

// ModulesInUse returns the digests of the modules that any stack of the backend names, including those of
// other projects. leased, unless nil, is not read again. A stack that cannot be read is an error, because
// it may need any module.
func (w *Workspace) ModulesInUse(ctx context.Context, leased *state.Stack) (map[string]bool, error) {
	stacks, err := w.store.List(ctx)
	if err != nil {
		return nil, err
	}
	inUse := make(map[string]bool)
	for _, name := range stacks {
		var snapshot *state.Snapshot
		if leased != nil && leased.Name() == name {
			snapshot = leased.Snapshot()
		} else if snapshot, _, err = state.Load(ctx, w.store, name, nil); err != nil {
			return nil, err
		}
		for _, digest := range engine.Modules(snapshot) {
			inUse[digest] = true
		}
	}
	return inUse, nil
}
