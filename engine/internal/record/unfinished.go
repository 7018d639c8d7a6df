package record

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// unfinished holds the operations that an earlier run did not end. A resource that was being updated or deleted must be read
// before anything but its deletion. An object that was being created may or may not exist, until the user says. The recorder's
// lock guards it.
type unfinished struct {
	// operations are the earlier run's, except the ones that are over.
	operations map[state.OpID]state.PendingOperation
	// unsure holds the updates and deletions among them, by the recorded resources that they may have changed. So may have a creation,
	// which is not among them: it is not over when the resource is read.
	unsure map[urn.URN][]state.OpID
	// settled holds the operations of resources that were read in this run. They are over once no resource is unsure
	// because of them.
	settled []state.OpID
}

// Unfinished returns the operations of an earlier run that are not over, in their order.
func (r *Recorder) Unfinished() iter.Seq2[Operation, state.PendingOperation] {
	r.mu.Lock()
	operations := maps.Clone(r.unfinished.operations)
	r.mu.Unlock()
	return func(yield func(Operation, state.PendingOperation) bool) {
		for _, id := range slices.Sorted(maps.Keys(operations)) {
			if !yield(Operation{id: id, begun: true}, operations[id]) {
				return
			}
		}
	}
}

// Creating returns the first creation of a URN that was cut off, nil if there is none. Another one of the
// same URN may have made another object, and stays.
func (r *Recorder) Creating(u urn.URN) (first Operation, created *state.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, pending := range r.unfinished.operations {
		if pending.Type == state.OperationCreating && pending.Resource.URN == u && (created == nil || id < first.id) {
			first, created = Operation{id: id, begun: true}, pending.Resource
		}
	}
	return first, created
}

// crashReason is an error of the resource of an operation in which the provider crashed. Its own text could hold secrets.
const crashReason = "the provider crashed"

// Crashed records that the provider crashed in an operation of this run, which stays pending under a new number.
func (r *Recorder) Crashed(ctx context.Context, op Operation) (Operation, error) {
	res := *op.resource
	res.InitErrors = []string{crashReason}
	marked, err := r.Begin(ctx, op.kind, &res, End(op))
	if err != nil {
		return op, err
	}
	return marked, nil
}

// HasCrashed reports whether the provider crashed in an operation of an earlier run.
func HasCrashed(p state.PendingOperation) bool {
	return slices.Contains(p.Resource.InitErrors, crashReason)
}

// Doubt notes that how a resource is cannot be known before it is read, because of operations that are over then.
func (r *Recorder) Doubt(u urn.URN, ops ...Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unsure := r.unfinished.unsure[u]
	for _, op := range ops {
		unsure = append(unsure, op.id)
	}
	r.unfinished.unsure[u] = unsure
}

// IsUnsure reports whether an earlier run was cut off while it changed the resource.
func (r *Recorder) IsUnsure(u urn.URN) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, unsure := r.unfinished.unsure[u]
	return unsure
}

// AnyUnsure reports whether an earlier run was cut off while it changed any resource.
func (r *Recorder) AnyUnsure() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.unfinished.unsure) > 0
}

// NoteRead notes that how the resource is has been found out.
func (r *Recorder) NoteRead(u urn.URN) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.unfinished
	p.settled = append(p.settled, p.unsure[u]...)
	delete(p.unsure, u)
}

// EndSettled ends the operations of resources that this run has read or deleted.
func (r *Recorder) EndSettled(ctx context.Context) error {
	r.mu.Lock()
	candidates := r.unfinished.settled
	var open []state.OpID
	for u, ops := range r.unfinished.unsure {
		if r.byURN[u] == nil {
			candidates = append(candidates, ops...)
		} else {
			open = append(open, ops...)
		}
	}
	var done []state.OpID
	for _, op := range candidates {
		if !slices.Contains(open, op) && !slices.Contains(done, op) {
			done = append(done, op)
		}
	}
	r.mu.Unlock()
	return r.Record(ctx, Change{ended: done})
}

// renameUnfinished renames the operations of an earlier run, and the resources that they name. It returns the entries to write
// with the renaming. edit is only for operations of the recorded resource's provider: those of another provider keep their name.
func (r *Recorder) renameUnfinished(from, to urn.URN, edit func(*state.Resource)) state.Entry {
	recorded := r.Lookup(from)
	rewritten := r.rewriteUnfinished(func(res *state.Resource) *state.Resource {
		if edit != nil && res.URN == from && res.Provider != recorded.Provider {
			return r.withNewNames(res)
		}
		return r.moved(res, from, to, edit)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if ops, unsure := r.unfinished.unsure[from]; unsure {
		r.unfinished.unsure[to] = ops
		delete(r.unfinished.unsure, from)
	}
	return rewritten
}

// rewriteUnfinished changes the resources of the operations of an earlier run. It returns the entries to write with that, in case
// this run is cut off as well.
func (r *Recorder) rewriteUnfinished(rewrite func(*state.Resource) *state.Resource) (rewritten state.Entry) {
	p := &r.unfinished
	for op, pending := range r.Unfinished() {
		res := rewrite(pending.Resource)
		if res == pending.Resource {
			continue
		}
		pending.Resource = res
		under := op.id
		if r.stack != nil {
			under = r.newOp()
			rewritten = append(rewritten, state.EndOperation{Op: op.id}, state.BeginOperation{Op: under, Type: pending.Type, Resource: res})
		}
		r.mu.Lock()
		delete(p.operations, op.id)
		p.operations[under] = pending
		for _, ops := range append(slices.Collect(maps.Values(p.unsure)), p.settled) {
			if i := slices.Index(ops, op.id); i >= 0 {
				ops[i] = under
			}
		}
		r.mu.Unlock()
	}
	return rewritten
}
