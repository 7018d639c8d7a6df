package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// generator decides which steps drive a resource from its recorded state to
// the goal that the program registered.
//
// Registrations claim their URN in the order of their arrival and are decided
// under one lock. Calls to providers are made outside of it, so that checks and
// differences of independent resources run in parallel; only the planning of a
// delete-before-replace, which looks at other resources, holds it throughout.
type generator struct {
	d *deployment

	mu sync.Mutex
	// claimed holds the URNs registered in this run, with the recorded resource
	// that each found.
	claimed map[urn.URN]bool
	// matched maps recorded URNs to the registered ones that took them over.
	matched map[urn.URN]urn.URN
	// ahead holds the URNs deleted ahead of a replacement in this run. Its
	// channels are closed when that is done.
	ahead map[urn.URN]chan struct{}
	// goals holds the states that registrations aim at, for providers and parents.
	goals map[urn.URN]*state.Resource
	// handed holds the providers that registered resources hand down, by package.
	handed map[urn.URN]map[string]string
	// replaced holds the URNs replaced in this run.
	replaced map[urn.URN]bool
	// condemned holds the URNs that are deleted after the program has ended.
	condemned map[urn.URN]bool
}

func newGenerator(d *deployment) *generator {
	return &generator{
		d: d, claimed: make(map[urn.URN]bool), matched: make(map[urn.URN]urn.URN),
		ahead: make(map[urn.URN]chan struct{}), goals: make(map[urn.URN]*state.Resource),
		handed:   make(map[urn.URN]map[string]string),
		replaced: make(map[urn.URN]bool), condemned: make(map[urn.URN]bool),
	}
}

// claim reserves the goal's URN and finds the recorded resource that it is,
// under its own name or an earlier one.
func (g *generator) claim(gl *goal) (old *state.Resource, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.claimed[gl.urn] {
		return nil, fmt.Errorf("resource %q of type %s is registered twice: give one of the two another name", gl.name, gl.typ)
	}
	if by, ok := g.matched[gl.urn]; ok {
		return nil, fmt.Errorf("the recorded resource %s is claimed by %s through an alias: remove the alias or rename this resource", gl.urn, by)
	}
	if gl.parent != "" && !g.claimed[gl.parent] {
		return nil, fmt.Errorf("parent %s is not registered: register it first", gl.parent)
	}
	for _, dep := range gl.deps {
		if !g.claimed[dep] {
			return nil, fmt.Errorf("dependency %s is not registered in this program", dep)
		}
	}
	g.claimed[gl.urn] = true
	if len(gl.options.Providers) > 0 {
		handed := make(map[string]string, len(gl.options.Providers))
		for _, p := range gl.options.Providers {
			handed[p.Package] = p.Reference
		}
		g.handed[gl.urn] = handed
	}
	if old = g.d.recorder.lookup(gl.urn); old != nil {
		return old, nil
	}
	for _, alias := range aliases(gl, g.d.Stack, g.d.Project) {
		found := g.d.recorder.lookup(alias)
		switch {
		case found == nil:
			continue
		case g.claimed[alias]:
			return nil, fmt.Errorf("alias %s names a resource that is registered as well: remove the alias", alias)
		case g.matched[alias] != "":
			return nil, fmt.Errorf("alias %s is claimed by %s too: an alias can name only one resource", alias, g.matched[alias])
		case old != nil && old != found:
			return nil, fmt.Errorf("the aliases match two recorded resources, %s and %s: remove one", old.URN, found.URN)
		}
		old = found
	}
	if old != nil {
		g.matched[old.URN] = gl.urn
	}
	return old, nil
}

