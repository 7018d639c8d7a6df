package model_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// TestModel runs random scenarios: programs, failures, half failures, lost answers, drift, and
// crashes, in updates, refreshes, and destructions with all their options. Whatever
// happens, the state holds together after every step, each object of the world is in the state,
// pending, or told to be retained, none is made twice, deletions keep the order of dependencies, a preview tells
// what the update does, an update keeps to its plan, and a second update does nothing.
//
// The scenarios are the same in each run; -rapid.seed and -rapid.checks choose others
// and more. A failing one is printed as a test to paste below.
func TestModel(t *testing.T) {
	if f := flag.Lookup("rapid.seed"); f.Value.String() == f.DefValue {
		require.NoError(t, flag.Set("rapid.seed", "1"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.Custom(drawScenario).Draw(rt, "scenario")
		rt.Logf("as a test:\n%s", s.source())
		runScenario(checked{t, rt}, s)
	})
}

// checked gives the helpers of the tests rapid's way to fail, so that cases shrink.
type checked struct {
	testing.TB
	rapid *rapid.T
}

func (c checked) Errorf(format string, args ...any) { c.rapid.Errorf(format, args...) }
func (c checked) FailNow()                          { c.rapid.FailNow() }
func (c checked) Helper()                           {}

// model is one stack under test.
type model struct {
	*enginetest.Stack
	t testing.TB
	// outside are objects that the stack has not made and does not manage, and told those that it
	// said to leave behind.
	outside, told map[string]bool
	// shared are objects that were several resources at once, which may use each other by way of
	// them, whatever goes first.
	shared map[string]bool
	// former are the names that resources had before others, by the later ones.
	former map[string][]string

	mu sync.Mutex
	// disorder tells of deletions that came too early.
	disorder []string
}

func runScenario(t testing.TB, s scenario) {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = enginetest.ReplacedByRegion
	for typ, about := range cloud.Types {
		if typ != enginetest.Plain {
			about.Replace = append(about.Replace, "froma", "fromb", "usesa", "usesb", "usesc", "usesd", "usese", "usesf") // some dependents cannot be updated
			cloud.Types[typ] = about
		}
	}
	cloud.Types[vague] = enginetest.Type{Computed: []string{"made"}, Vague: true}
	for typ, about := range enginetest.NewFiles().Types {
		if len(about.Identity) > 0 {
			about.Replace, about.Computed = []string{"path", "key", "froma"}, []string{"made"}
			cloud.Types[typ] = about
		}
	}
	cloud.Regional, cloud.Owning, cloud.Editions = true, true, true
	m := &model{t: t, Stack: enginetest.NewStack(t, cloud), outside: make(map[string]bool), told: make(map[string]bool), shared: make(map[string]bool), former: make(map[string][]string)}
	m.MayFail = true // what is protected refuses
	for _, id := range outside {
		m.place(id, "", 0)
	}
	for _, a := range s {
		m.act(a)
	}
	m.finish()
}

// place makes an object that the stack has not made, and need not know of.
func (m *model) place(id, region string, key int) {
	m.outside[id] = true
	m.Cloud.Put(id, region, enginetest.Props("key", key, "made", "made of "+id))
}

// act does one operation, and what makes up for it if it went wrong.
func (m *model) act(a act) {
	program := a.Program.program()
	refused := false
	m.prepare(a)
	m.options(a)
	operations := map[string]enginetest.Operation{"up": enginetest.Up, "refresh": enginetest.Refresh, "destroy": enginetest.Destroy}
	run := operations[a.Do]
	switch {
	case a.Do == "import":
		m.imports(a)
	case a.CrashAt > 0:
		m.CrashAt(a.CrashAt, a.Late, run, program)
	case a.narrow():
		m.narrowed(a, program)
	case !a.quiet():
		_, err := m.Try(run, program)
		if a.ContinueOnError && err != nil {
			require.NotErrorIs(m.t, err, engine.ErrStopped)
		}
	case a.Do == "up":
		if refused = m.up(a); !refused {
			m.requireReached(a.Program)
		}
	default:
		_, err := m.Try(run, program)
		refused = m.isRefused(err)
	}
	m.requireKnown()
	require.Empty(m.t, m.disorder)
	unread := len(a.Fail) > 0 && (a.Answer == misled || a.Answer == unimplemented && a.Do == "up") // what was cut off before is not read again
	if len(a.Lose)+len(a.Drift) > 0 && (!a.quiet() || a.narrow() || refused) || unread {
		m.calm()
		m.Refresh() // an update alone does not look for what has vanished or changed
	}
}

// imports takes over objects that no stack manages, for the plain resources of a program that the stack does not have.
func (m *model) imports(a act) {
	objects := m.Cloud.Snapshot()
	var targets []engine.ImportTarget
	for _, r := range a.Program.Resources {
		id := r.Name + "-in"
		if _, exists := objects[id]; exists || r.Type != enginetest.Plain || r.Read != "" || m.Resource(r.Name) != nil {
			continue
		}
		m.place(id, "", r.Key)
		targets = append(targets, engine.ImportTarget{Type: r.Type, Name: r.Name, ID: id, Protect: r.Protect})
	}
	if len(targets) == 0 {
		return
	}
	m.also(func(d *enginetest.Deployment) { d.Imports = targets })
	if a.CrashAt > 0 {
		m.CrashAt(a.CrashAt, a.Late, enginetest.Import, nil)
	} else if _, err := m.Try(enginetest.Import, nil); a.quiet() {
		require.NoError(m.t, err)
	}
}

// calm ends the troubles of an act.
func (m *model) calm() {
	m.Edit = m.listening
	m.Cloud.Hook, m.Cloud.Unhealthy, m.Cloud.Lost, m.Cloud.Asked = nil, nil, nil, nil
}

// isRefused reports whether an operation was refused since a resource is protected, or has left its parent
// while what has its former name is still there, which is all that may be wrong with it.
func (m *model) isRefused(err error) bool {
	if err != nil && !strings.Contains(err.Error(), "the aliases match two recorded resources") {
		require.ErrorContains(m.t, err, "protected")
	}
	return err != nil
}

// up previews, updates, and updates again. It reports whether the preview was refused; the
// update is refused then as well.
func (m *model) up(a act) (refused bool) {
	program, ignored := a.Program.program(), m.ignored(a.Program)
	m.also(func(d *enginetest.Deployment) { d.DraftPlan = true })
	if _, err := m.update(program); m.isRefused(err) {
		_, err = m.Try(enginetest.Up, program)
		require.True(m.t, m.isRefused(err))
		return true
	}
	m.requireIgnored(ignored)
	if m.readsShared() {
		return false
	}
	m.Edit = func(d *enginetest.Deployment) { m.listening(d); d.Policies = a.policies(m.t) }
	again, err := m.update(program)
	require.NoError(m.t, err)
	require.Zero(m.t, again.Changes.Total(), "a second update does nothing: %v", m.Steps())
	m.requireUpgrade(a)
	return false
}

// update previews an update and carries it out, by the plan if the preview drafts one. The error is the preview's.
func (m *model) update(program enginetest.Program) (*engine.Result, error) {
	before, recorded := m.export(), m.Recorded()
	previewed, err := m.Try(enginetest.Preview, enginetest.Pure{Program: program})
	require.Equal(m.t, before, m.export(), "a preview changes nothing")
	if err != nil {
		return nil, err
	}
	planned := m.Steps()
	if previewed.Plan != nil {
		plan, _ := m.Reread(previewed.Plan)
		m.also(func(d *enginetest.Deployment) { d.Plan = plan })
	}
	result, err := m.Try(enginetest.Up, program)
	require.NoError(m.t, err)
	require.ElementsMatch(m.t, planned, m.Steps(), "a preview tells what is done")
	if previewed.Settled {
		require.Equal(m.t, recorded, m.Recorded(), "an update after a settled preview writes nothing")
	}
	return result, nil
}

// requireUpgrade requires that another version of the provider changes no resource by itself.
func (m *model) requireUpgrade(a act) {
	m.Cloud.Digest += "+"
	m.Cloud.Calls()
	_, err := m.Try(enginetest.Up, a.Program.program())
	require.NoError(m.t, err)
	require.Empty(m.t, m.Cloud.Calls(), "another version of the provider changes nothing")
}

// also adds to the options of the deployments that follow.
func (m *model) also(edit func(*enginetest.Deployment)) {
	before := m.Edit
	m.Edit = func(d *enginetest.Deployment) { before(d); edit(d) }
}

// ignored returns the recorded resources that the program has with changes that it ignores.
func (m *model) ignored(program modelProgram) (out []*state.Resource) {
	for _, r := range program.Resources {
		if res := m.Resource(r.Name); r.Ignore && res != nil && res.Type == r.Type && !res.PendingReplacement {
			out = append(out, res)
		}
	}
	return out
}

// requireIgnored requires that parts that a resource had, and that it has still, kept their keys.
func (m *model) requireIgnored(before []*state.Resource) {
	for _, old := range before {
		now := m.Resource(old.URN.Name())
		if now == nil || now.URN != old.URN || !now.Created.Equal(old.Created) || now.External != old.External || m.shared[old.ID] || m.outside[old.ID] {
			continue // it is another object, such as one placed where it was lost, or what a refresh reads of it is another resource's
		}
		had, _ := old.Inputs.Get("parts").AsArray()
		has, _ := now.Inputs.Get("parts").AsArray()
		for i := range min(len(had), len(has)) {
			require.True(m.t, had[i].Equal(has[i]), "part %d of %s changed, and changes of it are ignored", i, old.URN)
		}
	}
}

func (m *model) export() []string {
	var out []string
	for _, res := range m.Snapshot().Resources() {
		out = append(out, fmt.Sprintf("%s %s %v %v %v", res.URN, res.ID, res.Inputs, res.Outputs, res.Delete))
	}
	slices.Sort(out)
	return out
}

// prepare changes the world and the state as the act wants.
func (m *model) prepare(a act) {
	if a.Twice > 0 && m.Resource("own") != nil {
		m.Double("own", a.Twice&1 > 0, a.Twice&2 > 0)
	}
	for _, r := range a.Program.Resources {
		if r.Alias != "" {
			m.former[r.Name] = append(append(m.former[r.Name], r.Alias), m.former[r.Alias]...)
		}
	}
	m.Cloud.Digest = ""
	if a.Upgrade > 0 {
		m.Cloud.Digest = fmt.Sprint("version ", a.Upgrade)
	}
	m.disorder = nil
	for _, res := range m.Snapshot().Resources() {
		if name := res.URN.Name(); res.Custom && !res.Delete && !res.PendingReplacement && !res.IsProvider() && !res.External {
			switch {
			case slices.Contains(a.Lose, name):
				m.Cloud.Change(res.ID, nil)
			case slices.Contains(a.Drift, name) && slices.Contains(m.Cloud.IDs(), res.ID):
				m.Cloud.Change(res.ID, func(p property.Map) property.Map { return p.With("key", property.Number(9)) })
			}
			if slices.Contains(a.Taint, name) {
				m.Change(name, func(res *state.Resource) { res.Taint = true })
			}
		}
	}
	objects := m.Cloud.Snapshot()
	for _, r := range a.Program.Resources {
		if id := a.Program.importID(r); r.Import && objects[id].Len() == 0 {
			m.place(id, a.Program.regionOf(r), r.Key)
		}
	}
}

// readsShared reports whether updates read an object that is several resources: who may have created it over itself is not told apart,
// and each of them has it its way.
func (m *model) readsShared() bool {
	for _, op := range m.Snapshot().Operations() {
		if res := m.Resource(op.Resource.URN.Name()); op.Type == state.OperationCreating && res != nil && m.shared[res.ID] {
			return true
		}
	}
	return false
}

// options sets the deployment's options, watches the state after every step, and
// lets calls of providers fail.
func (m *model) options(a act) {
	var replace []engine.Pattern
	for _, res := range m.Snapshot().Resources() {
		if slices.Contains(a.Replace, res.URN.Name()) {
			replace = append(replace, engine.Pattern(res.URN))
		}
	}
	m.Edit = func(d *enginetest.Deployment) {
		m.listening(d)
		d.Selection, d.Policies = a.selection(), a.policies(m.t)
		d.RunProgram, d.ContinueOnError, d.RefreshFirst, d.Replace = a.RunProgram, a.ContinueOnError, a.RefreshFirst, replace
		d.UpdateOnImport = true
		events := d.Events
		d.Events = func(e engine.Event) {
			switch e.(type) {
			case engine.StepDone, engine.StepFailed:
				if err := d.State.Snapshot().Verify(); err != nil {
					m.note("after a step: %v", err)
				}
			}
			events(e)
		}
	}
	guarded := m.guarded(a)
	order := m.watchOrder(a)
	if a.narrow() { // what is replaced may leave dependents behind
		order = func(string) {}
	}
	among := func(calls []string, call string) bool {
		name, _, _ := strings.Cut(call, "-") // deletions name the ID
		return slices.Contains(calls, name)
	}
	m.Cloud.Lost, m.Cloud.Asked = nil, nil
	if a.Answer.hasEffect() {
		m.Cloud.Lost = func(call, id string) error {
			if among(a.Fail, call) {
				return a.Answer.err(call, id)
			}
			return nil
		}
	} else {
		m.Cloud.Asked = func(call string) error {
			if among(a.Fail, call) {
				return a.Answer.err(call, "")
			}
			return nil
		}
	}
	m.Cloud.Hook = func(call string) error {
		if among(a.Fail, call) && !a.Answer.hasEffect() {
			return a.Answer.err(call, "")
		}
		if id, ok := strings.CutPrefix(call, "delete "); ok && (guarded[id] || slices.Contains(outside, id)) {
			m.note("%s is deleted, and must not be", id)
		}
		order(call)
		return nil
	}
	m.Cloud.Unhealthy = func(call string) bool { return among(a.Half, call) }
}

// guarded returns the objects of resources that are protected, and stay so: the program
// protects them, or does not have them.
func (m *model) guarded(a act) map[string]bool {
	open := make(map[string]bool) // names that the program does not protect
	if a.Do == "up" || a.RunProgram {
		for i, r := range a.Program.Resources {
			protected := r.Protect
			for at := a.Program.Resources[i].Parent; at > 0 && !protected; at = a.Program.Resources[at-1].Parent {
				protected = a.Program.Resources[at-1].Protect
			}
			if !protected {
				open[r.Name], open[r.Alias] = true, true
			}
		}
	}
	out := make(map[string]bool)
	for _, res := range m.Snapshot().Resources() {
		if res.Protect && res.Custom && !res.Delete && !res.PendingReplacement && !res.External && !open[res.URN.Name()] {
			out[res.ID] = true
		}
	}
	return out
}

func (m *model) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disorder = append(m.disorder, fmt.Sprintf(format, args...))
}

