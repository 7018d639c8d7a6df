package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// pending holds the operations that an earlier run began and did not end. How a resource is
// that was being updated or deleted is not known until it is read, which comes before anything
// but its deletion. What was being created may exist or not, until the user says.
type pending struct {
	mu sync.Mutex
	// left are the operations of the earlier run, but for those that are over.
	left map[state.OpID]state.PendingOperation
	// unsure holds the updates and deletions among them, of resources that are still recorded.
	unsure map[urn.URN][]state.OpID
	// settled holds the operations of resources that were read in this run.
	settled []state.OpID
}

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
func (d *deployment) reportPending(ctx context.Context, snapshot *state.Snapshot) error {
	p := &d.pending
	p.left, p.unsure = make(map[state.OpID]state.PendingOperation), make(map[urn.URN][]state.OpID)
	var done state.Entry
	var creations []urn.URN
	for op, pending := range snapshot.Operations() {
		res := pending.Resource
		p.left[op] = pending
		switch {
		case isProviderType(res.Type):
			d.warn(res.URN, "an earlier run was cut off while %s this provider, which is configured anew", pending.Type)
			done = append(done, state.EndOperation{Op: op})
		case pending.Type == state.OperationCreating && d.AdoptPendingCreates[res.URN] != "":
		case pending.Type == state.OperationCreating && d.ClearPendingCreates:
			done = append(done, state.EndOperation{Op: op})
		case pending.Type == state.OperationCreating:
			creations = append(creations, res.URN)
			d.warn(res.URN, "an earlier run was cut off while creating this resource, which may exist or not%s: "+pendingAdvice, d.proposal(ctx, res))
		case pending.Type == state.OperationReading || pending.Type == state.OperationImporting:
			done = append(done, state.EndOperation{Op: op}) // they change nothing
		case !res.Delete && readable(d.recorder.lookup(res.URN)):
			d.warn(res.URN, "an earlier run was cut off while %s this resource, which is read before it is changed", pending.Type)
			p.unsure[res.URN] = append(p.unsure[res.URN], op)
		default:
			d.warn(res.URN, "an earlier run was cut off while %s this resource", pending.Type)
			done = append(done, state.EndOperation{Op: op})
		}
	}
	if len(creations) > 0 && d.StopOnPending {
		return &PendingCreatesError{URNs: creations}
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
		err = d.record(ctx, change{replace: [][2]*state.Resource{{old, gone}}})
	}
	return d.recorder.lookup(old.URN), err
}

// renamePending has what an earlier run was cut off with known by its new name, and naming others
// by theirs, also if this run is cut off in turn: it returns what is written with the renaming.
func (d *deployment) renamePending(from, to urn.URN) (moved state.Entry) {
	p := &d.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, op := range slices.Sorted(maps.Keys(p.left)) {
		pending := p.left[op]
		res := d.recorder.withNewNames(pending.Resource)
		if res.URN == from {
			res = clone(res)
			res.URN, res.Type = to, to.Type()
		}
		if res == pending.Resource {
			continue
		}
		pending.Resource = res
		if d.dryRun {
			p.left[op] = pending
			continue
		}
		under := d.recorder.newOp()
		delete(p.left, op)
		p.left[under] = pending
		for _, ops := range append(slices.Collect(maps.Values(p.unsure)), p.settled) {
			if i := slices.Index(ops, op); i >= 0 {
				ops[i] = under
			}
		}
		moved = append(moved, state.EndOperation{Op: op}, state.BeginOperation{Op: under, Type: pending.Type, Resource: res})
	}
	if ops := p.unsure[from]; len(ops) > 0 {
		delete(p.unsure, from)
		p.unsure[to] = ops
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
	d.pending.mu.Lock()
	for _, change := range done {
		delete(d.pending.left, change.(state.EndOperation).Op)
	}
	d.pending.mu.Unlock()
	if d.dryRun || len(done) == 0 {
		return nil
	}
	return d.recorder.append(ctx, done)
}
