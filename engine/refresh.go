package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// refresh reads every custom resource. If the program runs, it reads first what that registers, by the
// providers as the program configures them.
func (d *deployment) refresh(ctx context.Context) error {
	err := d.pending.adoptNamed(ctx)
	switch {
	case err != nil:
	case d.RunProgram:
		d.mode = refreshing
		err = d.runProgram(ctx)
	default:
		err = notFound(d.selection.Unmatched())
	}
	if err == nil {
		err = d.readAll(ctx, func(res *state.Resource) bool {
			return res.Delete || !d.registrations.IsRegistered(res.URN) || d.registrations.Displaced.Get(res.URN)
		})
	}
	return errors.Join(err, d.forgetGone(ctx))
}

// refreshFirst reads resources before a program or destruction: all, or those whose provider asked for it.
func (d *deployment) refreshFirst(ctx context.Context) error {
	err := d.readAll(ctx, func(res *state.Resource) bool {
		return d.RefreshFirst || res.RefreshBeforeUpdate && !res.Delete
	})
	return errors.Join(err, d.forgetGone(ctx))
}

// readAll reads the selected custom resources that the predicate picks.
func (d *deployment) readAll(ctx context.Context, pick func(*state.Resource) bool) error {
	before := len(d.failures.all())
	selected := d.selection.Among(d.recorder.Resources())
	var chains [][]*step
	for _, res := range d.recorder.Resources() {
		if !readable(res) || !pick(res) || !selected(res) {
			continue
		}
		provider, err := d.providerOf(ctx, res)
		if err != nil {
			return fmt.Errorf("refresh %s: %w", res.URN, err)
		}
		chains = append(chains, []*step{{op: OpRefresh, old: res, provider: provider}})
		if !res.Delete {
			d.registrations.ReadFirst.Set(res.URN, true)
		}
	}
	d.exec.runAll(ctx, chains)
	return errors.Join(errors.Join(d.failures.all()[before:]...), ctx.Err())
}

// needsRead reports whether a registered resource is read before it is changed: an earlier run was cut off with
// it, or all selected resources are read and only the program shows that it is selected.
func (d *deployment) needsRead(old *state.Resource) bool {
	if d.registrations.ChangedAsAnother.Get(old.URN) {
		return false
	}
	return d.recorder.IsUnsure(old.URN) || d.RefreshFirst && d.selection.IsNarrow() && readable(old) && !d.registrations.ReadFirst.Get(old.URN)
}

// noteChanged notes that this run has changed objects. Another resource that is one of them is not read any more: that would find what
// the run made of the object, which a preview cannot foresee. If an earlier run was cut off with it, the next run reads it, unless this
// run updates it.
func (a *applier) noteChanged(changed ...*state.Resource) {
	if !a.recorder.AnyUnsure() && !(a.RefreshFirst && a.selection.IsNarrow()) {
		return // nothing is read at its registration
	}
	for _, res := range changed {
		if res == nil {
			continue
		}
		for _, other := range a.recorder.Claiming(res) {
			if other.URN != res.URN && !other.Delete && a.sameObject(res, other) {
				a.registrations.ChangedAsAnother.Set(other.URN, true)
			}
		}
	}
}

func (a *applier) applyRefresh(ctx context.Context, s *step) error {
	o := s.old
	if o.Delete {
		return a.refreshCopy(ctx, s)
	}
	n := clone(o)
	n.InitErrors = nil
	resp, unhealthy, err := readObject(ctx, s.provider, n, o.ID, &o.Outputs, &o.Inputs)
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		// If it does not know whether the object exists, another version of the provider may tell.
		if _, exists := errors.AsType[*unreadError](err); exists {
			a.recorder.NoteRead(o.URN)
		}
		s.result = OpSame
		return nil
	case unhealthy != nil:
		a.warn(o.URN, "the resource exists, but is not healthy: %v", unhealthy)
	case err != nil:
		return err
	}
	a.recorder.NoteRead(o.URN)
	if resp.ID == "" {
		s.result = OpDelete
		a.registrations.Vanished.Set(o.URN, true)
		return nil
	}
	adopt(n, resp)
	s.result = OpSame
	asked := o.RefreshBeforeUpdate == n.RefreshBeforeUpdate
	if o.ID == n.ID && asked && !durablyDifferent(o, n) && len(o.InitErrors) == len(n.InitErrors) {
		return nil
	}
	s.new = n
	if s.diff, err = a.refreshDiff(ctx, s, resp.Inputs != nil); err != nil {
		return err
	}
	if len(s.diff.detailed) > 0 {
		s.result = OpUpdate
	}
	if (!o.Inputs.Equal(n.Inputs) || !o.Outputs.Equal(n.Outputs)) && !a.meansEarlier(o) {
		n.Modified = a.began // what this run makes meanwhile is later
	}
	return a.recorder.Record(ctx, record.Replace(o, n))
}

// refreshCopy finds out whether the object of an old copy is gone. Nothing else of it matters, and nobody waits for it.
func (a *applier) refreshCopy(ctx context.Context, s *step) error {
	s.result = OpSame
	gone, err := a.isGone(ctx, s)
	switch {
	case gone:
		s.result = OpDelete
		if entry, ok := a.recorder.Entry(s.old); ok {
			a.registrations.VanishedCopies.Set(entry, true)
		}
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil && !errors.Is(err, abi.ErrUnimplemented):
		a.warn(s.old.URN, "the replaced copy %q cannot be read, so it stays until it is deleted: %v", s.old.ID, err)
	}
	return nil
}