// aliases returns the earlier URNs that the goal names.
func aliases(gl *goal, stack, project string) []urn.URN {
	var out []urn.URN
	for _, a := range gl.options.Aliases {
		if a.Case == abi.AliasCaseURN {
			out = append(out, a.URN)
			continue
		}
		s := a.Spec
		parent := gl.parent
		switch {
		case s.NoParent:
			parent = ""
		case s.ParentURN != "":
			parent = s.ParentURN
		}
		out = append(out, urn.New(or(s.Stack, stack), or(s.Project, project), parent, or(s.Type, gl.typ), or(s.Name, gl.name)))
	}
	return out
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// awaitDeletionAhead waits until a resource that this run deletes ahead of
// another's replacement is gone, and returns how it is recorded then.
func (g *generator) awaitDeletionAhead(ctx context.Context, old *state.Resource) (*state.Resource, error) {
	if old == nil {
		return nil, nil
	}
	g.mu.Lock()
	done := g.ahead[old.URN]
	g.mu.Unlock()
	if done == nil {
		return old, nil
	}
	select {
	case <-done:
		return g.d.recorder.lookup(old.URN), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// register decides the steps for a goal.
func (g *generator) register(ctx context.Context, gl *goal) ([]*step, error) {
	old, err := g.claim(gl)
	if err != nil {
		return nil, err
	}
	if old, err = g.awaitDeletionAhead(ctx, old); err != nil {
		return nil, err
	}
	var provider abi.Provider
	if gl.custom {
		if provider, err = g.d.providerFor(ctx, gl.typ, gl.by); err != nil {
			return nil, err
		}
	}
	if id := gl.options.ImportID; id != "" && (old == nil || old.External || (old.ID != id && old.ImportID != id)) {
		return g.planImport(gl, old, provider)
	}
	recreating := old != nil && old.PendingReplacement // deleted in this run, or in one that was cut off
	known := old != nil && !recreating && !old.External

	inputs := gl.inputs
	var oldInputs *property.Map
	if known {
		oldInputs = &old.Inputs
		inputs = g.keepIgnored(gl, old.Inputs, inputs)
	}
	checked, err := g.check(ctx, gl, provider, oldInputs, inputs)
	if err != nil {
		return nil, err
	}
	n := gl.state(checked)
	switch {
	case old == nil:
		return g.plan(n, &step{op: OpCreate, new: n, provider: provider}), nil
	case !known:
		return g.plan(n, &step{op: OpCreateReplacement, old: old, new: n, provider: provider}), nil
	}

	df, err := g.diff(ctx, gl, provider, old, n)
	if err != nil {
		return nil, err
	}
	if df.replace {
		return g.replace(ctx, gl, provider, old, inputs, df)
	}
	if df.some() || len(old.InitErrors) > 0 {
		if !df.some() {
			df.reason = "its last creation or update did not finish well"
		}
		return g.plan(n, &step{op: OpUpdate, old: old, new: n, provider: provider, diff: df}), nil
	}
	return g.plan(n, &step{op: OpSame, old: old, new: n, provider: provider}), nil
}

// plan notes the state that is aimed at.
func (g *generator) plan(n *state.Resource, steps ...*step) []*step {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goals[n.URN] = n
	return steps
}

// goalOf returns the state that a registration of this run aims at.
func (g *generator) goalOf(u urn.URN) *state.Resource {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.goals[u]
}

// keepIgnored gives each ignored property the value that it had.
func (g *generator) keepIgnored(gl *goal, old, new property.Map) property.Map {
	value := property.Object(new)
	for _, text := range gl.options.IgnoreChanges {
		path, err := property.ParsePath(text)
		if err != nil {
			g.d.warn(gl.urn, "ignoreChanges: %v", err)
			continue
		}
		kept, ok := path.Copy(property.Object(old), value)
		if !ok {
			g.d.emit(Diagnostic{Severity: "info", URN: gl.urn, Message: "ignoreChanges: the old and the new inputs do not both have a place for " + text})
			continue
		}
		value = kept
	}
	out, _ := value.AsObject()
	return out
}

// check validates inputs and applies the provider's defaults. Components have
// nothing to check.
func (g *generator) check(ctx context.Context, gl *goal, provider abi.Provider, olds *property.Map, news property.Map) (property.Map, error) {
	if !gl.custom {
		return news, nil
	}
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	resp, err := provider.Check(ctx, abi.CheckRequest{
		URN: gl.urn, Name: gl.name, Type: gl.typ, Olds: olds, News: news, RandomSeed: seed,
	})
	if errors.Is(err, abi.ErrUnimplemented) {
		return news, nil
	}
	if err != nil {
		return property.Map{}, err
	}
	if err := checkFailures(resp.Failures); err != nil {
		return property.Map{}, err
	}
	return resp.Inputs, nil
}

// checkFailures turns refused inputs into one error for each.
func checkFailures(failures []abi.CheckFailure) error {
	var errs []error
	for _, f := range failures {
		e := abi.NewError(abi.ErrorKindInvalidArgument, f.Reason)
		e.Path = f.Path
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// replace decides how a resource is replaced: its inputs are checked anew,
// without the old ones, so that generated defaults are not used twice; then the
// new copy is made and the old one deleted when the program has ended, or, where
// both cannot exist at once, the old one is deleted first, after everything that
// must go with it.
func (g *generator) replace(ctx context.Context, gl *goal, provider abi.Provider, old *state.Resource, inputs property.Map, df diff) ([]*step, error) {
	if old.Protect && !old.External {
		return nil, fmt.Errorf("the resource is protected, but its change of %s needs a replacement: "+
			"set its protect option to false and run husk up, or undo the change", strings.Join(df.replaceKeys(), ", "))
	}
	checked, err := g.check(ctx, gl, provider, nil, inputs)
	if err != nil {
		return nil, err
	}
	n := gl.state(checked)
	deleteFirst := df.deleteBeforeReplace
	if o := gl.options.DeleteBeforeReplace; o != nil {
		deleteFirst = *o
	}
	df.deleteBeforeReplace = deleteFirst
	g.mu.Lock()
	g.replaced[n.URN] = true
	g.mu.Unlock()
	if !deleteFirst {
		return g.plan(n, &step{op: OpCreateReplacement, old: old, new: n, provider: provider, diff: df}), nil
	}
	steps, err := g.deleteAhead(ctx, old)
	if err != nil {
		return nil, err
	}
	steps = append(steps, &step{op: OpCreateReplacement, old: old, new: n, provider: provider, diff: df})
	return g.plan(n, steps...), nil
}

// deleteAhead plans the deletion of a resource, and of those dependents that
// cannot live on without it, before its replacement is made.
func (g *generator) deleteAhead(ctx context.Context, root *state.Resource) ([]*step, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	going, err := g.dependentReplacements(ctx, root)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	var steps []*step
	for _, res := range slices.Backward(going) {
		provider, err := g.d.deletionProvider(ctx, res)
		if err != nil {
			return nil, err
		}
		g.ahead[res.URN] = done
		steps = append(steps, &step{op: OpDeleteReplaced, old: res, provider: provider, replacing: true})
	}
	steps[0].finished = done
	return steps, nil
}

// dependentReplacements returns root and, in dependency order, the resources
// that its deletion takes along: those not yet registered in this run for which
// a change of what they take from a deleted resource means replacement. That is
// asked of their providers, with unknowns in place of those inputs.
func (g *generator) dependentReplacements(ctx context.Context, root *state.Resource) ([]*state.Resource, error) {
	going := []*state.Resource{root}
	gone := map[urn.URN]bool{root.URN: true}
	resources, err := state.Sort(g.d.recorder.resources())
	if err != nil {
		return nil, err
	}
	for _, res := range resources {
		if res.Delete || res.PendingReplacement || !res.Custom || res.External || gone[res.URN] || g.claimed[res.URN] || g.matched[res.URN] != "" {
			continue
		}
		must, err := g.mustGo(ctx, res, gone)
		if err != nil {
			return nil, err
		}
		if !must {
			continue
		}
		if res.Protect {
			return nil, fmt.Errorf("%s must be deleted before its replacement is made, and %s with it, which is protected: "+
				"set its protect option to false and run husk up first", root.URN, res.URN)
		}
		gone[res.URN] = true
		going = append(going, res)
	}
	return going, nil
}

// mustGo reports whether a resource must be replaced when the resources in gone are.
func (g *generator) mustGo(ctx context.Context, res *state.Resource, gone map[urn.URN]bool) (bool, error) {
	if ref, _, err := splitReference(res.Provider); err == nil && gone[ref] {
		return true, nil
	}
	if res.DeletedWith != "" && gone[res.DeletedWith] {
		return true, nil
	}
	inputs, affected := res.Inputs, false
	for key, deps := range res.PropertyDependencies {
		if slices.ContainsFunc(deps, func(u urn.URN) bool { return gone[u] }) && inputs.Has(key) {
			inputs, affected = inputs.With(key, property.Unknown), true
		}
	}
	if !affected {
		return false, nil
	}
	provider, err := g.d.providerOf(ctx, res)
	if err != nil {
		return false, err
	}
	df, err := g.askProvider(ctx, provider, res, inputs, res.IgnoreChanges)
	return df.replace, err
}