// watchOrder returns what notes deletions of what something that exists was made
// from. Only what is deleted ahead of its own replacement may still be used, by
// resources that are updated afterwards. What is deleted takes along what it owns.
func (m *model) watchOrder(a act) func(call string) {
	program, first := a.Program, make(map[string]bool)
	for _, r := range program.Resources {
		first[r.Name] = r.DeleteFirst || r.Type == enginetest.Single || r.Type == enginetest.Declared
		first[r.Alias] = first[r.Alias] || first[r.Name]
	}
	ahead, recorded := make(map[urn.URN]bool), make(map[string]bool)
	may := make(map[string]bool) // IDs that may be deleted while they are used
	resources, err := state.Sort(slices.Collect(maps.Values(maps.Collect(m.Snapshot().Resources()))))
	require.NoError(m.t, err)
	byID := make(map[string]*state.Resource)
	components := make(map[urn.URN]*state.Resource)
	for _, res := range resources {
		recorded[res.ID] = recorded[res.ID] || !res.PendingReplacement
		if !res.Delete {
			byID[res.ID] = res
		}
		if !res.Custom && res.Type != urn.RootType {
			components[res.URN] = res
		}
	}
	for before := -1; before < len(ahead); { // parts come in any order beside what uses their components
		before = len(ahead)
		for _, res := range resources {
			gone := first[res.URN.Name()] || ahead[res.DeletedWith]
			for _, dep := range slices.Concat(res.Dependencies, res.ReplaceWith) {
				gone = gone || ahead[dep]
			}
			if !gone {
				continue
			}
			ahead[res.URN] = true
			for at := components[res.Parent]; at != nil; at = components[at.Parent] {
				ahead[at.URN] = true
			}
		}
	}
	for _, res := range resources {
		may[res.ID] = ahead[res.URN]
	}
	owners := make(map[string]string)
	for _, res := range resources {
		owners[res.ID] = res.URN.Name() + " in " + res.Parent.Name()
	}
	for _, r := range program.Resources {
		owner := r.Name + " in proj-dev"
		if r.Parent > 0 {
			owner = r.Name + " in " + program.Resources[r.Parent-1].Name
		}
		m.shared[r.Path] = m.shared[r.Path] || owners[r.Path] != "" && owners[r.Path] != owner
		owners[r.Path] = owner
	}
	orphans := make(map[string]bool) // a crash came between their creation and the record of it
	for _, id := range m.Cloud.IDs() {
		orphans[id] = !recorded[id]
	}
	return func(call string) {
		id, ok := strings.CutPrefix(call, "delete ")
		if !ok {
			return
		}
		made := m.Cloud.Snapshot()[id].Get("made").Plain()
		for other, object := range m.Cloud.Snapshot() {
			if other == id || object.Has("owner") || m.wasTold(other) || m.outside[other] || orphans[other] || m.shared[other] {
				continue
			}
			for key, v := range object.All() {
				if v.Plain().Equal(made) && (!may[id] || m.goesFirst(a, byID[other], byID[id], key)) {
					m.note("%s is deleted while %s uses it", id, other)
				}
			}
		}
	}
}

