package engine

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

const (
	thing    = "test:index:Thing"
	provider = urn.URN("urn:pulumi:dev::table::pulumi:providers:test::p")
)

// comparing is a provider that takes inputs as they are. A change of an input whose name begins with "force" replaces the
// resource, one that begins with "first" after its deletion. Inputs that are "refused" fail the check. A state with the output
// "stale" has to be read before it is compared.
type comparing struct{ abi.Unimplemented }

func (comparing) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	if req.News.Has("refused") {
		return abi.CheckResponse{Failures: []abi.CheckFailure{{Path: "refused", Reason: "it is refused"}}}, nil
	}
	return abi.CheckResponse{Inputs: req.News}, nil
}

func (comparing) Diff(_ context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	if req.Olds.Has("stale") {
		return abi.DiffResponse{Changes: abi.DiffChangesOutdated}, nil
	}
	resp := abi.DiffResponse{Changes: abi.DiffChangesNone}
	for _, d := range inputDiff(req.OldInputs, req.News) {
		resp.Changes = abi.DiffChangesSome
		first := strings.HasPrefix(d.Path, "first")
		if first || strings.HasPrefix(d.Path, "force") {
			resp.ReplaceKeys = append(resp.ReplaceKeys, d.Path)
		}
		resp.DeleteBeforeReplace = resp.DeleteBeforeReplace || first
	}
	return resp, nil
}

// naming is comparing that names resources by the random seed. Two of one name cannot exist side by side.
type naming struct{ comparing }

func (naming) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	name := req.News.Get("name")
	if name.IsNull() && req.Olds != nil {
		name = req.Olds.Get("name")
	}
	if name.IsNull() {
		name = property.String(hex.EncodeToString(req.RandomSeed))
	}
	return abi.CheckResponse{Inputs: req.News.With("name", name)}, nil
}

func (n naming) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	resp, err := n.comparing.Diff(ctx, req)
	resp.DeleteBeforeReplace = req.News.Get("name").Equal(req.OldInputs.Get("name"))
	return resp, err
}

func named(name string) urn.URN { return urn.New("dev", "table", "", thing, name) }

// inputs returns inputs from pairs of a name and a text; the text ? is unknown.
func inputs(pairs ...string) property.Map {
	values := make(map[string]property.Value)
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = property.String(pairs[i+1])
		if pairs[i+1] == "?" {
			values[pairs[i]] = property.Unknown
		}
	}
	return property.MapOf(values)
}

// recorded returns a recorded resource, which the changes alter.
func recorded(name string, in property.Map, changes ...func(*state.Resource)) *state.Resource {
	res := &state.Resource{
		URN: named(name), Custom: true, ID: "id-" + name, Type: thing, Inputs: in, Outputs: in,
		Provider: providers.Reference(provider, "1"),
	}
	for _, change := range changes {
		change(res)
	}
	return res
}

// wanted returns the goal of a registration, which the options alter.
func wanted(name string, in property.Map, options ...func(*goal)) *goal {
	gl := &goal{urn: named(name), typ: thing, name: name, custom: true, inputs: in, by: providerRef{provider: providers.Reference(provider, "1")}}
	for _, o := range options {
		o(gl)
	}
	return gl
}

