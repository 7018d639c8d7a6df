package engine

import (
	"cmp"
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
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/autonaming"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/state"
)

// generator decides which steps drive a resource from its recorded state to its goal.
//
// Registrations claim their URN in the order of their arrival, under one lock. Providers are called
// without it, so that independent resources are checked and compared in parallel. Only the plan of a
// delete-before-replace, which looks at other resources, holds it throughout.
//
// It reads the recorded resources and the program's registrations so far, and notes its decisions among the registrations. It
// calls providers, and takes no step.
type generator struct {
	*run
	*events
	*objects
	*providerChoice
	recorder      *record.Recorder
	registrations *registration.Registrations
	planning      *planning
	assets        *asset.Assets
	// policies is nil if there are none.
	policies *analysis.Panel
	// readIfUnsure reads a resource that must be read before its steps can be decided.
	readIfUnsure func(context.Context, *state.Resource) (*state.Resource, error)
	// readNow reads a resource by a provider, and returns how it is recorded then.
	readNow func(context.Context, *state.Resource, abi.Provider) (*state.Resource, error)

	claiming sync.Mutex
}

// claim reserves the goal's URN and finds its recorded resource, under its own or an earlier name.
func (g *generator) claim(ctx context.Context, gl *goal) (old *state.Resource, err error) {
	g.claiming.Lock()
	defer g.claiming.Unlock()
	if g.registrations.Claimed.Get(gl.urn) {
		return nil, fmt.Errorf("resource %q of type %s is registered twice: give one of the two another name", gl.name, gl.typ)
	}
	if by := g.registrations.Matched.Get(gl.urn); by != "" {
		return nil, fmt.Errorf("the recorded resource %s is claimed by %s through an alias: remove the alias or rename this resource", gl.urn, by)
	}
	if gl.parent != "" && !g.registrations.Claimed.Get(gl.parent) {
		return nil, fmt.Errorf("parent %s is not registered: register it first", gl.parent)
	}
	for _, dep := range gl.named() {
		if dep != "" && !g.registrations.Claimed.Get(dep) {
			return nil, fmt.Errorf("dependency %s is not registered in this program", dep)
		}
	}
	g.registrations.Claimed.Set(gl.urn, true)
	g.selection.Note(gl.urn)
	if g.policies != nil {
		g.registrations.Options.Set(gl.urn, gl.options)
	}
	if u := cmp.Or(g.registrations.FailedDependency(gl.needs), g.registrations.IncompleteDependency(gl.named(), gl.parent)); u != "" {
		return nil, &skippedError{dependency: u}
	}
	if len(gl.options.Providers) > 0 {
		handed := make(map[string]string, len(gl.options.Providers))
		for _, p := range gl.options.Providers {
			handed[p.Package] = p.Reference
		}
		g.registrations.Providers.Set(gl.urn, handed)
	}
	if aliases := g.aliases(gl); len(aliases) > 0 {
		g.registrations.Aliases.Set(gl.urn, aliases)
	}
	if old = g.recorder.Lookup(gl.urn); old != nil {
		return old, nil
	}
	if old, err = g.findAliased(ctx, gl); err != nil {
		return nil, err
	}
	if old != nil {
		g.registrations.Matched.Set(old.URN, gl.urn)
	}
	return old, nil
}

