package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/selection"
	"github.com/husk-dev/husk/engine/state"
)

// Selection narrows a deployment to some of the resources. The zero Selection is all
// of them.
//
// Unselected resources stay as they are: they are neither updated, replaced, deleted, nor refreshed, and new ones are not
// created. Providers and the stack itself are always registered, since nothing can be done without them; they are deleted only if
// they are selected.
type Selection struct {
	// Targets are the resources to work on.
	Targets []Pattern
	// TargetDependents adds what depends on the targets, directly or not.
	TargetDependents bool
	// Excludes are the resources to leave alone. There are no targets then. A
	// resource that is not deleted keeps all that it depends on.
	Excludes []Pattern
	// ExcludeDependents adds what depends on them, directly or not.
	ExcludeDependents bool
	// ExcludeProtected leaves protected resources alone, instead of failing on them
	// (Destroy only).
	ExcludeProtected bool
}

// NotSelectedError is a resource that cannot be created or deleted without another one that is not selected.
type NotSelectedError struct {
	// Resource is the one that was to be dealt with.
	Resource urn.URN
	// Needs would have to be created or, if Deleted, be deleted with Resource. If Circular, it exists, but
	// depends on Resource as it is recorded.
	Needs             urn.URN
	Deleted, Circular bool
	// Excluded says that the selection names what to leave alone, and not its targets.
	Excluded bool
	// Dependents says that the selection has dependents in it already.
	Dependents bool
}

// Error says how to change the selection.
func (e *NotSelectedError) Error() string {
	why, missing := "is not selected", "add it with --target"
	if e.Excluded {
		why, missing = "is excluded", fmt.Sprintf("do not exclude it, or exclude %s as well", e.Resource)
	}
	switch {
	case e.Circular:
		return fmt.Sprintf("%s now depends on %s, which depended on it so far and %s: %s", e.Resource, e.Needs, why, missing)
	case e.Deleted:
		if !e.Excluded && !e.Dependents {
			missing += ", or all that depend on the targets with --target-dependents"
		}
		return fmt.Sprintf("%s cannot be deleted: %s depends on it and %s: %s", e.Resource, e.Needs, why, missing)
	default:
		return fmt.Sprintf("%s depends on %s, which does not exist yet and %s: %s", e.Resource, e.Needs, why, missing)
	}
}

// Pattern is a URN with wildcards: * for text without a colon, ** for any text.
type Pattern string

// TargetNotFoundError says that the user named a resource that does not exist.
type TargetNotFoundError struct {
	// Option is the one that names it: target, exclude, or replace.
	Option  string
	Pattern Pattern
}

// Error names it.
func (e *TargetNotFoundError) Error() string {
	msg := fmt.Sprintf("--%s %s: there is no such resource: husk state ls lists those of the stack", e.Option, e.Pattern)
	if !strings.ContainsAny(string(e.Pattern), "*$") {
		msg += " (in a shell, a URN with $ in it needs single quotes)"
	}
	return msg
}

// newSelection returns the selection of a deployment among the recorded resources.
func newSelection(in settings, snapshot *state.Snapshot) (*selection.Selection, error) {
	var recorded []*state.Resource
	for _, res := range snapshot.Resources() {
		recorded = append(recorded, res)
	}
	s := selection.New(selection.Options{
		Targets: texts(in.Selection.Targets), Excludes: texts(in.Selection.Excludes), Replace: texts(in.Replace),
		TargetDependents: in.Selection.TargetDependents, ExcludeDependents: in.Selection.ExcludeDependents,
	}, recorded)
	return s, notFound(s.UnmatchedReplace())
}

// notFound returns an error for each pattern that matches no resource.
func notFound(patterns []selection.Unmatched) error {
	var errs []error
	for _, p := range patterns {
		errs = append(errs, &TargetNotFoundError{Option: p.Option, Pattern: Pattern(p.Pattern)})
	}
	return errors.Join(errs...)
}

// notSelected returns the error that the selection lacks a resource.
func (r *run) notSelected(e NotSelectedError) error {
	e.Excluded = r.selection.HasExcludes()
	e.Dependents = r.Selection.TargetDependents || r.Selection.ExcludeDependents
	return &e
}

// leaveUnselected decides a registration that is not selected, and reports whether it is one: a
// recorded resource stays as it is, and a new one is not created. The error is a
// [NotSelectedError] if a selected resource needs one that is not created.
func (g *generator) leaveUnselected(gl *goal, old *state.Resource) (steps []*step, left bool, err error) {
	s := g.selection
	if !s.IsNarrow() {
		return nil, false, nil
	}
	n := gl.state(gl.inputs)
	selected, needs := s.Selects(n, old), s.Missing(n)
	implied := providers.IsType(gl.typ) || gl.typ == urn.RootType
	switch {
	case selected && needs != "" && !implied:
		return nil, false, g.notSelected(NotSelectedError{Resource: gl.urn, Needs: needs})
	case needs == "" && (selected || implied):
		return nil, false, g.checkCircle(n)
	}
	if old != nil && old.PendingReplacement {
		old = nil // it was deleted, and its replacement is not made now
	}
	if old == nil {
		s.LeaveOut(n)
		return g.plan(n), true, nil
	}
	return g.keep(old, n), true, nil
}