// goesFirst reports whether a user must be deleted before what it uses: the input cannot be updated, and its provider says so, so the
// run would replace the user later.
func (m *model) goesFirst(a act, user, used *state.Resource, input string) bool {
	if user != nil && a.Answer == unimplemented && slices.Contains(a.Fail, "diff "+user.URN.Name()) {
		return false
	}
	if user == nil || used == nil || len(user.PropertyDependencies[input]) == 0 || !slices.Contains(m.Cloud.Types[user.Type].Replace, input) {
		return false
	}
	at := func(res *state.Resource) int {
		return slices.IndexFunc(a.Program.Resources, func(r modelResource) bool { return r.Name == res.URN.Name() || r.Alias == res.URN.Name() })
	}
	return at(user) < 0 || at(user) > at(used)
}

// wasTold reports whether a deployment told that it leaves an object behind.
func (m *model) wasTold(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told[id]
}

// listening has a deployment remember the objects that it tells to leave behind.
func (m *model) listening(d *enginetest.Deployment) {
	events, preview := d.Events, false
	d.Events = func(e engine.Event) {
		switch e := e.(type) {
		case engine.Started:
			preview = e.DryRun
		case engine.Diagnostic:
			if _, rest, ok := strings.Cut(e.Message, "the object \""); ok && !preview && strings.Contains(rest, "\" is retained") {
				id, _, _ := strings.Cut(rest, "\"")
				m.mu.Lock()
				m.told[id] = true
				m.mu.Unlock()
			}
		}
		events(e)
	}
}

