package workspace

import (
	"context"
	"path/filepath"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
)

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
