package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	// aliasesOf holds the earlier URNs of registered resources.
	aliasesOf map[urn.URN][]alias
	// ahead holds the URNs deleted ahead of a replacement in this run. Its
	// channels are closed when that is done.
	ahead map[urn.URN]chan struct{}
	// goals holds the states that registrations aim at, for providers and parents.
	goals map[urn.URN]*state.Resource
	// wishes holds what the program wants of resources that are left as they are, for what
	// their children inherit.
	wishes map[urn.URN]*state.Resource
	// unread holds the recorded resources that registrations of a refresh stand in the way of,
	// and read those that were read before the program ran.
	unread, read map[urn.URN]bool
	// handed holds the providers that registered resources hand down, by package.
	handed map[urn.URN]map[string]string
	// replaced holds the URNs replaced in this run.
	replaced map[urn.URN]bool
	// failed holds the URNs that failed, or were skipped since they need one that did.
	failed map[urn.URN]bool
	// options holds those of registered resources, where there are policies to see them.
	options map[urn.URN]abi.ResourceOptions
	// created holds the resources that are new in this run.
	created []*state.Resource
	// vanished holds the URNs that a refresh did not find.
	vanished map[urn.URN]bool
	// condemned holds what is deleted after the program has ended.
	condemned map[*state.Resource]bool
	// shared holds those of them whose object is deleted with another resource.
	shared map[*state.Resource]bool
}

func newGenerator(d *deployment) *generator {
	return &generator{
		d: d, claimed: make(map[urn.URN]bool), matched: make(map[urn.URN]urn.URN),
		aliasesOf: make(map[urn.URN][]alias),
		ahead:     make(map[urn.URN]chan struct{}), goals: make(map[urn.URN]*state.Resource),
		handed: make(map[urn.URN]map[string]string), options: make(map[urn.URN]abi.ResourceOptions),
		replaced: make(map[urn.URN]bool), failed: make(map[urn.URN]bool), vanished: make(map[urn.URN]bool), condemned: make(map[*state.Resource]bool),
		wishes: make(map[urn.URN]*state.Resource), unread: make(map[urn.URN]bool), read: make(map[urn.URN]bool),
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
	for _, dep := range slices.Concat(gl.deps, gl.options.ReplaceWith, []urn.URN{gl.options.DeletedWith}) {
		if dep != "" && !g.claimed[dep] {
			return nil, fmt.Errorf("dependency %s is not registered in this program", dep)
		}
	}
	g.claimed[gl.urn] = true
	g.d.selection.Note(gl.urn)
	if g.d.panel != nil {
		g.options[gl.urn] = gl.options
	}
	if u := g.lacks(gl); u != "" {
		return nil, &skipped{of: u}
	}
	if len(gl.options.Providers) > 0 {
		handed := make(map[string]string, len(gl.options.Providers))
		for _, p := range gl.options.Providers {
			handed[p.Package] = p.Reference
		}
		g.handed[gl.urn] = handed
	}
	if aliases := g.aliases(gl); len(aliases) > 0 {
		g.aliasesOf[gl.urn] = aliases
	}
	if old = g.d.recorder.Lookup(gl.urn); old != nil {
		return old, nil
	}
	if old, err = g.aliased(gl); err != nil {
		return nil, err
	}
	if old != nil {
		g.matched[old.URN] = gl.urn
	}
	return old, nil
}

// wentAhead reports whether this run deletes a resource ahead of another's replacement. What
// depends on it and is left alone keeps it in the state.
func (g *generator) wentAhead(u urn.URN) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ahead[u] != nil
}