// keep leaves a recorded resource as it is, and notes which of its dependencies are not registered yet.
func (g *generator) keep(old, declared *state.Resource) []*step {
	g.selection.Kept.Set(old.URN, true)
	graph.Walk(old, func(_ *state.Resource, needed urn.URN) *state.Resource {
		if g.registrations.IsRegistered(needed) || !g.selection.Awaited.Add(needed, true) {
			return nil
		}
		return g.recorder.Lookup(needed)
	})
	g.registrations.Declared.Set(declared.URN, declared)
	if old.Parent != declared.Parent {
		g.registrations.Elsewhere.Set(old.URN, declared)
	}
	return g.plan(old, &step{op: OpSame, old: old, new: clone(old)})
}

// useElsewhere has a goal that uses a component name the parts that are recorded with another parent, as they are left as they are.
func (g *generator) useElsewhere(gl *goal) {
	if g.registrations.Elsewhere.Len() == 0 {
		return
	}
	var moves []graph.Move
	for u, declared := range g.registrations.Elsewhere.Entries() {
		if old := g.recorder.Lookup(u); old != nil {
			there := clone(old)
			there.Parent = declared.Parent
			moves = append(moves, graph.Move{Before: there, After: old})
		}
	}
	if parting := graph.NewParting(g.recorder.Resources(), moves); parting != nil {
		n := parting.Keep(gl.state(gl.inputs))
		gl.deps, gl.propDep = n.Dependencies, n.PropertyDependencies
	}
}

// checkCircle refuses a resource that would come to depend on one that was left as it is and depends on it.
func (g *generator) checkCircle(n *state.Resource) error {
	if !g.selection.Awaited.Get(n.URN) {
		return nil
	}
	seen := make(map[urn.URN]bool)
	var by urn.URN
	graph.Walk(n, func(user *state.Resource, needed urn.URN) *state.Resource {
		if needed == n.URN {
			by = user.URN
		}
		if by != "" || seen[needed] {
			return nil
		}
		seen[needed] = true
		return g.recorder.Lookup(needed)
	})
	if by == "" {
		return nil
	}
	return g.notSelected(NotSelectedError{Resource: n.URN, Needs: by, Circular: true})
}

// leaveUnselectedComponent is leaveUnselected for a component that needs something that is not created.
func (g *generator) leaveUnselectedComponent(ctx context.Context, gl *goal) (left bool, err error) {
	n := gl.state(gl.inputs)
	needs := g.selection.Missing(n)
	if needs == "" {
		return false, nil
	}
	old, err := g.claim(ctx, gl)
	if err != nil {
		return false, err
	}
	if old != nil {
		return false, g.notSelected(NotSelectedError{Resource: gl.urn, Needs: needs})
	}
	g.selection.LeaveOut(n)
	g.plan(n)
	return true, nil
}

// leaveUnselectedRead decides a read that is not selected, or that needs a resource that is not created. A managed resource
// stays; a new read, which changes nothing, is made all the same.
func (g *generator) leaveUnselectedRead(gl *goal, old *state.Resource, id string) (steps []*step, left bool, err error) {
	s := g.selection
	if !s.IsNarrow() {
		return nil, false, nil
	}
	n := gl.state(gl.inputs)
	selected, absent := s.Selects(n, old), s.Missing(n) != "" || id == "" && !g.previews()
	if old != nil && old.PendingReplacement { // it was deleted, and nothing takes its place now
		absent, old = absent || !selected, nil
	}
	switch {
	case absent && old == nil:
		s.LeaveOut(n)
		return g.plan(n), true, nil
	case old != nil && (absent || !selected):
		return g.keep(old, n), true, nil
	}
	return nil, false, g.checkCircle(n)
}

// checkReplacedTogether refuses to replace a resource if one that is not selected would go with it.
func (g *generator) checkReplacedTogether(old *state.Resource) error {
	if !g.selection.IsNarrow() {
		return nil
	}
	for _, res := range g.recorder.Resources() {
		goes := res.DeletedWith == old.URN || slices.Contains(res.ReplaceWith, old.URN)
		if goes && !res.Delete && !res.PendingReplacement && !g.selection.Selects(res) {
			return g.notSelected(NotSelectedError{Resource: old.URN, Needs: res.URN, Deleted: true})
		}
	}
	return nil
}

// mayLackResources reports whether registered resources may be absent, so that what comes from them is unknown.
func (r *run) mayLackResources() bool { return r.selection.IsNarrow() || r.mayHaveUnknowns() }

// continuesAfter reports whether a preview continues after a failed registration, to report all that the
// selection lacks at once.
func (r *run) continuesAfter(err error) bool {
	_, missing := errors.AsType[*NotSelectedError](err)
	_, lacking := errors.AsType[*skippedError](err)
	return (missing || lacking) && r.previews()
}

// knownOutputs returns the outputs of the stack or a component. Those that are unknown, because they come from
// resources that do not exist, stay as they were.
func knownOutputs(old, outputs property.Map) property.Map {
	for k, v := range outputs.All() {
		if !v.ContainsUnknowns() {
			continue
		}
		outputs = outputs.Without(k)
		if before, ok := old.Lookup(k); ok {
			outputs = outputs.With(k, before)
		}
	}
	return outputs
}
