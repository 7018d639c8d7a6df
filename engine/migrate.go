package engine

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

// migrate gives resources that name no provider, as those of old states, the default
// one of their package, configured as the stack is. Nothing can be done with them else.
func (r *runState) migrate(ctx context.Context) (*state.Snapshot, error) {
	before := r.State.Snapshot()
	snapshot, given, err := edit.AddDefaultProviders(before, r.packageConfig)
	if err != nil || len(given) == 0 || r.dryRun {
		return snapshot, err
	}
	if err := r.State.Replace(ctx, snapshot); err != nil {
		return before, fmt.Errorf("saving the providers of resources that named none: %w", err)
	}
	return r.State.Snapshot(), nil
}