// requireKnown requires that every object is in the state, that its creation is
// pending, or that it was told to be left behind.
func (m *model) requireKnown() {
	snapshot := m.Snapshot()
	known := make(map[string]bool)
	for _, res := range snapshot.Resources() {
		known[res.ID] = true
		if !res.External {
			delete(m.outside, res.ID) // it was imported
		}
	}
	creating := make(map[string]bool)
	for _, op := range snapshot.Operations() {
		if op.Type == state.OperationCreating {
			for _, name := range append(m.former[op.Resource.URN.Name()], op.Resource.URN.Name()) {
				creating[name] = true
			}
			creating[m.Cloud.Types[op.Resource.Type].ID(op.Resource.Inputs)] = true
		}
	}
	for _, id := range m.Cloud.IDs() {
		name, _, _ := strings.Cut(id, "-")
		require.True(m.t, known[id] || m.told[id] || m.outside[id] || creating[name], "nothing knows of object %s", id)
	}
}

// requireReached requires that the stack is what the program says, and that each of
// its resources is one object, as it is recorded, which its provider reaches.
func (m *model) requireReached(program modelProgram) {
	var want, got []string
	for _, r := range program.Resources {
		want = append(want, r.Name)
	}
	objects, providers := m.Cloud.Snapshot(), make(map[string]*state.Resource)
	for _, res := range m.Snapshot().Resources() {
		if res.IsProvider() {
			providers[res.Reference()] = res
		}
	}
	for _, res := range m.Snapshot().Resources() {
		require.False(m.t, res.Delete || res.PendingReplacement, "%s is left half done", res.URN)
		if res.IsProvider() || res.Type == urn.RootType {
			continue
		}
		got = append(got, res.URN.Name())
		if !res.Custom {
			continue
		}
		object, ok := objects[res.ID]
		require.True(m.t, ok, "%s has no object %s", res.URN, res.ID)
		region := ""
		if v, ok := providers[res.Provider].Inputs.Lookup("region"); ok {
			region = property.Display(v.Plain())
		}
		require.Equal(m.t, region, m.Cloud.Region(res.ID), "%s is managed where it is not", res.URN)
		if !m.shared[res.ID] && !res.External {
			require.Equal(m.t, res.Inputs.Get("key"), object.Get("key"), "%s is not as it is recorded", res.URN)
		}
	}
	require.ElementsMatch(m.t, want, got)
}

// finish destroys the stack. What is left over then is retained, or its creation
// was cut off.
func (m *model) finish() {
	m.calm()
	m.also(func(d *enginetest.Deployment) { d.IgnoreProtect, d.Parallel = true, 1 }) // the order that nothing asks for is always the same
	m.disorder = nil
	m.Cloud.Hook = func(call string) error { m.watchOrder(act{})(call); return nil }
	m.Destroy()
	require.Empty(m.t, m.disorder)
	require.Zero(m.t, m.Snapshot().Len())
	m.requireKnown()
}
