package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/state"
)

// deleteUnregistered deletes what the program did not register, and the old
// copies of what was replaced.
func (d *deployment) deleteUnregistered(ctx context.Context) error {
	going, err := d.planDeletions(func(res *state.Resource) bool {
		return res.Delete || !d.registrations.isRegistered(res.URN)
	})
	if err != nil {
		return err
	}
	d.suggestMoves(going)
	return d.deleteAll(ctx, going)
}

// destroy deletes everything.
func (d *deployment) destroy(ctx context.Context) error {
	if !d.RunProgram {
		if err := notFound(d.selection.Unmatched()); err != nil {
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
	going, err := d.planDeletions(func(*state.Resource) bool { return true })
	if err == nil {
		err = d.deleteAll(ctx, going)
	}
	return errors.Join(err, errors.Join(d.failures.all()...))
}

// planDeletions returns which of the unwanted resources are deleted, in the order of their
// creation. What stays keeps all that it may use: what is wanted, what is not selected, and what
// failed or was skipped, with all that depends on it, since the program may have left that out
// for lack of it. The error is a [NotSelectedError] for each target that cannot be deleted.
func (d *deployment) planDeletions(unwanted func(*state.Resource) bool) ([]*state.Resource, error) {
	resources := d.recorder.Resources()
	if !slices.ContainsFunc(resources, unwanted) {
		return nil, nil
	}
	selected := d.selection.Among(resources)
	c := graph.NewCopies(resources)
	kept, withheld := make([]bool, len(resources)), make([]bool, len(resources))
	if failed := d.registrations.failed.Entries(); len(failed) > 0 {
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
			d.emit(Diagnostic{Severity: "info", URN: needed.URN, Message: fmt.Sprintf(
				"the replaced copy stays for now: %s may use it, and is not selected", user.URN)})
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

// deleteAll deletes resources, dependents before what they depend on. Failures are in the
// executor; what a deletion that failed may need stays.
func (d *deployment) deleteAll(ctx context.Context, going []*state.Resource) (err error) {
	if err := d.deletable(going); err != nil {
		return err
	}
	if err := d.planning.deletions(d, going); err != nil {
		return err
	}
	for _, res := range going {
		d.registrations.pendingDelete.Set(res, true)
	}
	c := graph.NewCopies(going)
	kept := make([]bool, len(going))
	keep := func(i int) { c.Used(i, graph.AnyCopy, func(at int) { kept[at] = true }) }
	ahead := &begunAhead{d: d}
	defer func() { err = errors.Join(err, ahead.end(ctx)) }()
	groups := graph.Antichains(c)
	d.shareObjects(going, groups)
	for i, antichain := range groups {
		var chains [][]*step
		var steps []*step
		taken := make(map[*step]int, len(antichain))
		for _, at := range antichain {
			if kept[at] {
				keep(at)
				continue
			}
			s, err := d.deletionStep(ctx, going[at])
			if err != nil {
				return err
			}
			taken[s] = at
			steps = append(steps, s)
			chains = append(chains, []*step{s})
		}
		var next []*state.Resource
		if i+1 < len(groups) {
			for _, at := range groups[i+1] {
				next = append(next, going[at])
			}
		}
		ahead.group(steps, next)
		d.exec.runAll(ctx, chains)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range steps {
			if s.failed {
				keep(taken[s])
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

// goesWith reports whether res needs no deletion of its own, because the resource that it is
// deleted with is deleted in this run: each copy of that which it may mean. Those that were
// made after res was last changed it does not mean.
func (r *runState) goesWith(res *state.Resource) bool {
	if res.DeletedWith == "" {
		return false
	}
	owned := false
	for _, owner := range r.recorder.CopiesOf(res.DeletedWith) {
		if res.Delete && owner.Created.After(res.Created) && owner.Created.After(res.Modified) {
			continue
		}
		if !r.registrations.isPendingDelete(owner) {
			return false
		}
		owned = true
	}
	return owned
}