// isGone reports whether the provider says of the object that a step deletes or reads that it is gone.
func (a *applier) isGone(ctx context.Context, s *step) (bool, error) {
	o := s.old
	resp, _, err := readObject(ctx, s.provider, clone(o), o.ID, &o.Outputs, &o.Inputs)
	return err == nil && resp.ID == "", err
}

// refreshDiff returns the inverse of the difference that an update of an unchanged program would find. It
// compares outputs if the stack does not own the resource, or its provider returned no inputs.
func (a *applier) refreshDiff(ctx context.Context, s *step, hasInputs bool) (diff, error) {
	if s.old.External || !hasInputs {
		return diff{detailed: stateDiff(s.old.Outputs, s.new.Outputs), ofState: true}, nil
	}
	df, err := a.gen.askProvider(ctx, s.provider, s.new, s.old.Inputs, s.old.IgnoreChanges)
	if err != nil {
		return diff{}, err
	}
	inverse := diff{ofState: true}
	for _, p := range df.detailed {
		p.Kind = diffKinds[p.Kind].inverse
		inverse.detailed = append(inverse.detailed, p)
	}
	return inverse, nil
}

func stateDiff(old, new property.Map) []abi.PropertyDiff {
	out := inputDiff(old, new)
	for i := range out {
		out[i].InputDiff = false
	}
	return out
}

// forgetGone removes the resources that a refresh did not find, with all mentions of them. Their children move
// to the nearest ancestor that is left.
func (d *deployment) forgetGone(ctx context.Context) error {
	vanished, copies := d.registrations.Vanished.Take(), d.registrations.VanishedCopies.Take()
	if len(vanished)+len(copies) == 0 {
		return nil
	}
	var c record.Change
	exists, parents, gone := make(map[urn.URN]bool), make(map[urn.URN]urn.URN), make(map[urn.URN]*state.Resource)
	var left []*state.Resource
	for _, res := range d.recorder.Resources() {
		parents[res.URN] = res.Parent
		if entry, ok := d.recorder.Entry(res); ok && copies[entry] {
			c.Removed = append(c.Removed, res)
			continue
		}
		if !res.Delete && vanished[res.URN] {
			c.Removed = append(c.Removed, res)
			gone[res.URN] = res
			continue
		}
		exists[res.URN] = true
		left = append(left, res)
	}
	for _, res := range left {
		// An old copy of a missing resource is meant by other old copies, and by resources that were last changed before its
		// successor was made.
		means := func(u urn.URN) bool { return exists[u] && (res.Delete || gone[u] == nil || isLater(gone[u], res)) }
		n := res.MapURNs(func(m state.Mention) urn.URN {
			if means(m.URN) || !m.Role.Needed() {
				return m.URN
			}
			return ""
		})
		if n == res {
			continue
		}
		for n.Parent = res.Parent; n.Parent != "" && !means(n.Parent); {
			n.Parent = parents[n.Parent]
		}
		c.Replaced = append(c.Replaced, record.Replacement{Old: res, New: n})
	}
	return d.recorder.Record(ctx, c)
}

// planUnchanged decides the steps for a registration that changes nothing: the recorded resource is read or
// left alone, and one that is not recorded has no steps.
func (g *generator) planUnchanged(ctx context.Context, gl *goal, old *state.Resource) ([]*step, error) {
	n := gl.state(gl.inputs)
	if old == nil || old.PendingReplacement || old.Custom != gl.custom {
		if old != nil {
			g.registrations.Displaced.Set(old.URN, true)
		}
		return g.plan(n), nil
	}
	g.registrations.Declared.Set(n.URN, n)
	if g.mode != refreshing || !old.Custom || providers.IsType(gl.typ) || !g.selection.Selects(old) {
		return g.plan(old, &step{old: old}), nil
	}
	provider, err := g.reader(ctx, gl, old)
	return g.plan(old, &step{op: OpRefresh, old: old, provider: provider}), err
}

// reader returns the provider that reads a recorded resource: its own, if possible as the program configures it
// now. Another provider would not find the object, which would be taken to be gone.
func (c *providerChoice) reader(ctx context.Context, gl *goal, old *state.Resource) (abi.Provider, error) {
	if gl.by.provider == old.Provider {
		provider, err := c.resolveProvider(ctx, gl.by)
		if _, not := provider.(providers.Unconfigured); !not && err == nil {
			return provider, nil
		}
	}
	return c.providerOf(ctx, old)
}

// isConfigurable reports whether the goal is a provider that can be configured in a run that changes nothing
// else: all that it takes is known and exists.
func (g *generator) isConfigurable(gl *goal) bool {
	return providers.IsType(gl.typ) && !gl.inputs.ContainsUnknowns() && g.needsRecorded(gl)
}

// needsRecorded reports whether all that the goal names is recorded.
func (g *generator) needsRecorded(gl *goal) bool {
	for u := range gl.needs {
		if g.recorder.Lookup(u) == nil {
			return false
		}
	}
	return true
}
