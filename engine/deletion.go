package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// deleteUnregistered deletes what the program did not register, and the old
// copies of what was replaced.
func (d *deployment) deleteUnregistered(ctx context.Context) error {
	going, err := d.planDeletions(func(res *state.Resource) bool {
		return res.Delete || !d.registrations.IsRegistered(res.URN)
	})
	if err != nil {
		return err
	}
	d.suggestAliases(going)
	return d.deleteAll(ctx, going)
}

func (d *deployment) destroy(ctx context.Context) error {
	if !d.RunProgram {
		if err := notFound(d.selection.Unmatched()); err != nil {
			return err
		}
	}
	if d.RefreshFirst {
		if err := d.refreshFirst(ctx); err != nil {
			return err
		}
	}
	if d.RunProgram {
		d.mode = destroying
		if err := d.runProgram(ctx); err != nil {
			return err
		}
	}
	going, err := d.planDeletions(func(*state.Resource) bool { return true })
	if err == nil {
		err = d.deleteAll(ctx, going)
	}
	return errors.Join(err, errors.Join(d.failures.all()...))
}

// planDeletions returns which of the unwanted resources are deleted, in the order of their creation. What stays
// keeps all that it may use: what is wanted, what is not selected, and what failed or was skipped, with its
// dependents, which the program may have left out because of it. The error is a [NotSelectedError] for each
// target that cannot be deleted.
func (d *deployment) planDeletions(unwanted func(*state.Resource) bool) ([]*state.Resource, error) {
	resources := d.recorder.Resources()
	if !slices.ContainsFunc(resources, unwanted) {
		return nil, nil
	}
	selected := d.selection.Among(resources)
	c := graph.NewCopies(resources)
	kept, withheld := make([]bool, len(resources)), make([]bool, len(resources))
	if failed := d.registrations.Failed.Entries(); len(failed) > 0 {
		for i, res := range resources {
			withheld[i] = failed[res.URN]
		}
		c.MarkDependents(withheld)
	}
	targets := d.selection.HasTargets()
	settled := make(map[*state.Resource]bool, len(resources)) // they use the newest copies
	for i, res := range resources {
		left := !selected(res) || d.selection.IsLeft(res.URN) || d.Selection.ExcludeProtected && d.isProtected(res)
		if targets {
			left = !selected(res)
		}
		kept[i] = withheld[i] || left || !unwanted(res)
		settled[res] = !withheld[i] && (targets || !left && !unwanted(res))
	}
	edges := c.Edges(func(res, dep *state.Resource) bool { return !settled[res] || graph.LikelyCopy(res, dep) })
	var errs []error
	graph.Reach(edges, kept, func(from, to int) {
		user, needed := resources[from], resources[to]
		switch {
		case targets && !needed.Delete:
			errs = append(errs, d.notSelected(NotSelectedError{Resource: needed.URN, Needs: user.URN, Deleted: true}))
			edges[to] = nil // what it uses is not the user's to select
		case needed.Delete && d.selection.IsNarrow():
			d.diagnose("info", needed.URN, "the replaced copy stays for now: %s may use it, and is not selected", user.URN)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var going []*state.Resource
	for i, res := range resources {
		if !kept[i] {
			going = append(going, res)
		}
	}
	return going, nil
}

// deleteAll deletes resources, dependents first, but for what a failed deletion may need.
func (d *deployment) deleteAll(ctx context.Context, going []*state.Resource) (err error) {
	if err := d.checkDeleteHooks(going); err != nil {
		return err
	}
	if err := d.planning.deletions(d, going); err != nil {
		return err
	}
	for _, res := range going {
		d.registrations.PendingDelete.Set(res, true)
	}
	c := graph.NewCopies(going)
	kept := make([]bool, len(going))
	keep := func(i int) { c.Used(i, graph.AnyCopy, func(at int) { kept[at] = true }) }
	begun := &begunDeletions{d: d}
	defer func() { err = errors.Join(err, begun.end(ctx)) }()
	groups := graph.Antichains(c)
	d.shareObjects(going, groups)
	for i, antichain := range groups {
		var chains [][]*step
		var steps []*step
		indexOf := make(map[*step]int, len(antichain))
		for _, at := range antichain {
			if kept[at] {
				keep(at)
				continue
			}
			s, err := d.deletionStep(ctx, going[at])
			if err != nil {
				return err
			}
			indexOf[s] = at
			steps = append(steps, s)
			chains = append(chains, []*step{s})
		}
		var next []*state.Resource
		if i+1 < len(groups) {
			for _, at := range groups[i+1] {
				next = append(next, going[at])
			}
		}
		begun.group(steps, next)
		d.exec.runAll(ctx, chains)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range steps {
			if s.failed {
				keep(indexOf[s])
			}
		}
	}
	return nil
}

func (d *deployment) deletionStep(ctx context.Context, res *state.Resource) (*step, error) {
	s := &step{op: deletion(res), old: res}
	if s.op == OpDelete || s.op == OpDeleteReplaced {
		provider, err := d.deletionProvider(ctx, res)
		if err != nil {
			return nil, &StepError{Op: s.op, Resource: res, Err: err}
		}
		s.provider = provider
	}
	return s, nil
}

// deletion returns what becomes of a recorded resource that is no longer wanted.
func deletion(res *state.Resource) Op {
	switch {
	case res.PendingReplacement:
		return OpRemovePendingReplace
	case res.Delete:
		return OpDeleteReplaced
	case res.External:
		return OpDiscard
	default:
		return OpDelete
	}
}

// isDeletedWithOwner reports whether this run deletes every copy of the owner that res may mean, so that res
// needs no deletion of its own. It does not mean copies that were made after it was last changed.
func (r *runState) isDeletedWithOwner(res *state.Resource) bool {
	if res.DeletedWith == "" {
		return false
	}
	owned := false
	for _, owner := range r.recorder.CopiesOf(res.DeletedWith) {
		if res.Delete && owner.Created.After(res.Created) && owner.Created.After(res.Modified) {
			continue
		}
		if !r.registrations.IsPendingDelete(owner) {
			return false
		}
		owned = true
	}
	return owned
}

// begunDeletions holds the operations of deletions that were recorded as begun together with the end of the
// deletions before them: one sync of the disk serves both. None goes to its provider before those are done.
type begunDeletions struct {
	d *deployment

	mu sync.Mutex
	// left is how many deletions of the group under way have not come back from their
	// providers, and next the resources of the group after it.
	left int
	next []*state.Resource
	// begun has an element for each resource of next, once the group under way is deleted.
	begun map[*state.Resource]record.Operation
}

// group notes the steps that are about to be taken, and of what follows.
func (a *begunDeletions) group(steps []*step, next []*state.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.next = len(steps), next
	for _, s := range steps {
		s.begunDeletions = a
	}
}

// deleted notes that a provider has deleted a step's resource. For the last one of the group it returns
// the next resources, as many as can be deleted at once: their operations begin with the record of this
// step.
func (a *begunDeletions) deleted() (next []*state.Resource) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left--
	if a.left > 0 || a.d.failures.stopped() {
		return nil
	}
	for _, res := range a.next[:min(len(a.next), a.d.Parallel)] {
		if a.d.deletes(res) && !a.d.isProtected(res) {
			next = append(next, res)
		}
	}
	return next
}

// began notes which operations are recorded. Other steps begin their own.
func (a *begunDeletions) began(ops map[*state.Resource]record.Operation) {
	if len(ops) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = ops
}

// take returns the operation of a resource whose deletion was begun ahead.
func (a *begunDeletions) take(res *state.Resource) (op record.Operation, ok bool) {
	if a == nil {
		return record.Operation{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	op, ok = a.begun[res]
	delete(a.begun, res)
	return op, ok
}

// end ends what was begun and not deleted.
func (a *begunDeletions) end(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unused record.Change
	for _, op := range a.begun {
		unused = unused.Ending(op)
	}
	a.begun = nil
	return a.d.recorder.Record(ctx, unused)
}

// claimant returns another recorded resource that is the same object as res and stays, nil if there is none: a
// replacement that made the object over itself, or a resource that was renamed without an alias.
func (r *runState) claimant(res *state.Resource) *state.Resource {
	if !record.IsObject(res) {
		return nil
	}
	for _, other := range r.recorder.Claiming(res) {
		stays := !r.registrations.IsPendingDelete(other) || r.isProtected(other) && !r.IgnoreProtect
		if other != res && !other.Delete && stays && r.sameObject(res, other) {
			return other
		}
	}
	return nil
}

// shareObjects notes all but the last of resources that are deleted and are one object: what uses any of
// them is gone only then.
func (r *runState) shareObjects(going []*state.Resource, order [][]int) {
	type object struct{ typ, id string }
	last := make(map[object][]*state.Resource)
	for _, group := range order {
		for _, at := range group {
			res := going[at]
			if !record.IsObject(res) || !r.ownsObject(res) {
				continue
			}
			key := object{res.Type, res.ID}
			i := slices.IndexFunc(last[key], func(other *state.Resource) bool { return r.sameObject(res, other) })
			if i < 0 {
				last[key] = append(last[key], res)
				continue
			}
			r.registrations.SharedObject.Set(last[key][i], true)
			last[key][i] = res
		}
	}
}

// warnOfSharedObject warns of an object that is not deleted, since it is still wanted.
func (r *runState) warnOfSharedObject(res *state.Resource) {
	other := r.claimant(res)
	switch {
	case other == nil || !r.ownsObject(res):
	case other.URN == res.URN:
		r.warn(res.URN, "the replacement has the ID of what it replaces, %q, so both are one object, which is not deleted: "+
			"the option deleteBeforeReplace deletes it first, and the provider should say of the type that it has to be", res.ID)
	default:
		r.warn(res.URN, "the object %q is not deleted, since it is %s as well, which stays: only the state forgets it here", res.ID, other.URN)
	}
}

// sameObject reports whether two resources are one object: same type, ID, and provider configuration.
func (r *runState) sameObject(a, b *state.Resource) bool {
	if !record.IsObject(a) || !record.IsObject(b) || a.Type != b.Type || a.ID != b.ID {
		return false
	}
	if a.Provider == b.Provider {
		return true
	}
	p, q := r.recorder.Provider(a.Provider), r.recorder.Provider(b.Provider)
	return p != nil && q != nil && p.Type == q.Type &&
		property.Object(ownInputs(p.Inputs)).EqualContents(property.Object(ownInputs(q.Inputs)))
}
