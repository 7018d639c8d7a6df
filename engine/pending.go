package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// PendingCreatesError says that an earlier run was cut off in creations.
type PendingCreatesError struct{ URNs []urn.URN }

// Error says what to do about them.
func (e *PendingCreatesError) Error() string {
	var names strings.Builder
	for _, u := range e.URNs {
		names.WriteString("\n  " + string(u))
	}
	return "nothing was done, since an earlier run was cut off while it created resources, which may exist or not: " + pendingAdvice + names.String()
}

const pendingAdvice = "look for it, then run husk refresh with --adopt-pending-creates <urn>=<id> to take it over, " +
	"or with --clear-pending-creates to forget this warning"

// reportPending warns of operations that an earlier run began and did not end.
// Creations stay until the user says what became of them, updates and deletions until
// their resource is read or gone, and all others are forgotten.
func (d *deployment) reportPending(ctx context.Context) error {
	var done record.Change
	var creations []urn.URN
	for op, pending := range d.recorder.Unfinished() {
		res := pending.Resource
		switch {
		case isProviderType(res.Type):
			d.warn(res.URN, "an earlier run was cut off while %s this provider, which is configured anew", pending.Type)
			done = done.Ending(op)
		case pending.Type == state.OperationCreating && d.AdoptPendingCreates[res.URN] != "":
		case pending.Type == state.OperationCreating && d.ClearPendingCreates:
			done = done.Ending(op)
		case pending.Type == state.OperationCreating:
			creations = append(creations, res.URN)
			d.warn(res.URN, "an earlier run was cut off while creating this resource, which may exist or not%s: "+pendingAdvice, d.proposal(ctx, res))
		case pending.Type == state.OperationReading || pending.Type == state.OperationImporting:
			done = done.Ending(op) // they change nothing
		case !res.Delete && readable(d.recorder.Lookup(res.URN)):
			d.warn(res.URN, "an earlier run was cut off while %s this resource, which is read before it is changed", pending.Type)
			d.recorder.Doubt(res.URN, op)
		default:
			d.warn(res.URN, "an earlier run was cut off while %s this resource", pending.Type)
			done = done.Ending(op)
		}
	}
	if len(creations) > 0 && d.StopOnPending {
		return &PendingCreatesError{URNs: creations}
	}
	return d.recorder.Record(ctx, done)
}

// readable reports whether a refresh reads the recorded resource.
func readable(res *state.Resource) bool {
	return res != nil && res.Custom && !res.Delete && !res.PendingReplacement && !isProviderType(res.Type)
}

// findOut reads a resource that needs it and that the program registers, and returns how it is
// recorded then. One that is gone waits to be made again. Only now is it known whether the
// resource is selected at all.
func (d *deployment) findOut(ctx context.Context, old *state.Resource) (*state.Resource, error) {
	if old == nil || !d.needsRead(old) {
		return old, nil
	}
	provider, err := d.providerOf(ctx, old)
	if err != nil {
		return nil, fmt.Errorf("refresh %s: %w", old.URN, err)
	}
	s := &step{op: OpRefresh, old: old, provider: provider}
	if err := d.exec.run(ctx, []*step{s}); err != nil {
		return nil, err
	}
	if s.result == OpDelete {
		gone := clone(old)
		gone.PendingReplacement = true
		err = d.recorder.Record(ctx, record.Replace(old, gone))
	}
	return d.recorder.Lookup(old.URN), err
}
