package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/state"
)

// objects tells whose the objects of recorded resources are, and which of them a deletion ends.
type objects struct {
	*run
	*events
	recorder      *record.Recorder
	registrations *registration.Registrations
	hooks         callbacks.Hooks
}

// deletionProvider returns the provider that deletes res, nil if none is needed.
func (o *objects) deletionProvider(ctx context.Context, c *providerChoice, res *state.Resource) (abi.Provider, error) {
	if !o.ownsObject(res) {
		return nil, nil
	}
	return c.providerOf(ctx, res)
}

// deleteUnregistered deletes what the program did not register, and the old copies of replaced resources.
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

// planDeletions returns which of the unwanted resources are deleted, in the order of their creation. A resource that stays keeps
// all resources that it may use. Wanted, unselected, failed, and skipped resources stay, and so do dependents of failed and
// skipped ones, because the program may have left them out for that reason. The error is a [NotSelectedError] for each target
// that cannot be deleted.
func (d *deployment) planDeletions(unwanted func(*state.Resource) bool) ([]*state.Resource, error) {
	resources := d.recorder.Resources()
	if !slices.ContainsFunc(resources, unwanted) {
		return nil, nil
	}
	selected := d.selection.Among(resources)
	kept, withheld := make([]bool, len(resources)), make([]bool, len(resources))
	if d.registrations.Failed.Len() > 0 {
		for i, res := range resources {
			withheld[i] = d.registrations.HasFailed(res.URN)
		}
		graph.NewCopies(resources).MarkDependents(withheld)
	}
	targets := d.selection.HasTargets()
	for i, res := range resources {
		left := !selected(res) || d.selection.IsLeft(res.URN) || d.Selection.ExcludeProtected && d.isProtected(res)
		if targets {
			left = !selected(res)
		}
		kept[i] = withheld[i] || left || !unwanted(res)
	}
	if !slices.Contains(kept, true) {
		return resources, nil
	}
	settled := make(map[*state.Resource]bool, len(resources)) // they use the newest copies
	brought := make(map[*state.Resource]bool, len(resources)) // to their goals, by this run
	for i, res := range resources {
		brought[res] = !withheld[i] && !unwanted(res) && !d.selection.IsLeft(res.URN) // providers need not be targets
		settled[res] = brought[res] || targets && !withheld[i]
	}
	edges := graph.NewCopies(resources).Edges(graph.Rule{
		Means: func(res, dep *state.Resource) bool {
			return !settled[res] || graph.LikelyCopy.Means(res, dep) || res.DeletedWith == dep.URN && d.isOfOldCopy(res, dep.URN)
		},
		// The program knows which parts the components have by now that it has resources use.
		Part: func(res, _ *state.Resource) bool { return !brought[res] },
	})
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

// deleteAll deletes resources, dependents first, except resources that a failed deletion may need.
func (d *deployment) deleteAll(ctx context.Context, going []*state.Resource) (err error) {
	if err := d.checkDeleteHooks(going); err != nil {
		return err
	}
	if err := d.planning.deletions(d, going); err != nil {
		return err
	}
	d.noteDeletion(going...)
	c, takes := d.takeAlong(graph.CopiesAmong(going, d.recorder.Resources()), going, false)
	takenBy := reversed(takes)
	groups := d.shareObjects(going, graph.Antichains(c))
	kept := make([]bool, len(going))
	keep := func(i int) { c.Used(i, graph.AnyCopy, func(at int) { kept[at] = true }) }
	begun := &begunDeletions{d: d}
	defer func() { err = errors.Join(err, begun.end(ctx)) }()
	index := make(map[*state.Resource]int, len(going))
	for i, res := range going {
		index[res] = i
	}
	for i, antichain := range groups {
		var chains [][]*step
		var steps []*step
		for _, at := range antichain {
			taken := takes[going[at]]
			if kept[at] || slices.ContainsFunc(taken, func(res *state.Resource) bool { return kept[index[res]] }) {
				keep(at)
				d.noLongerDeleted(going[at]) // its object is not deleted with another resource
				d.noLongerDeleted(taken...)
				continue
			}
			if takenBy[going[at]] != nil {
				continue // it goes with the step of its owner
			}
			s, err := d.deletionStep(ctx, going[at], taken)
			if err != nil {
				return err
			}
			steps = append(steps, s)
			chains = append(chains, []*step{s})
		}
		var next []*state.Resource
		if i+1 < len(groups) {
			for _, at := range groups[i+1] {
				if takenBy[going[at]] == nil {
					next = append(next, going[at])
				}
			}
		}
		begun.group(steps, next)
		d.exec.runAll(ctx, chains)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range steps {
			if s.failed {
				keep(index[s.old])
				d.noLongerDeleted(s.old)
				d.noLongerDeleted(takes[s.old]...)
			}
		}
	}
	return nil
}

// deletionStep returns the step that deletes a resource, and with it what its object takes along.
func (d *deployment) deletionStep(ctx context.Context, res *state.Resource, taken []*state.Resource) (*step, error) {
	s := &step{op: deletion(res), old: res}
	if s.op == OpDelete || s.op == OpDeleteReplaced {
		provider, err := d.deletionProvider(ctx, d.providerChoice, res)
		if err != nil {
			return nil, &StepError{Op: s.op, Resource: res, Err: err}
		}
		s.provider = provider
	}
	for _, res := range taken {
		s.along = append(s.along, &step{op: deletion(res), old: res})
	}
	return s, nil
}

// deletion returns the operation for a recorded resource that is no longer wanted.
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

// evidence is the proof that a resource may leave the state.
type evidence int

const (
	// ofDeletion is the provider's word that the object is deleted or, for a resource that goes along with its owner, that the
	// owner's object is.
	ofDeletion evidence = iota
	// ofAnother is that its object is another resource as well, which is recorded.
	ofAnother
	// ofNothing suffices where the stack deletes no object: for a component, and for a resource that was read, retained, or
	// deleted already.
	ofNothing
)

// evidenceFor returns the evidence that a resource needs to leave the state in a deletion. It alone decides that, also for owners
// and the resources that go along. Resources that a refresh does not find leave in [deployment.forgetGone].
func (o *objects) evidenceFor(res *state.Resource) evidence {
	switch {
	case !o.ownsObject(res):
		return ofNothing
	case o.isDeletedWithAnother(res) || o.claimant(res) != nil:
		return ofAnother
	default:
		return ofDeletion
	}
}

// ownsObject reports whether the stack is to delete what a resource stands for.
func (o *objects) ownsObject(res *state.Resource) bool {
	return res.Custom && !res.External && !o.options(res).RetainOnDelete && !res.PendingReplacement
}

// isShared reports whether another recorded resource is the same object.
func (o *objects) isShared(res *state.Resource) bool {
	return slices.ContainsFunc(o.recorder.Claiming(res), func(other *state.Resource) bool {
		return !o.isSameEntry(other, res) && o.sameObject(res, other)
	})
}

// claimant returns another recorded resource that is the same object as res and stays, nil if there is none: a
// replacement that made the object over itself, or a resource that was renamed without an alias.
func (o *objects) claimant(res *state.Resource) *state.Resource {
	if !record.IsObject(res) {
		return nil
	}
	for _, other := range o.recorder.Claiming(res) {
		stays := !o.isPendingDelete(other) || o.isProtected(other) && !o.IgnoreProtect || o.options(other).RetainOnDelete
		if !o.isSameEntry(other, res) && !other.Delete && stays && o.sameObject(res, other) {
			return other
		}
	}
	return nil
}

// isSameEntry reports whether two resources are one entry of the state. The recorder may have another resource for an entry by
// now than the one that a deletion was planned with, so comparing pointers would take a resource for another one of the same object.
func (o *objects) isSameEntry(a, b *state.Resource) bool {
	m, known := o.recorder.Entry(a)
	n, ok := o.recorder.Entry(b)
	return a == b || known && ok && m == n
}

// noteDeletion notes that recorded resources are deleted in this run, until over is called.
func (o *objects) noteDeletion(resources ...*state.Resource) (over func()) {
	var entries []state.Serial
	for _, res := range resources {
		if entry, ok := o.recorder.Entry(res); ok {
			o.registrations.PendingDelete.Set(entry, true)
			entries = append(entries, entry)
		}
	}
	return func() { o.isOver(entries...) }
}

func (o *objects) isOver(entries ...state.Serial) {
	for _, entry := range entries {
		o.registrations.PendingDelete.Remove(entry)
		o.registrations.SharedObject.Remove(entry)
	}
}

// isPendingDelete reports whether the object of a recorded resource is deleted in this run, or was deleted ahead of its
// replacement.
func (o *objects) isPendingDelete(res *state.Resource) bool {
	entry, ok := o.recorder.Entry(res)
	return ok && o.registrations.PendingDelete.Get(entry) || res.PendingReplacement
}

// isDeletedWithAnother reports whether another resource of the same object deletes it.
func (o *objects) isDeletedWithAnother(res *state.Resource) bool {
	entry, ok := o.recorder.Entry(res)
	return ok && o.registrations.SharedObject.Get(entry)
}

// noLongerDeleted notes that the deletion of resources is over. One that failed stays recorded, and another resource
// that is the same object may not be deleted then either.
func (o *objects) noLongerDeleted(resources ...*state.Resource) {
	for _, res := range resources {
		if entry, ok := o.recorder.Entry(res); ok {
			o.isOver(entry)
		}
	}
}

// shareObjects finds resources to delete that share one object, and notes all but the last: users of any of them are gone only by
// then. It returns the order with these resources one after the other, so that only the last one deletes the object.
func (o *objects) shareObjects(going []*state.Resource, order [][]int) (out [][]int) {
	type object struct{ typ, id string }
	type holder struct {
		res   *state.Resource
		group int
	}
	last := make(map[object][]holder)
	for _, group := range order {
		for len(group) > 0 {
			var now, later []int
			for _, at := range group {
				res := going[at]
				if !record.IsObject(res) || !o.ownsObject(res) {
					now = append(now, at)
					continue
				}
				key := object{res.Type, res.ID}
				holders := last[key]
				i := slices.IndexFunc(holders, func(other holder) bool { return o.sameObject(res, other.res) })
				switch {
				case i < 0:
					last[key] = append(holders, holder{res, len(out)})
				case holders[i].group == len(out):
					later = append(later, at)
					continue
				default:
					if entry, ok := o.recorder.Entry(holders[i].res); ok {
						o.registrations.SharedObject.Set(entry, true)
					}
					holders[i] = holder{res, len(out)}
				}
				now = append(now, at)
			}
			out, group = append(out, now), later
		}
	}
	return out
}

// warnOfSharedObject warns of an object that is not deleted, since it is still wanted.
func (o *objects) warnOfSharedObject(res *state.Resource) {
	other := o.claimant(res)
	switch {
	case other == nil || !o.ownsObject(res):
	case other.URN == res.URN:
		o.warn(res.URN, "the replacement has the ID of the resource that it replaces, %q, so both are one object, which is not deleted: "+
			"the option deleteBeforeReplace deletes it first, and the provider should say of the type that it has to be", res.ID)
	default:
		o.warn(res.URN, "the object %q is not deleted, since it is %s as well, which stays: only the state forgets it here", res.ID, other.URN)
	}
}

// sameObject reports whether two resources are one object: same type, ID, and provider configuration.
func (o *objects) sameObject(a, b *state.Resource) bool {
	if !record.IsObject(a) || !record.IsObject(b) || a.Type != b.Type || a.ID != b.ID {
		return false
	}
	if a.Provider == b.Provider {
		return true
	}
	p, q := o.recorder.Provider(a.Provider), o.recorder.Provider(b.Provider)
	return p != nil && q != nil && p.Type == q.Type &&
		property.Object(ownInputs(p.Inputs)).EqualContents(property.Object(ownInputs(q.Inputs)))
}

// takeAlong decides which of the resources to delete need no deletion of their own, because their owner's object is deleted. Both
// leave the state in one change, and the resources that they use stay until then. It returns the copies with that. A resource is
// deleted by itself if its owner may stay, or if it would be in its owner's way: the owner cannot go before something that the
// resource uses and that has to go first. Early deletions come before a replacement.
func (o *objects) takeAlong(c *graph.Copies, going []*state.Resource, early bool) (_ *graph.Copies, takes map[*state.Resource][]*state.Resource) {
	index := make(map[*state.Resource]int, len(going))
	for i, res := range going {
		index[res] = i
	}
	owners := make(map[*state.Resource]*state.Resource)
	for _, res := range going {
		if owner := o.ownerOf(res, index, early); owner != nil {
			owners[res] = owner
		}
	}
	takes = make(map[*state.Resource][]*state.Resource)
	for changed := len(owners) > 0; changed; {
		clear(takes)
		for _, res := range slices.Backward(going) { // the youngest first, as they would be deleted
			if owner := first(owners, res); owner != nil {
				takes[owner] = append(takes[owner], res)
			}
		}
		c, changed = c.Taking(takes), false
		circular := c.Circular()
		for owner, taken := range takes {
			at := index[owner]
			for _, res := range taken {
				c.Used(index[res], graph.AnyCopy, func(used int) {
					if used != at && !c.TakesAlong(at, used) && circular(at, used) {
						delete(owners, res)
						changed = true
					}
				})
			}
		}
	}
	return c, takes
}

// reversed returns the owner of all that is taken along.
func reversed(takes map[*state.Resource][]*state.Resource) map[*state.Resource]*state.Resource {
	takenBy := make(map[*state.Resource]*state.Resource)
	for owner, taken := range takes {
		for _, res := range taken {
			takenBy[res] = owner
		}
	}
	return takenBy
}

// first returns the owner whose deletion takes res along, by way of others or not. Those that own each other have none.
func first(owners map[*state.Resource]*state.Resource, res *state.Resource) *state.Resource {
	at := owners[res]
	for range owners {
		if owners[at] == nil {
			return at
		}
		at = owners[at]
	}
	return nil
}

// ownerOf returns the resource that res is deleted with, if that is certain: there is one copy of it that res may mean, it is
// among the resources to delete, and its own deletion, or its owner's, deletes an object. An object that was made or taken over
// after res was last changed is not the one that res belongs to.
func (o *objects) ownerOf(res *state.Resource, going map[*state.Resource]int, early bool) *state.Resource {
	if res.DeletedWith == "" || o.evidenceFor(res) != ofDeletion || o.isShared(res) || o.refusesDeletion(res, early) {
		return nil
	}
	var owner *state.Resource
	for _, other := range o.recorder.CopiesOf(res.DeletedWith) {
		if isLater(other, res) {
			continue
		}
		if owner != nil {
			return nil
		}
		owner = other
	}
	if owner == nil || !record.IsObject(owner) || o.evidenceFor(owner) != ofDeletion || o.isShared(owner) || o.refusesDeletion(owner, early) {
		return nil
	}
	if _, goes := going[owner]; !goes {
		return nil
	}
	return owner
}

// isLater reports whether a resource was made or taken over after res was last changed, so that res means an earlier one of
// its name.
func isLater(other, res *state.Resource) bool {
	return other.Created.After(res.Created) && other.Created.After(res.Modified)
}

// meansEarlier reports whether res means an earlier one of anything that it names. Only its times say so: a change that is not
// the stack's leaves them.
func (o *objects) meansEarlier(res *state.Resource) (means bool) {
	later := func(other *state.Resource) bool { return isLater(other, res) }
	res.VisitNeeds(func(m state.Mention) {
		means = means || m.Role != state.RoleProvider && slices.ContainsFunc(o.recorder.CopiesOf(m.URN), later)
	})
	return means
}

// isOfOldCopy reports whether a resource belongs to an old copy of the resource that it names. The old copy waits for its
// deletion, because the run that replaced it stopped before it came to this resource.
func (o *objects) isOfOldCopy(res *state.Resource, named urn.URN) bool {
	if named == "" {
		return false
	}
	copies := o.recorder.CopiesOf(named)
	return slices.ContainsFunc(copies, func(c *state.Resource) bool { return !c.Delete && isLater(c, res) }) &&
		slices.ContainsFunc(copies, func(c *state.Resource) bool { return c.Delete && !c.PendingReplacement && !isLater(c, res) })
}

// refusesDeletion reports whether a resource is protected from the deletion that this run plans for it.
func (o *objects) refusesDeletion(res *state.Resource, early bool) bool {
	return o.protects(&step{op: deletion(res), old: res, replacing: early})
}

// beginAlong begins the steps that go along with a step. If a hook refuses one of them, neither its resource nor the owner is
// deleted.
func (a *applier) beginAlong(ctx context.Context, s *step) error {
	for i, along := range s.along {
		a.emitStep(along, StepStarted{Step: along.info()})
		operation, before, _ := a.hooksOf(along)
		if operation == "" {
			continue
		}
		if err := a.runHooks(ctx, before, along.old, nil); err != nil {
			err = &StepError{Op: along.op, Resource: along.old, Err: err}
			a.emitStep(along, StepFailed{Step: along.info(), Error: err.Error()})
			a.failAlong(s.along[:i], along.old)
			return err
		}
	}
	return nil
}

// failAlong ends the steps that go along with a resource that stays.
func (a *applier) failAlong(steps []*step, with *state.Resource) {
	for _, along := range steps {
		a.emitStep(along, StepFailed{Step: along.info(), Error: "it stays as it is, since it goes with " + string(along.old.DeletedWith) +
			", and " + string(with.URN) + " was not deleted"})
	}
}

// endAlong ends the steps that went along with a step.
func (a *applier) endAlong(ctx context.Context, s *step) (err error) {
	for _, along := range s.along {
		if operation, _, after := a.hooksOf(along); operation != "" {
			if hookErr := a.runHooks(ctx, after, along.old, nil); hookErr != nil {
				a.diagnose("error", along.old.URN, "%v", hookErr)
				err = &StepError{Op: along.op, Resource: along.old, Err: hookErr}
			}
		}
		a.emitStep(along, StepDone{Step: along.info()})
	}
	return err
}