// newTestGenerator returns a generator of a run, with the recorded resources.
func newTestGenerator(t *testing.T, r *run, old []*state.Resource, session abi.Provider) *generator {
	snapshot := state.NewSnapshot()
	snapshot.Add(&state.Resource{URN: provider, Custom: true, ID: "1", Type: provider.Type()})
	for _, res := range old {
		snapshot.Add(res)
	}
	r.Stack, r.Project = "dev", "table"
	if r.preview == nil {
		r.preview = new(preview)
	}
	var err error
	r.selection, err = newSelection(r.settings, snapshot)
	require.NoError(t, err)
	secrets := new(redact.Secrets)
	recorder := record.New(nil, snapshot, secrets)
	configured := &providerRegistry{secrets: secrets, stored: recorder.Provider}
	configured.configured.Set(providers.Reference(provider, "1"), &configuredProvider{session: session})
	e, registrations := &events{secrets: secrets}, new(registration.Registrations)
	return &generator{
		run: r, events: e, recorder: recorder, registrations: registrations,
		objects:        &objects{run: r, events: e, recorder: recorder, registrations: registrations},
		providerChoice: &providerChoice{events: e, recorder: recorder, registrations: registrations, registry: configured, failures: newFailures(nil, r.preview.is)},
		planning:       new(planning), assets: asset.New(contents.Source{}),
		readIfUnsure: func(_ context.Context, old *state.Resource) (*state.Resource, error) { return old, nil },
		readNow: func(_ context.Context, old *state.Resource, _ abi.Provider) (*state.Resource, error) {
			fresh := clone(old)
			fresh.Outputs = fresh.Outputs.Without("stale")
			return fresh, nil
		},
	}
}

