package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// deleteUnregistered deletes what the program did not register, and the old
// copies of what was replaced.
func (d *deployment) deleteUnregistered(ctx context.Context) error {
	going, stays, err := d.selectDeletions(func(res *state.Resource) bool {
		return res.Delete || !d.gen.registered(res.URN)
	})
	if err != nil {
		return err
	}
	d.suggestMoves(going)
	return d.deleteAll(ctx, going, stays)
}

// withheld returns the resources that a run with failures does not delete: those that
// failed or were skipped, and what depends on them, which the program may have left out
// for lack of them.
func (d *deployment) withheld() (map[urn.URN]bool, error) {
	kept := d.gen.failures()
	if len(kept) == 0 {
		return kept, nil
	}
	resources, err := state.Sort(d.recorder.resources())
	if err != nil {
		return nil, err
	}
	for _, res := range resources {
		dependsOn(res, func(u urn.URN) { kept[res.URN] = kept[res.URN] || kept[u] })
	}
	return kept, nil
}

// destroy deletes everything.
func (d *deployment) destroy(ctx context.Context) error {
	if !d.RunProgram {
		if err := d.chosen.complain(); err != nil {
			return err
		}
	}
	if d.RefreshFirst {
		if err := d.refreshAhead(ctx); err != nil {
			return err
		}
	}
	if d.RunProgram {
		d.mode = destroying
		if err := d.runProgram(ctx); err != nil {
			return err
		}
	}
	going, stays, err := d.selectDeletions(func(*state.Resource) bool { return true })
	if err == nil {
		err = d.deleteAll(ctx, going, stays)
	}
	return errors.Join(err, errors.Join(d.exec.failed()...))
}

// deleteAll deletes the recorded resources that the predicate picks, dependents
// before what they depend on. Failures are in the executor; resources in stays, those
// that are withheld, and those whose deletion failed, stay with all that they depend on.
func (d *deployment) deleteAll(ctx context.Context, condemn func(*state.Resource) bool, stays map[urn.URN]bool) (err error) {
	kept, err := d.withheld()
	if err != nil {
		return err
	}
	maps.Copy(kept, stays)
	resources := d.recorder.resources()
	if err := keepDependencies(resources, kept); err != nil {
		return err
	}
	var condemned []*state.Resource
	for _, res := range resources {
		if condemn(res) && !kept[res.URN] {
			condemned = append(condemned, res)
		}
	}
	if err := d.deletable(condemned); err != nil {
		return err
	}
	if err := d.plans.deletions(d, condemned); err != nil {
		return err
	}
	d.gen.condemn(condemned)
	ahead := &begunAhead{d: d}
	defer func() { err = errors.Join(err, ahead.end(ctx)) }()
	groups := antichains(condemned)
	for i, antichain := range groups {
		var chains [][]*step
		var steps []*step
		for _, res := range antichain {
			if kept[res.URN] {
				dependsOn(res, func(u urn.URN) { kept[u] = true })
				continue
			}
			s, err := d.deletionStep(ctx, res)
			if err != nil {
				return err
			}
			steps = append(steps, s)
			chains = append(chains, []*step{s})
		}
		var next []*state.Resource
		if i+1 < len(groups) {
			next = groups[i+1]
		}
		ahead.group(steps, next)
		d.exec.runAll(ctx, chains)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range steps {
			if s.failed {
				dependsOn(s.old, func(u urn.URN) { kept[u] = true })
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

// deletion is what becomes of a recorded resource that is no longer wanted.
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

// keepDependencies adds to kept all that its resources depend on.
func keepDependencies(resources []*state.Resource, kept map[urn.URN]bool) error {
	if len(kept) == 0 {
		return nil
	}
	sorted, err := state.Sort(resources)
	for _, res := range slices.Backward(sorted) {
		if kept[res.URN] {
			dependsOn(res, func(u urn.URN) { kept[u] = true })
		}
	}
	return err
}

// condemn notes what is about to be deleted, for those that are to go with it.
func (g *generator) condemn(resources []*state.Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, res := range resources {
		g.condemned[copyOf{res.URN, res.Delete}] = true
	}
}

// registered reports whether this run registered the recorded URN, under its own
// or a new name.
func (g *generator) registered(u urn.URN) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.claimed[u] || g.matched[u] != ""
}

// goesWith reports whether res needs no deletion of its own, because the
// resource that it is deleted with is deleted in this run.
func (g *generator) goesWith(res *state.Resource) bool {
	if res.DeletedWith == "" {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	with := res.DeletedWith
	return g.condemned[copyOf{with, false}] || g.ahead[with] != nil || (res.Delete && g.condemned[copyOf{with, true}])
}

// providersOf returns the providers that a registered resource hands down.
func (g *generator) providersOf(u urn.URN) map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.handed[u]
}
