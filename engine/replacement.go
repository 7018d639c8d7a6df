package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// replace decides how a resource is replaced. Its inputs are checked without the old ones, so that generated defaults are not used
// twice; kept are the inputs with the generated defaults that it has. The old copy is deleted when the program has ended or, if
// both cannot exist at once, before the new one is made, with everything that must go with it.
func (g *generator) replace(ctx context.Context, gl *goal, provider abi.Provider, old *state.Resource, inputs, kept property.Map, df diff) ([]*step, error) {
	if gl.protected() { // a program may end the protection with the very change that needs it
		if err := g.checkReplaceable(old, "its change of "+strings.Join(df.replaceKeys(), ", ")+" needs a replacement"); err != nil {
			return nil, err
		}
	}
	if err := g.checkReplacedTogether(old); err != nil {
		return nil, err
	}
	checked, err := g.check(ctx, gl, provider, nil, inputs)
	if err != nil {
		return nil, err
	}
	checked, corrections, err := g.remediate(ctx, gl, provider, nil, checked)
	if err != nil {
		return nil, err
	}
	n := gl.state(checked)
	n.ImportID = gl.options.ImportID // an imported resource is replaced, not imported again
	if err := g.analyze(ctx, n, "", corrections); err != nil {
		return nil, err
	}
	deleteFirst := df.deleteBeforeReplace
	if deleteFirst && !checked.Equal(kept) { // which may have a name of its own now
		if resp, err := provider.Diff(ctx, diffRequest(old, checked, n.IgnoreChanges)); err == nil {
			deleteFirst = resp.DeleteBeforeReplace
		}
	}
	if o := gl.options.DeleteBeforeReplace; o != nil {
		deleteFirst = *o
	}
	df.deleteBeforeReplace = deleteFirst
	if !deleteFirst {
		return g.plan(n, &step{op: OpCreateReplacement, old: old, new: n, provider: provider, diff: df}), nil
	}
	g.registrations.Goals.Set(n.URN, n) // whose options count
	steps, err := g.deleteEarly(ctx, old)
	if err != nil {
		return nil, err
	}
	steps = append(steps, &step{op: OpCreateReplacement, old: old, new: n, provider: provider, diff: df})
	return g.plan(n, steps...), nil
}

// checkReplaceable returns why a resource may not be replaced, if it is protected.
func (g *generator) checkReplaceable(old *state.Resource, why string) error {
	if !old.Protect || old.External || g.IgnoreProtect {
		return nil
	}
	return fmt.Errorf("the resource is protected, but %s: "+
		"set its protect option to false and run husk up, or undo the change", why)
}

// deleteEarly plans the deletion of a resource, and of the dependents that cannot live without it, before
// its replacement is made.
func (g *generator) deleteEarly(ctx context.Context, root *state.Resource) ([]*step, error) {
	g.claiming.Lock()
	defer g.claiming.Unlock()
	all := graph.NewCopies(g.recorder.Resources())
	going, err := g.dependentReplacements(ctx, all, root)
	if err != nil {
		return nil, err
	}
	if err := g.checkDeleteHooks(going); err != nil {
		return nil, err
	}
	copies := g.oldCopiesWith(going)
	with := slices.Concat(going, copies)
	done := make(chan struct{})
	for _, res := range going {
		g.registrations.DeletedEarly.Set(res.URN, done)
	}
	over := g.noteDeletion(with...) // also of entries that wait for their replacements by then
	finished := func() {
		over()
		close(done)
	}
	c, takes := g.takeAlong(all.Among(with), with, true)
	takenBy := reversed(takes)
	order := graph.Antichains(c)
	for i, group := range order { // the steps of old copies are later
		order[i] = slices.DeleteFunc(group, func(at int) bool { return at >= len(going) })
	}
	var steps []*step
	for _, group := range g.shareObjects(with, order) {
		for _, at := range slices.Backward(group) {
			res := with[at]
			if takenBy[res] != nil {
				continue
			}
			provider, err := g.deletionProvider(ctx, g.providerChoice, res)
			if err != nil {
				finished()
				return nil, err
			}
			s := &step{op: OpDeleteReplaced, old: res, provider: provider, replacing: true}
			for _, taken := range takes[res] {
				if taken.Delete {
					s.oldAlong = append(s.oldAlong, taken)
				} else {
					s.along = append(s.along, &step{op: OpDeleteReplaced, old: taken, replacing: true})
				}
			}
			steps = append(steps, s)
		}
	}
	steps[0].finished = finished
	return steps, nil
}

// oldCopiesWith returns the old copies of resources that are deleted with one of those in going, whose objects
// vanish with it.
func (g *generator) oldCopiesWith(going []*state.Resource) (copies []*state.Resource) {
	gone := make(map[urn.URN]bool)
	for _, res := range going {
		gone[res.URN] = true
	}
	for _, res := range g.recorder.Resources() {
		if res.Delete && gone[res.DeletedWith] {
			gone[res.URN] = true
			copies = append(copies, res)
		}
	}
	return copies
}

