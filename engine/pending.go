package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// pending holds the updates and deletions that an earlier run began and did not end,
// of resources that are still recorded. How those are is not known until they are
// read, which comes before anything but their deletion.
type pending struct {
	mu     sync.Mutex
	unsure map[urn.URN][]state.OpID
	// settled holds the operations of resources that were read in this run.
	settled []state.OpID
}

// reportPending warns of operations that an earlier run began and did not end.
// Creations stay until the user says what became of them, updates and deletions until
// their resource is read or gone, and all others are forgotten.
func (d *deployment) reportPending(ctx context.Context, snapshot *state.Snapshot) error {
	d.pending.unsure = make(map[urn.URN][]state.OpID)
	var done state.Entry
	for op, pending := range snapshot.Operations() {
		res := pending.Resource
		switch {
		case pending.Type == state.OperationCreating && d.AdoptPendingCreates[res.URN] != "":
		case pending.Type == state.OperationCreating && d.ClearPendingCreates:
			done = append(done, state.EndOperation{Op: op})
		case pending.Type == state.OperationCreating:
			d.warn(res.URN, "an earlier run was cut off while creating this resource, which may exist or not: "+
				"look for it, then run husk refresh with --adopt-pending-creates <urn>=<id> to take it over, "+
				"or with --clear-pending-creates to forget this warning")
		case pending.Type == state.OperationReading || pending.Type == state.OperationImporting:
			done = append(done, state.EndOperation{Op: op}) // they change nothing
		case !res.Delete && readable(d.recorder.lookup(res.URN)):
			d.warn(res.URN, "an earlier run was cut off while %s this resource, which is read before it is changed", pending.Type)
			d.pending.unsure[res.URN] = append(d.pending.unsure[res.URN], op)
		default:
			d.warn(res.URN, "an earlier run was cut off while %s this resource", pending.Type)
			done = append(done, state.EndOperation{Op: op})
		}
	}
	return d.endPending(ctx, done)
}

// readable reports whether a refresh reads the recorded resource.
func readable(res *state.Resource) bool {
	return res != nil && res.Custom && !res.Delete && !res.PendingReplacement && !isProviderType(res.Type)
}

// isUnsure reports whether an earlier run was cut off while it changed the resource.
func (p *pending) isUnsure(u urn.URN) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.unsure[u]) > 0
}

// read notes that how the resource is has been found out.
func (p *pending) read(u urn.URN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = append(p.settled, p.unsure[u]...)
	delete(p.unsure, u)
}

// findOut reads a resource that an earlier run was cut off with and that the program
// registers, and returns how it is recorded then. One that is gone waits to be made again.
// Only now is it known whether the resource is selected at all.
func (d *deployment) findOut(ctx context.Context, old *state.Resource) (*state.Resource, error) {
	if old == nil || !d.pending.isUnsure(old.URN) {
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
		err = d.record(ctx, change{replace: [][2]*state.Resource{{old, gone}}})
	}
	return d.recorder.lookup(old.URN), err
}

// renamePending has what an earlier run was cut off with known by its new name, also if this
// run is cut off in turn: it returns what is written with the renaming.
func (d *deployment) renamePending(from, to urn.URN) (moved state.Entry) {
	p := &d.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	ops := p.unsure[from]
	if len(ops) == 0 {
		return nil
	}
	delete(p.unsure, from)
	if d.dryRun {
		p.unsure[to] = ops
		return nil
	}
	for op, pending := range d.State.Snapshot().Operations() {
		if slices.Contains(ops, op) {
			res := clone(pending.Resource)
			res.URN, res.Type = to, to.Type()
			under := d.recorder.newOp()
			p.unsure[to] = append(p.unsure[to], under)
			moved = append(moved, state.EndOperation{Op: op}, state.BeginOperation{Op: under, Type: pending.Type, Resource: res})
		}
	}
	return moved
}

// settlePending forgets the operations of resources that this run has read or deleted.
func (d *deployment) settlePending(ctx context.Context) error {
	var done state.Entry
	for _, op := range d.pending.settled {
		done = append(done, state.EndOperation{Op: op})
	}
	for u, ops := range d.pending.unsure {
		if d.recorder.lookup(u) != nil {
			continue
		}
		for _, op := range ops {
			done = append(done, state.EndOperation{Op: op})
		}
	}
	return d.endPending(ctx, done)
}

func (d *deployment) endPending(ctx context.Context, done state.Entry) error {
	if d.dryRun || len(done) == 0 {
		return nil
	}
	return d.recorder.append(ctx, done)
}