// adoptOld gives a recorded resource its new URN, and returns how it is recorded then. If this run
// deletes it ahead of another's replacement, adoptOld waits for that. A resource of another package goes over to the new
// provider with it: the old one does not know the new type.
func (g *generator) adoptOld(ctx context.Context, old *state.Resource, gl *goal) (*state.Resource, error) {
	if old == nil {
		return nil, nil
	}
	if done := g.registrations.DeletedEarly.Get(old.URN); done != nil {
		select {
		case <-done:
			old = g.recorder.Lookup(old.URN)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if old == nil || old.URN == gl.urn {
		return old, nil
	}
	var handOver func(*state.Resource)
	if isOfAnotherPackage(old, gl) {
		handOver = func(res *state.Resource) { res.Provider, res.ExtensionRef = gl.by.provider, "" }
	}
	g.selection.Rename(old.URN, gl.urn)
	return g.recorder.Rename(ctx, old.URN, gl.urn, handOver)
}

// register decides the steps for a goal.
func (g *generator) register(ctx context.Context, gl *goal) ([]*step, error) {
	old, err := g.claim(ctx, gl)
	if err != nil {
		return nil, err
	}
	if old, err = g.adoptOld(ctx, old, gl); err != nil {
		return nil, err
	}
	if g.mode != updating && !g.isConfigurable(gl) {
		return g.planUnchanged(ctx, gl, old)
	}
	if g.mode == updating {
		g.useElsewhere(gl)
		if steps, left, err := g.leaveUnselected(gl, old); left || err != nil {
			return steps, err
		}
		if old, err = g.readIfUnsure(ctx, old); err != nil {
			return nil, err
		}
	}
	if gl.inputs.ContainsUnknowns() && !g.previews() {
		return nil, errors.New("its inputs hold values that are not known")
	}
	var provider abi.Provider
	if gl.custom {
		if provider, err = g.providerFor(ctx, gl.typ, gl.by); err != nil {
			return nil, err
		}
	}
	if err := g.withhold(ctx, gl, provider); err != nil {
		return nil, err
	}
	if id := gl.options.ImportID; id != "" && (old == nil || old.External || (old.ID != id && old.ImportID != id)) {
		return g.planImport(gl, old, provider)
	}
	steps, err := g.compare(ctx, gl, old, provider)
	if errors.Is(err, errOutdated) {
		if old, err = g.readNow(ctx, old, provider); err != nil {
			return nil, err
		}
		return g.compare(ctx, gl, old, provider)
	}
	return steps, err
}

// compare decides the steps that bring a recorded resource, nil if there is none, to its goal. Nothing but the
// recorded resource decides: it can be asked again after a read.
func (g *generator) compare(ctx context.Context, gl *goal, old *state.Resource, provider abi.Provider) ([]*step, error) {
	recreating := old != nil && old.PendingReplacement // deleted in this run, or in one that was cut off
	var known *state.Resource                          // the resource to keep, if nothing asks for a replacement
	if old != nil && !recreating && !old.External {
		known = old
	}

	inputs := gl.inputs
	if known != nil {
		inputs = g.keepIgnored(gl.urn, gl.options.IgnoreChanges, old.Inputs, inputs)
	}
	checked, err := g.check(ctx, gl, provider, known, inputs)
	if err != nil {
		return nil, err
	}
	checked, corrections, err := g.remediate(ctx, gl, provider, known, checked)
	if err != nil {
		return nil, err
	}
	n := gl.state(checked)
	if known == nil {
		if err := g.analyze(ctx, n, "", corrections); err != nil {
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
	if df.maybe && gl.protected() && old.Protect && !g.IgnoreProtect && !g.planning.drafts() {
		g.warn(gl.urn, "the resource is protected, and may have to be replaced, since %s: the update will fail then", df.reason)
		df.replace = false
	}
	if df.replace {
		return g.replace(ctx, gl, provider, old, inputs, checked, df)
	}
	if err := g.analyze(ctx, n, old.ID, corrections); err != nil {
		return nil, err
	}
	if df.changed() || len(old.InitErrors) > 0 {
		if !df.changed() {
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
	g.registrations.Goals.Set(n.URN, n)
	for _, s := range steps {
		switch s.op {
		case OpCreate:
			g.registrations.Created.Set(n, true)
		case OpCreateReplacement, OpReadReplacement:
			g.registrations.Replaced.Set(n.URN, true)
		case OpImport: // of another object
			if s.old != nil && !s.old.External {
				g.registrations.Replaced.Set(n.URN, true)
			}
		}
	}
	return steps
}

// keepIgnored gives each ignored property the value that it had.
func (g *generator) keepIgnored(u urn.URN, paths []string, old, new property.Map) property.Map {
	value := property.Object(new)
	for _, text := range paths {
		path, err := property.ParsePath(text)
		if err != nil {
			g.warn(u, "ignoreChanges: %v", err)
			continue
		}
		copied, ok := path.Copy(property.Object(old), value)
		if !ok {
			g.diagnose("info", u, "ignoreChanges: the old and the new inputs do not both have a place for %s", text)
			continue
		}
		value = copied
	}
	out, _ := value.AsObject()
	return out
}

// check validates inputs and applies the provider's defaults. Components have nothing to check. known is the
// recorded resource that is kept, nil if there is none. A creation that was cut off is checked with the inputs that
// it had: its generated names make it conflict with its object, instead of making two.
func (g *generator) check(ctx context.Context, gl *goal, provider abi.Provider, known *state.Resource, news property.Map) (property.Map, error) {
	if !gl.custom {
		return news, nil
	}
	var olds *property.Map
	if known != nil {
		olds = &known.Inputs
	} else if _, created := g.recorder.Creating(gl.urn); created != nil {
		olds = &created.Inputs
	}
	if _, not := provider.(providers.Unconfigured); not {
		g.registrations.Unchecked.Set(gl.urn, gl.inputs)
	}
	seed := g.planning.seed(gl.urn)
	resp, err := provider.Check(ctx, abi.CheckRequest{
		URN: gl.urn, Name: gl.name, Type: gl.typ, Olds: olds, News: news, RandomSeed: seed,
		Autonaming: g.proposeName(gl, provider, seed, olds == nil),
	})
	inputs, refused, err := checkedInputs(news, resp, err)
	return inputs, cmp.Or(err, refused)
}

// checkedInputs returns the inputs of a check with the provider's defaults, and why it refuses them. The inputs stay
// as they are if the provider checks nothing.
func checkedInputs(news property.Map, resp abi.CheckResponse, err error) (inputs property.Map, refused, failed error) {
	if errors.Is(err, abi.ErrUnimplemented) {
		return news, nil, nil
	}
	var errs []error
	for _, f := range resp.Failures {
		e := abi.NewError(abi.ErrorKindInvalidArgument, f.Reason)
		e.Path = f.Path
		errs = append(errs, e)
	}
	return resp.Inputs, errors.Join(errs...), err
}

// newSeed returns the seed of a provider's generated defaults.
func newSeed() []byte {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	return seed
}

// proposeName returns the name by the stack's policy, nil if the provider chooses. If the name is
// always the same, a replacement must wait until the old resource is deleted, unless the program says
// otherwise.
func (g *generator) proposeName(gl *goal, provider abi.Provider, seed []byte, anew bool) *abi.Autonaming {
	proposal := g.naming.Propose(gl.typ, gl.name, seed)
	s, ok := provider.(*providers.Session)
	if proposal == nil || !ok {
		return nil
	}
	if !s.Understands(abi.FeaturesAutonaming) {
		if proposal.Specific && anew {
			g.warn(gl.urn, "%s has a rule for this resource, but its provider names it by itself", autonaming.Key)
		}
		return nil
	}
	if proposal.Fixed && gl.options.DeleteBeforeReplace == nil {
		gl.options.DeleteBeforeReplace = &proposal.Fixed
	}
	return &proposal.Autonaming
}

// aliases returns the earlier URNs of the goal: the ones it names, and the ones that follow from its parent's earlier URNs. A
// child that is named after its parent was so before: below "site", once "page", the child "site-bucket" was "page-bucket".
func (g *generator) aliases(gl *goal) []registration.Alias {
	inherited := g.registrations.Aliases.Get(gl.parent)
	var out []registration.Alias
	add := func(u urn.URN, inherited bool) {
		if u != gl.urn && !slices.ContainsFunc(out, func(a registration.Alias) bool { return a.URN == u }) {
			out = append(out, registration.Alias{URN: u, Inherited: inherited})
		}
	}
	earlier := func(stack, project string, parent urn.URN, typ, name string) {
		add(urn.New(stack, project, parent, typ, name), false)
		if parent != gl.parent {
			return
		}
		for _, before := range inherited {
			child, was := name, before.URN
			if rest, ok := strings.CutPrefix(name, parent.Name()); ok {
				child = was.Name() + rest
			}
			add(urn.New(was.Stack(), was.Project(), was, typ, child), true)
		}
	}
	stack, project := g.Stack, g.Project
	for _, a := range gl.options.Aliases {
		if a.Case == abi.AliasCaseURN {
			add(a.URN, false)
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
		earlier(cmp.Or(s.Stack, stack), cmp.Or(s.Project, project), parent, cmp.Or(s.Type, gl.typ), cmp.Or(s.Name, gl.name))
	}
	if gl.parent != "" {
		earlier(stack, project, gl.parent, gl.typ, gl.name)
	}
	return out
}

// findAliased finds the recorded resource that the goal's aliases name, nil if
// there is none.
func (g *generator) findAliased(ctx context.Context, gl *goal) (old *state.Resource, err error) {
	for _, a := range g.registrations.Aliases.Get(gl.urn) {
		found := g.recorder.Lookup(a.URN)
		by := g.registrations.Matched.Get(a.URN)
		switch {
		case a.Inherited && (by != "" || g.registrations.Claimed.Get(a.URN)):
			continue
		case by != "":
			return nil, fmt.Errorf("alias %s is claimed by %s too: an alias can name only one resource", a.URN, by)
		case found == nil:
			continue
		}
		others, err := g.isOthers(ctx, found, gl)
		switch {
		case err != nil:
			return nil, err
		case others:
			continue
		case g.registrations.Claimed.Get(a.URN):
			return nil, fmt.Errorf("alias %s names a resource that is registered as well: remove the alias", a.URN)
		case old != nil && old != found:
			return nil, fmt.Errorf("the aliases match two recorded resources, %s and %s: remove one", old.URN, found.URN)
		}
		old = found
	}
	return old, nil
}

func isOfAnotherPackage(old *state.Resource, gl *goal) bool {
	return old.Custom && gl.custom && providers.PackageOf(old.Type) != providers.PackageOf(gl.typ)
}

// isOthers reports whether a recorded resource of another package than a goal whose alias names it stays the old provider's, which
// deletes it by the name that it knows: the new provider makes an object then. Default providers hand objects over in an update if the
// new one says that it can manage them, as in Pulumi.
func (g *generator) isOthers(ctx context.Context, old *state.Resource, gl *goal) (bool, error) {
	if !isOfAnotherPackage(old, gl) {
		return false, nil
	}
	if g.mode != updating || !isByDefault(old.Provider) || !isByDefault(gl.by.provider) || gl.by.extension != "" ||
		slices.ContainsFunc(g.recorder.CopiesOf(old.URN), func(copied *state.Resource) bool { return copied.Provider != old.Provider }) {
		return true, nil
	}
	changed, _, err := g.providerChanged(ctx, old, &state.Resource{Custom: true, Type: gl.typ, Provider: gl.by.provider})
	return changed, err
}

func isByDefault(reference string) bool {
	u, _, err := providers.SplitReference(reference)
	return err == nil && providers.IsDefault(u)
}

// suggestAliases reports resources that are about to be deleted while a like one was created: likely one
// resource that was renamed or moved in the program.
func (d *deployment) suggestAliases(leaving []*state.Resource) {
	// A name comes before like inputs; what looks like several others looks like none.
	looks := func(res *state.Resource) []string {
		if res.Type == urn.RootType || providers.IsType(res.Type) || res.External {
			return nil
		}
		return []string{res.Type + " name " + res.URN.Name(), res.Type + " inputs " + property.Render(property.Object(res.Inputs))}
	}
	going, coming := make(map[string][]*state.Resource), make(map[string][]*state.Resource)
	sort := func(into map[string][]*state.Resource, res *state.Resource) {
		for _, look := range looks(res) {
			into[look] = append(into[look], res)
		}
	}
	var old []*state.Resource
	for _, res := range leaving {
		if !res.Delete && !res.PendingReplacement {
			old = append(old, res)
			sort(going, res)
		}
	}
	if len(old) == 0 {
		return
	}
	for res := range d.registrations.Created.Entries() {
		sort(coming, res)
	}
	moved := make(map[urn.URN]urn.URN)
	for _, res := range old {
		for _, l := range looks(res) {
			if len(going[l]) == 1 && len(coming[l]) == 1 && moved[res.URN] == "" {
				moved[res.URN] = coming[l][0].URN
			}
		}
	}
	taken := make(map[urn.URN]bool)
	for _, res := range old {
		to := moved[res.URN]
		if to == "" || taken[to] {
			continue
		}
		taken[to] = true
		// With an alias for the parent, the child finds itself.
		if parent := d.registrations.Goals.Get(to).Parent; parent == "" || moved[res.Parent] != parent {
			d.emit(MoveSuggested{From: res.URN, To: to})
		}
	}
}

// goal is a registration with its defaults filled in and its outputs folded into plain values.
type goal struct {
	urn     urn.URN
	typ     string
	name    string
	parent  urn.URN
	custom  bool
	inputs  property.Map
	deps    []urn.URN            // all dependencies, sorted
	propDep map[string][]urn.URN // by top-level input
	// ephemeral are the places of ephemeral values in the inputs.
	ephemeral []property.Path
	// by is the provider of the resource, zero for components.
	by       providerRef
	options  abi.ResourceOptions
	position string
}

// state returns the resource as it will be recorded, without ID and outputs.
func (g *goal) state(inputs property.Map) *state.Resource {
	n := &state.Resource{
		URN:                  g.urn,
		Custom:               g.custom,
		Type:                 g.typ,
		Inputs:               inputs,
		Parent:               g.parent,
		Dependencies:         g.deps,
		PropertyDependencies: g.propDep,
		Provider:             g.by.provider,
		ExtensionRef:         g.by.extension,
		SourcePosition:       g.position,
	}
	for _, o := range recordedOptions {
		o.record(n, &g.options)
	}
	return n
}

// protected reports whether the program protects the resource.
func (g *goal) protected() bool { return g.options.Protect != nil && *g.options.Protect }

// named returns the resources that the program has the goal's depend on.
func (g *goal) named() []urn.URN {
	return slices.Concat(g.deps, g.options.ReplaceWith, []urn.URN{g.options.DeletedWith})
}

// needs visits every resource that the goal's cannot exist without.
func (g *goal) needs(yield func(urn.URN) bool) {
	on := true
	graph.Needs(&state.Resource{
		Provider: g.by.provider, Parent: g.parent, Dependencies: g.deps, PropertyDependencies: g.propDep,
		DeletedWith: g.options.DeletedWith, ReplaceWith: g.options.ReplaceWith,
	}, func(u urn.URN) { on = on && yield(u) })
}