// dependentReplacements returns root and, in dependency order, the resources that its deletion takes along:
// those not yet registered that a change of their inputs from a deleted resource would replace. Their providers decide that, with
// unknowns for those inputs. Resources of an old copy go, too, if its object vanishes with one of these. Resources that failed or were
// left as they are cannot be taken along.
func (g *generator) dependentReplacements(ctx context.Context, all *graph.Copies, root *state.Resource) ([]*state.Resource, error) {
	going := []*state.Resource{root}
	gone := map[urn.URN]bool{root.URN: true}
	copies := make(map[urn.URN]bool) // old copies that go
	for _, res := range all.DependenciesFirst() {
		ofCopy := copies[res.DeletedWith] && g.isOfOldCopy(res, res.DeletedWith)
		if res.Delete && !res.PendingReplacement && (gone[res.DeletedWith] || ofCopy) {
			copies[res.URN] = true
		}
		failed, left := g.registrations.HasFailed(res.URN), g.selection.IsLeft(res.URN)
		if res.Delete || res.PendingReplacement || !res.Custom || res.External || gone[res.URN] ||
			g.registrations.IsRegistered(res.URN) && !failed && !left { // it has its new state
			continue
		}
		must, err := g.mustReplaceWith(ctx, all, res, gone)
		if err != nil {
			return nil, err
		}
		if !must && !ofCopy {
			continue
		}
		if failed {
			return nil, &skippedError{dependency: res.URN}
		}
		if left || !g.selection.Selects(res) {
			return nil, g.notSelected(NotSelectedError{Resource: root.URN, Needs: res.URN, Deleted: true})
		}
		if res.Protect && !g.IgnoreProtect {
			return nil, fmt.Errorf("%s must be deleted before its replacement is made, and %s with it, which is protected: "+
				"set its protect option to false and run husk up first", root.URN, res.URN)
		}
		gone[res.URN] = true
		going = append(going, res)
	}
	return going, nil
}

// mustReplaceWith reports whether a resource must be replaced when the resources in gone are.
func (g *generator) mustReplaceWith(ctx context.Context, all *graph.Copies, res *state.Resource, gone map[urn.URN]bool) (bool, error) {
	if ref, _, err := providers.SplitReference(res.Provider); err == nil && gone[ref] {
		return true, nil
	}
	if gone[res.DeletedWith] || slices.ContainsFunc(res.ReplaceWith, func(u urn.URN) bool { return gone[u] }) {
		return true, nil
	}
	var affected []string
	for key, deps := range res.PropertyDependencies {
		if slices.ContainsFunc(deps, func(u urn.URN) bool { return all.IsAffected(res, u, gone) }) && res.Inputs.Has(key) {
			affected = append(affected, key)
		}
	}
	if len(affected) == 0 {
		return false, nil
	}
	df, err := g.askRecorded(ctx, res, affected)
	return g.replaceOnChanges(res, res.ReplaceOnChanges, df).replace, err
}

// askRecorded compares a resource that this run has not registered with the same in which some inputs are not known.
// A provider resource is compared as it is recorded. One that another version of its provider recorded is compared
// as it is now; its registration records that.
func (g *generator) askRecorded(ctx context.Context, res *state.Resource, unknown []string) (diff, error) {
	compared := func(m property.Map) property.Map {
		return g.keepIgnored(res.URN, res.IgnoreChanges, m, withUnknown(m, unknown))
	}
	if !providers.IsType(res.Type) {
		provider, err := g.providerOf(ctx, res)
		if err != nil {
			return diff{}, err
		}
		df, err := g.askProvider(ctx, provider, res, compared(res.Inputs), res.IgnoreChanges)
		if !errors.Is(err, errOutdated) {
			return df, err
		}
		now := clone(res)
		resp, _, err := readObject(ctx, provider, now, res.ID, &res.Outputs, &res.Inputs)
		if err != nil || resp.ID == "" { // there is nothing to replace
			return diff{}, err
		}
		adopt(now, resp)
		return g.askProvider(ctx, provider, now, compared(now.Inputs), res.IgnoreChanges)
	}
	inputs := compared(res.Inputs)
	l, err := g.registry.lookup(ctx, res.Reference())
	if err != nil {
		return diff{}, err
	}
	resp, err := diffConfig(ctx, l.loaded, diffRequest(res, inputs, nil))
	return diffOf(resp, res.Inputs, inputs), err
}

// withUnknown returns a map in which the properties with these keys are not known, as far as it has them.
func withUnknown(m property.Map, keys []string) property.Map {
	for _, key := range keys {
		if m.Has(key) {
			m = m.With(key, property.Unknown)
		}
	}
	return m
}
