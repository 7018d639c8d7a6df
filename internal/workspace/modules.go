package workspace

import (
	"context"
	"path/filepath"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
)

// ModulesDir is the directory beside the stacks for the modules that made their
// resources.
func (w *Workspace) ModulesDir() string { return filepath.Join(w.Place, "modules") }

// ModulesInUse returns the digests of the modules that any stack of the backend
// names. Stacks of other projects may share it. What the caller has leased, if anything,
// need not be read again. It returns an error if any stack cannot be read, because that one may
// need any module.
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