// TestStepsOfAGoal has the generator decide, of a goal and what is recorded, which steps there are.
func TestStepsOfAGoal(t *testing.T) {
	protected := func(res *state.Resource) { res.Protect = true }
	protects := func(gl *goal) { gl.options.Protect = new(true) }
	above := func(needed ...string) func(*state.Resource) {
		return func(res *state.Resource) {
			for _, name := range needed {
				res.Dependencies = append(res.Dependencies, named(name))
			}
			res.PropertyDependencies = map[string][]urn.URN{"force": res.Dependencies}
		}
	}
	for name, c := range map[string]struct {
		run  run
		old  []*state.Resource
		goal *goal
		// session is what the provider is configured as, comparing where it is nil.
		session abi.Provider
		want    string // the operations with the names of their resources
		fails   string
		then    func(t *testing.T, g *generator, steps []*step)
	}{
		"create": {goal: wanted("a", inputs("x", "1")), want: "create a"},
		"same":   {old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "1")), want: "same a"},
		"update": {old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "2")), want: "update a"},
		"what did not finish well is updated": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), func(r *state.Resource) { r.InitErrors = []string{"not healthy"} })},
			goal: wanted("a", inputs("x", "1")), want: "update a",
		},
		"replace": {
			old: []*state.Resource{recorded("a", inputs("force", "1"))}, goal: wanted("a", inputs("force", "2")), want: "create-replacement a",
			then: func(t *testing.T, g *generator, _ []*step) {
				require.True(t, g.registrations.Replaced.Get(named("a")))
				require.Zero(t, g.registrations.PendingDelete.Len(), "the old copy is deleted at the end")
			},
		},
		"delete before replace": {
			old: []*state.Resource{recorded("a", inputs("first", "1"))}, goal: wanted("a", inputs("first", "2")),
			want: "delete-replaced a, create-replacement a",
		},
		"delete before replace, with a dependent that cannot stay": {
			old: []*state.Resource{
				recorded("a", inputs("first", "1")), recorded("b", inputs("force", "1"), above("a")), recorded("c", inputs("x", "1"), func(r *state.Resource) {
					r.Dependencies, r.PropertyDependencies = []urn.URN{named("a")}, map[string][]urn.URN{"x": {named("a")}}
				}),
			},
			goal: wanted("a", inputs("first", "2")), want: "delete-replaced b, delete-replaced a, create-replacement a",
		},
		"the program does not delete first": {
			old:  []*state.Resource{recorded("a", inputs("first", "1"))},
			goal: wanted("a", inputs("first", "2"), func(gl *goal) { gl.options.DeleteBeforeReplace = new(false) }), want: "create-replacement a",
		},
		"the name of the replacement is made up": {
			session: naming{},
			old:     []*state.Resource{recorded("a", inputs("force", "1", "name", "old"))}, goal: wanted("a", inputs("force", "2")), want: "create-replacement a",
			then: func(t *testing.T, _ *generator, steps []*step) {
				require.NotEqual(t, inputs("force", "2", "name", "old"), steps[0].new.Inputs)
			},
		},
		"the replacement has the name of what it replaces": {
			session: naming{},
			old:     []*state.Resource{recorded("a", inputs("force", "1", "name", "old"))}, goal: wanted("a", inputs("force", "2", "name", "old")),
			want: "delete-replaced a, create-replacement a",
		},
		"what was deleted ahead by a run that was cut off": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), func(r *state.Resource) { r.PendingReplacement = true })},
			goal: wanted("a", inputs("x", "1")), want: "create-replacement a",
		},
		"tainted": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), func(r *state.Resource) { r.Taint = true })},
			goal: wanted("a", inputs("x", "1")), want: "create-replacement a",
		},
		"import": {
			goal: wanted("a", inputs("x", "1"), func(gl *goal) { gl.options.ImportID = "i" }), want: "import a",
			then: func(t *testing.T, _ *generator, steps []*step) { require.Equal(t, "i", steps[0].new.ImportID) },
		},
		"import of what is there": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"))},
			goal: wanted("a", inputs("x", "1"), func(gl *goal) { gl.options.ImportID = "id-a" }), want: "same a",
		},
		"import of another object in the place of a protected one": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), protected)},
			goal: wanted("a", inputs("x", "1"), func(gl *goal) { gl.options.ImportID = "i" }), fails: "the resource is protected",
		},
		"ignoreChanges": {
			old:  []*state.Resource{recorded("a", inputs("x", "1", "y", "1"))},
			goal: wanted("a", inputs("x", "2", "y", "1"), func(gl *goal) { gl.options.IgnoreChanges = []string{"x"} }), want: "same a",
			then: func(t *testing.T, _ *generator, steps []*step) {
				require.Equal(t, inputs("x", "1", "y", "1"), steps[0].new.Inputs)
			},
		},
		"replaceOnChanges": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"))},
			goal: wanted("a", inputs("x", "2"), func(gl *goal) { gl.options.ReplaceOnChanges = []string{"x"} }), want: "create-replacement a",
		},
		"protect": {
			old: []*state.Resource{recorded("a", inputs("force", "1"), protected)}, goal: wanted("a", inputs("force", "2"), protects),
			fails: "the resource is protected, but its change of force needs a replacement",
		},
		"protect, and an update": {
			old: []*state.Resource{recorded("a", inputs("x", "1"), protected)}, goal: wanted("a", inputs("x", "2"), protects), want: "update a",
		},
		"protect ends with the change that needs it": {
			old:  []*state.Resource{recorded("a", inputs("force", "1"), protected)},
			goal: wanted("a", inputs("force", "2"), func(gl *goal) { gl.options.Protect = new(false) }), want: "create-replacement a",
		},
		"protect is ignored": {
			run: run{settings: settings{Up: Up{IgnoreProtect: true}}},
			old: []*state.Resource{recorded("a", inputs("force", "1"), protected)}, goal: wanted("a", inputs("force", "2"), protects), want: "create-replacement a",
		},
		"alias": {
			old: []*state.Resource{recorded("before", inputs("x", "1"))},
			goal: wanted("a", inputs("x", "1"), func(gl *goal) {
				gl.options.Aliases = []abi.Alias{{Case: abi.AliasCaseURN, URN: named("before")}}
			}), want: "same a",
			then: func(t *testing.T, g *generator, steps []*step) {
				require.Equal(t, named("a"), steps[0].old.URN, "it is renamed first")
				require.True(t, g.registrations.IsRegistered(named("before")))
			},
		},
		"aliases of two resources": {
			old: []*state.Resource{recorded("one", inputs("x", "1")), recorded("two", inputs("x", "1"))},
			goal: wanted("a", inputs("x", "1"), func(gl *goal) {
				gl.options.Aliases = []abi.Alias{{Case: abi.AliasCaseURN, URN: named("one")}, {Case: abi.AliasCaseURN, URN: named("two")}}
			}), fails: "the aliases match two recorded resources",
		},
		"a target": {
			run: run{settings: targeting("a")}, old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "2")), want: "update a",
		},
		"no target stays as it is": {
			run: run{settings: targeting("b")}, old: []*state.Resource{recorded("a", inputs("x", "1")), recorded("b", inputs())},
			goal: wanted("a", inputs("x", "2")), want: "same a",
			then: func(t *testing.T, _ *generator, steps []*step) {
				require.Equal(t, inputs("x", "1"), steps[0].new.Inputs)
			},
		},
		"no target is not created": {
			run: run{settings: targeting("b")}, old: []*state.Resource{recorded("b", inputs())}, goal: wanted("a", inputs("x", "1")), want: "",
		},
		"read before it is compared": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), func(r *state.Resource) { r.Outputs = r.Outputs.With("stale", property.Bool(true)) })},
			goal: wanted("a", inputs("x", "1")), want: "same a",
			then: func(t *testing.T, _ *generator, steps []*step) { require.False(t, steps[0].old.Outputs.Has("stale")) },
		},
		"a refresh reads what the program registers": {
			run: run{mode: refreshing}, old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "2")), want: "refresh a",
		},
		"a refresh makes nothing":              {run: run{mode: refreshing}, goal: wanted("a", inputs("x", "2")), want: ""},
		"a destruction leaves what it deletes": {run: run{mode: destroying}, old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "2")), want: ""},
		"unknown, in a preview": {
			run: run{preview: &preview{is: true}}, old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "?")), want: "update a",
		},
		"unknown, in an update": {
			old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "?")), fails: "its inputs hold values that are not known",
		},
		"an unknown setting of the provider, and no change": {
			run: run{preview: &preview{is: true}}, session: providers.Unconfigured{},
			old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "1")), want: "update a",
		},
		"an unknown setting of the provider, and a change": {
			run: run{preview: &preview{is: true}}, session: providers.Unconfigured{},
			old: []*state.Resource{recorded("a", inputs("x", "1"))}, goal: wanted("a", inputs("x", "2")), want: "create-replacement a",
			then: func(t *testing.T, _ *generator, steps []*step) { require.True(t, steps[0].diff.maybe) },
		},
		"inputs that the provider refuses": {goal: wanted("a", inputs("refused", "1")), fails: "it is refused"},
		"a dependency that is not registered": {
			goal: wanted("a", inputs("x", "1"), func(gl *goal) { gl.deps = []urn.URN{named("b")} }), fails: "is not registered in this program",
		},
		"a component that becomes a resource": {
			old:  []*state.Resource{recorded("a", inputs("x", "1"), func(r *state.Resource) { r.Custom, r.ID, r.Provider = false, "", "" })},
			goal: wanted("a", inputs("x", "1")), want: "create-replacement a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.session == nil {
				c.session = comparing{}
			}
			g := newTestGenerator(t, &c.run, c.old, c.session)
			steps, err := g.register(t.Context(), c.goal)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			var got []string
			for _, s := range steps {
				if s.op != "" {
					got = append(got, string(s.op)+" "+s.subject().URN.Name())
				}
			}
			require.Equal(t, c.want, strings.Join(got, ", "))
			if c.then != nil {
				c.then(t, g, steps)
			}
		})
	}
}

// TestOneNameOneResource registers a name twice.
func TestOneNameOneResource(t *testing.T) {
	g := newTestGenerator(t, new(run), nil, comparing{})
	_, err := g.register(t.Context(), wanted("a", inputs()))
	require.NoError(t, err)
	_, err = g.register(t.Context(), wanted("a", inputs()))
	require.ErrorContains(t, err, "is registered twice")
}

func targeting(name string) settings {
	return settings{Up: Up{Selection: Selection{Targets: []Pattern{Pattern(named(name))}}}}
}