// takeOver waits until a recorded resource that this run deletes ahead of
// another's replacement is gone, gives it the URN that it has from now on, and
// returns how it is recorded then.
func (g *generator) takeOver(ctx context.Context, old *state.Resource, now urn.URN) (*state.Resource, error) {
	if old == nil {
		return nil, nil
	}
	g.mu.Lock()
	done := g.ahead[old.URN]
	g.mu.Unlock()
	if done != nil {
		select {
		case <-done:
			old = g.d.recorder.Lookup(old.URN)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if old == nil || old.URN == now {
		return old, nil
	}
	g.d.selection.Rename(old.URN, now)
	return g.d.recorder.Rename(ctx, old.URN, now)
}

// register decides the steps for a goal.
func (g *generator) register(ctx context.Context, gl *goal) ([]*step, error) {
	old, err := g.claim(gl)
	if err != nil {
		return nil, err
	}
	if old, err = g.takeOver(ctx, old, gl.urn); err != nil {
		return nil, err
	}
	if g.d.mode != updating && !g.configurable(gl) {
		return g.describe(ctx, gl, old)
	}
	if g.d.mode == updating {
		if steps, left, err := g.leave(gl, old); left || err != nil {
			return steps, err
		}
		if old, err = g.d.findOut(ctx, old); err != nil {
			return nil, err
		}
	}
	if !g.d.dryRun && gl.inputs.ContainsUnknowns() {
		return nil, errors.New("its inputs hold values that are not known")
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
	var known *state.Resource                          // what is kept, if nothing asks for a replacement
	if old != nil && !recreating && !old.External {
		known = old
	}

	inputs := gl.inputs
	if known != nil {
		inputs = g.keepIgnored(gl.urn, gl.options.IgnoreChanges, old.Inputs, inputs)
	}
	settled, told, err := g.settle(ctx, gl, provider, known, inputs)
	if err != nil {
		return nil, err
	}
	n := gl.state(settled)
	if known == nil {
		if err := g.judge(ctx, n, "", told); err != nil {
			return nil, err
		}
		if old == nil {
			return g.plan(n, &step{op: OpCreate, new: n, provider: provider}), nil
		}
		n.ImportID = gl.options.ImportID
		return g.plan(n, &step{op: OpCreateReplacement, old: old, new: n, provider: provider}), nil
	}

	df, err := g.diff(ctx, provider, old, n)
	if err != nil {
		return nil, err
	}
	if df.replace {
		return g.replace(ctx, gl, provider, old, inputs, df)
	}
	if err := g.judge(ctx, n, old.ID, told); err != nil {
		return nil, err
	}
	if df.some() || len(old.InitErrors) > 0 {
		if !df.some() {
			df.reason = unfinished
		}
		return g.plan(n, &step{op: OpUpdate, old: old, new: n, provider: provider, diff: df}), nil
	}
	return g.plan(n, &step{op: OpSame, old: old, new: n, provider: provider}), nil
}

// unfinished is why a resource without a difference is updated or replaced.
const unfinished = "its last creation or update did not finish well"

// plan notes the state that is aimed at.
func (g *generator) plan(n *state.Resource, steps ...*step) []*step {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goals[n.URN] = n
	for _, s := range steps {
		switch s.op {
		case OpCreate:
			g.created = append(g.created, n)
		case OpCreateReplacement, OpReadReplacement:
			g.replaced[n.URN] = true
		}
	}
	return steps
}

// asRecorded notes that a goal is what is recorded already, so that only one of the two
// is kept.
func (g *generator) asRecorded(n, recorded *state.Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.goals[n.URN] == n {
		g.goals[n.URN] = recorded
	}
}

// goalOf returns the state that a registration of this run aims at.
func (g *generator) goalOf(u urn.URN) *state.Resource {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.goals[u]
}

// wish notes what the program wants of a resource that is left as it is.
func (g *generator) wish(n *state.Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wishes[n.URN] = n
}

// wishOf returns what the program wants of a registered resource, nil if it is not registered.
func (g *generator) wishOf(u urn.URN) *state.Resource {
	if n := g.wished(u); n != nil {
		return n
	}
	return g.goalOf(u)
}

// wished returns what the program wants of a resource that is left as it is.
func (g *generator) wished(u urn.URN) *state.Resource {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wishes[u]
}

// keepIgnored gives each ignored property the value that it had.
func (g *generator) keepIgnored(u urn.URN, paths []string, old, new property.Map) property.Map {
	value := property.Object(new)
	for _, text := range paths {
		path, err := property.ParsePath(text)
		if err != nil {
			g.d.warn(u, "ignoreChanges: %v", err)
			continue
		}
		kept, ok := path.Copy(property.Object(old), value)
		if !ok {
			g.d.emit(Diagnostic{Severity: "info", URN: u, Message: "ignoreChanges: the old and the new inputs do not both have a place for " + text})
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
	seed := g.d.plans.seed(gl.urn)
	resp, err := provider.Check(ctx, abi.CheckRequest{
		URN: gl.urn, Name: gl.name, Type: gl.typ, Olds: olds, News: news, RandomSeed: seed,
		Autonaming: g.proposeName(gl, provider, seed, olds == nil),
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

// newSeed is what a provider draws generated defaults from.
func newSeed() []byte {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	return seed
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

// lacks returns a resource that failed and that the goal names, empty if there is
// none. The caller holds the lock.
func (g *generator) lacks(gl *goal) (failed urn.URN) {
	if len(g.failed) == 0 {
		return ""
	}
	gl.dependsOn(func(u urn.URN) {
		if g.failed[u] {
			failed = u
		}
	})
	return failed
}

// lacking is lacks for a component that its provider makes.
func (g *generator) lacking(gl *goal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u := g.lacks(gl); u != "" {
		return &skipped{of: u}
	}
	return nil
}

// fail notes that a registered resource did not reach its goal.
func (g *generator) fail(u urn.URN) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed[u] = true
}

// failures returns the registered resources that did not reach their goals.
func (g *generator) failures() map[urn.URN]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.failed)
}
