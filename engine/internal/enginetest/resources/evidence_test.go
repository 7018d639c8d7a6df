package resources_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// world is a stack, its cloud, and what its deployments have told to leave behind.
type world struct {
	t *testing.T
	*enginetest.Stack
	told map[string]bool
}

// taken is an object that the next program imports.
const taken = "taken"

// newWorld returns a stack of the first program. Objects b and y go with those of a and x, whatever they are updated to.
func newWorld(t *testing.T) *world {
	w := &world{t: t, Stack: owning(t), told: make(map[string]bool)}
	w.MayFail = true
	w.with(nil)
	w.Cloud.Put(taken, "", enginetest.Props("key", 1, "made", "made of "+taken))
	owners := map[string]string{"b": "a", "y": "x"}
	w.Cloud.Owner = func(name string) string {
		if owner := owners[name]; owner != "" {
			return w.Resource(owner).ID
		}
		return ""
	}
	w.Up(everything(false))
	w.Cloud.Calls()
	return w
}

// with sets the options of the deployments that follow.
func (w *world) with(options func(*enginetest.Deployment)) {
	w.Edit = func(d *enginetest.Deployment) {
		events, preview := d.Events, false
		d.Events = func(e engine.Event) {
			switch e := e.(type) {
			case engine.Started:
				preview = e.DryRun
			case engine.Diagnostic:
				if _, rest, ok := strings.Cut(e.Message, `the object "`); ok && !preview && strings.Contains(rest, `" is retained`) {
					id, _, _ := strings.Cut(rest, `"`)
					w.told[id] = true
				}
			}
			events(e)
		}
		if options != nil {
			options(d)
		}
	}
}

// everything is a program that changes, replaces, renames, imports, adds, and drops resources if it is the next one.
func everything(next bool) enginetest.Program {
	yes, key := true, 1
	if next {
		key = 2
	}
	return func(p *enginetest.Run) (err error) {
		add := func(parent urn.URN, typ, name string, inputs property.Map, options ...enginetest.OptionsOf) (r enginetest.Resource) {
			if err == nil {
				r, err = p.Child(parent, typ, name, inputs, options...)
			}
			return r
		}
		group := func(parent urn.URN, name string) (r enginetest.Resource) {
			if err == nil {
				var resp abi.RegisterResourceResponse
				resp, err = p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Group, Name: name, Parent: parent})
				r = enginetest.Resource{RegisterResourceResponse: resp}
			}
			return r
		}
		with := func(owner enginetest.Resource) enginetest.OptionsOf {
			return func(o *abi.ResourceOptions) { o.DeletedWith = owner.URN }
		}
		a := add(p.Root, enginetest.Strict, "a", enginetest.Props("key", key))
		add(p.Root, enginetest.Plain, "b", enginetest.Props(), with(a))
		add(p.Root, enginetest.Plain, "w", enginetest.Props(), func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{a.URN} })
		outer := group(p.Root, "outer")
		inner := group(outer.URN, "inner")
		c := add(inner.URN, enginetest.Single, "c", enginetest.Props("key", key, "from", a.Out("made")))
		add(p.Root, enginetest.Strict, "d", enginetest.Props("key", c.Out("made")))
		add(p.Root, enginetest.Plain, "e", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Dependencies = []urn.URN{outer.URN} })
		var x enginetest.Resource
		if next {
			x = add(p.Root, enginetest.Plain, "x", enginetest.Props("key", 1), func(o *abi.ResourceOptions) { o.ImportID = taken })
			add(p.Root, enginetest.Plain, "renamed", enginetest.Props("key", key), aliased(enginetest.AliasName("named")))
			add(p.Root, enginetest.Plain, "new", enginetest.Props())
		} else {
			x = add(p.Root, enginetest.Plain, "x", enginetest.Props("key", 1))
			add(p.Root, enginetest.Plain, "named", enginetest.Props("key", key))
			old := add(p.Root, enginetest.Plain, "old", enginetest.Props())
			add(p.Root, enginetest.Plain, "older", enginetest.Props("from", old.Out("made")))
			add(p.Root, enginetest.Plain, "left", enginetest.Props(), func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes })
		}
		add(p.Root, enginetest.Plain, "y", enginetest.Props(), with(x))
		return err
	}
}

// requireKnown requires that each object is recorded, that its creation is pending, or that it was told to stay.
func (w *world) requireKnown() {
	w.t.Helper()
	known := map[string]bool{taken: true}
	for _, res := range w.Snapshot().Resources() {
		known[res.ID] = true
	}
	for _, op := range w.Snapshot().Operations() {
		if op.Type == state.OperationCreating {
			known[op.Resource.URN.Name()] = true
		}
	}
	for _, id := range w.Cloud.IDs() {
		name, _, _ := strings.Cut(id, "-")
		require.True(w.t, known[id] || known[name] || w.told[id], "nothing knows of %s", id)
	}
}

// requireSettled requires that the next update reaches the program, if need be after a refresh, and that all leaves then.
func (w *world) requireSettled() {
	w.t.Helper()
	w.requireKnown()
	w.with(nil)
	w.Cloud.Hook, w.Cloud.Lost, w.Cloud.Asked = nil, nil, nil
	if _, err := w.Try(enginetest.Up, everything(true)); err != nil {
		require.Regexp(w.t, "husk refresh|does not exist", err.Error())
		w.Refresh()
		w.Up(everything(true))
	}
	w.requireKnown()
	made := make(map[string]bool)
	for _, res := range w.Snapshot().Resources() {
		require.False(w.t, res.Delete || res.PendingReplacement, "%s is half done", res.URN)
		if res.Custom && !res.IsProvider() {
			require.Contains(w.t, w.Cloud.IDs(), res.ID, "%s has no object", res.URN)
			require.False(w.t, made[res.ID], "%s is two resources", res.ID)
			made[res.ID] = true
		}
	}
	require.Len(w.t, made, 10)
	require.Zero(w.t, w.Up(everything(true)).Total(), "%v", w.Steps())
	w.Destroy()
	require.Zero(w.t, w.Snapshot().Len())
	w.requireKnown()
}

// runs are the deployments in which something goes wrong.
var runs = map[string]struct {
	run     enginetest.Operation
	options func(*enginetest.Deployment)
}{
	"up":                    {enginetest.Up, nil},
	"up, going on":          {enginetest.Up, goOn},
	"up, after a refresh":   {enginetest.Up, func(d *enginetest.Deployment) { d.RefreshFirst = true }},
	"refresh":               {enginetest.Refresh, nil},
	"refresh, with program": {enginetest.Refresh, func(d *enginetest.Deployment) { d.RunProgram = true }},
	"destroy":               {enginetest.Destroy, nil},
	"destroy, going on":     {enginetest.Destroy, goOn},
	"destroy, with program": {enginetest.Destroy, func(d *enginetest.Deployment) { d.RunProgram = true }},
}

// Whatever kind of error any call answers with, before or after it has had its effect, nothing is forgotten and nothing is
// made twice.
func TestErrorsOfEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of deployments")
	}
	kinds := []abi.ErrorKind{abi.ErrorKindNotFound, abi.ErrorKindUnimplemented, abi.ErrorKindUnavailable, abi.ErrorKindCancelled}
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var calls []string
			note := func(call string) error { calls = append(calls, call); return nil }
			w.Cloud.Hook, w.Cloud.Asked = note, note
			w.with(func(d *enginetest.Deployment) {
				d.Parallel = 1
				if r.options != nil {
					r.options(d)
				}
			})
			_, err := w.Try(r.run, everything(true))
			require.NoError(t, err)
			w.requireSettled()
			require.NotEmpty(t, calls)
			slices.Sort(calls)
			for _, call := range slices.Compact(calls) {
				for _, kind := range kinds {
					for _, late := range []bool{false, true} {
						asks := strings.HasPrefix(call, "check ") || strings.HasPrefix(call, "diff ") || strings.HasPrefix(call, "read ")
						refuses := kind == abi.ErrorKindNotFound || kind == abi.ErrorKindUnimplemented
						if late && (asks || strings.HasPrefix(call, "create ") && refuses) { // which says that nothing was made
							continue
						}
						t.Run(fmt.Sprintf("%s, %v, late %v", call, kind, late), func(t *testing.T) {
							w := newWorld(t)
							w.with(r.options)
							fail := func(got string) error {
								if got == call {
									return abi.NewError(kind, "no")
								}
								return nil
							}
							if late {
								w.Cloud.Lost = func(got, _ string) error { return fail(got) }
							} else {
								w.Cloud.Hook, w.Cloud.Asked = fail, fail
							}
							_, _ = w.Try(r.run, everything(true))
							w.requireSettled()
						})
					}
				}
			}
		})
	}
}

// Nor is anything if the process is killed at any write, before or after it.
func TestKilledInEveryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of deployments")
	}
	for name, r := range runs {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				for at, more := 1, true; more; at++ {
					w := newWorld(t)
					w.with(r.options)
					more = w.CrashAt(at, late, r.run, everything(true))
					w.requireSettled()
				}
			})
		}
	}
}

// An update of a selection is refused by its preview or keeps to the plan of that, and leaves no resource without its object.
func TestSelectionsOfEverything(t *testing.T) {
	for i, name := range []string{"a", "b", "w", "outer", "inner", "c", "d", "e", "x", "y", "named", "renamed", "new", "old", "older", "left"} {
		if i%4 != 0 && testing.Short() {
			continue
		}
		for _, dependents := range []bool{false, true} {
			for _, excluded := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, dependents %v, excluded %v", name, dependents, excluded), func(t *testing.T) {
					w := newWorld(t)
					patterns := []engine.Pattern{engine.Pattern("**::" + name)}
					selection := engine.Selection{Targets: patterns, TargetDependents: dependents}
					if excluded {
						selection = engine.Selection{Excludes: patterns, ExcludeDependents: dependents}
					}
					var planned *engine.Plan
					w.with(func(d *enginetest.Deployment) { d.Selection, d.DraftPlan = selection, true })
					result, foreseen := w.Try(enginetest.Preview, everything(true))
					steps := w.Steps()
					if foreseen == nil {
						planned, _ = w.Reread(result.Plan)
					}
					w.with(func(d *enginetest.Deployment) { d.Selection, d.Plan = selection, planned })
					_, err := w.Try(enginetest.Up, everything(true))
					require.Equal(t, foreseen == nil, err == nil, "%v, %v", foreseen, err)
					if err == nil {
						require.ElementsMatch(t, steps, w.Steps())
					}
					for _, res := range w.Snapshot().Resources() {
						if res.Custom && !res.IsProvider() && !res.PendingReplacement {
							require.Contains(t, w.Cloud.IDs(), res.ID, "%s has no object", res.URN)
						}
					}
					w.requireSettled()
				})
			}
		}
	}
}

// An owner that an earlier run replaced, without what it owns, is replaced still: the old copy stays until that is.
func TestOwnerThatAnEarlierRunReplaced(t *testing.T) {
	w := newWorld(t)
	b := w.Resource("b").ID
	failing(w.Stack, "create b")
	_, err := w.Try(enginetest.Up, everything(true))
	require.ErrorContains(t, err, "no luck")
	w.Cloud.Hook = nil
	w.with(func(d *enginetest.Deployment) { d.Selection.Targets = []engine.Pattern{"**::a"} })
	w.Up(everything(true))
	require.Contains(t, w.Cloud.IDs(), b, "it goes with the old copy")
	w.with(nil)
	w.Up(everything(true))
	require.Equal(t, "a, which it is deleted with, is replaced", reasons(w.Stack)["b"])
	require.Equal(t, "a, which it is replaced with, is replaced", reasons(w.Stack)["w"])
	w.requireSettled()
}

// What goes with an object goes with it, too, if another object is imported or read in its place.
func TestOwnerInWhosePlaceAnotherIsTaken(t *testing.T) {
	program := func(take func(*enginetest.Run) (urn.URN, error)) enginetest.Program {
		return func(p *enginetest.Run) error {
			owner, err := take(p)
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = owner })
			return err
		}
	}
	custom := func(options ...enginetest.OptionsOf) enginetest.Program {
		return program(func(p *enginetest.Run) (urn.URN, error) {
			a, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), options...)
			return a.URN, err
		})
	}
	for name, next := range map[string]enginetest.Program{
		"imported": custom(func(o *abi.ResourceOptions) { o.ImportID = "other" }),
		"read": program(func(p *enginetest.Run) (urn.URN, error) {
			resp, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{Type: enginetest.Plain, Name: "a", ID: "other"})
			return resp.URN, err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := owning(t)
			s.Cloud.Put("other", "", enginetest.Props())
			s.Cloud.Owner = func(name string) string {
				if name == "b" {
					return s.Resource("a").ID
				}
				return ""
			}
			s.Up(custom())
			s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}})
			_, err := s.Try(enginetest.Up, next)
			require.ErrorContains(t, err, "::b depends on it and is not selected")
			require.Contains(t, s.Cloud.IDs(), "b-2")
			s.Edit = nil
			s.Up(next)
			require.Equal(t, []string{"b-3", "other"}, s.Cloud.IDs())
			require.Equal(t, "b-3", s.Resource("b").ID)
		})
	}
}

// What was to be retained is, if the program reads another object in its place.
func TestRetainedAndThenRead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Put("other", "", enginetest.Props())
	yes := true
	s.Up(enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes }))
	s.Up(reading("other"))
	require.Equal(t, []string{"a-1", "other"}, s.Cloud.IDs())
}

// A selection means a resource by the name that it had before as well.
func TestFormerNamesAreSelected(t *testing.T) {
	renamed := func(key int) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "b", enginetest.Props("key", key), aliased(enginetest.AliasName("a")))
			return err
		}
	}
	former := []engine.Pattern{"**::a"}
	for name, c := range map[string]struct {
		edit func(*enginetest.Deployment)
		key  int
		want []string
	}{
		"a target": {targeting(engine.Selection{Targets: former}), 2, []string{"update b"}},
		"excluded": {targeting(engine.Selection{Excludes: former}), 2, nil},
		"replaced": {func(d *enginetest.Deployment) { d.Replace = former }, 1, []string{"create-replacement b", "delete-replaced b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(enginetest.One(enginetest.Props("key", 1)))
			s.Edit = c.edit
			s.Preview(renamed(c.key))
			require.Equal(t, c.want, s.Steps())
			s.Up(renamed(c.key))
			require.Equal(t, c.want, s.Steps())
		})
	}
}

// What a failed resource was under an earlier name stays, also below a component, and is found by the next run.
func TestContinueOnErrorKeepsFormerNames(t *testing.T) {
	one := func(parent urn.URN, p *enginetest.Run, name string, from property.Map, aliases ...abi.Alias) error {
		_, err := p.Child(parent, enginetest.Plain, name, from, aliased(aliases...))
		return err
	}
	part := func(group string, alias ...abi.Alias) func(*enginetest.Run, property.Map) error {
		return func(p *enginetest.Run, from property.Map) error {
			g, err := p.Component(enginetest.Group, group, from, aliased(alias...))
			if err != nil {
				return err
			}
			return one(g.URN, p, group+"-part", enginetest.Props())
		}
	}
	type register = func(*enginetest.Run, property.Map) error
	for name, c := range map[string]struct {
		before, after register
		last          register // what is right
	}{
		"skipped": {
			before: func(p *enginetest.Run, _ property.Map) error { return one(p.Root, p, "a", enginetest.Props()) },
			after: func(p *enginetest.Run, from property.Map) error {
				return one(p.Root, p, "b", from, enginetest.AliasName("a"))
			},
		},
		"below a component": {before: part("first"), after: part("second", enginetest.AliasName("first"))},
		"of two names": {
			before: func(p *enginetest.Run, _ property.Map) error {
				if err := one(p.Root, p, "a", enginetest.Props()); err != nil {
					return err
				}
				return one(p.Root, p, "b", enginetest.Props())
			},
			after: func(p *enginetest.Run, _ property.Map) error {
				return one(p.Root, p, "c", enginetest.Props(), enginetest.AliasName("a"), enginetest.AliasName("b"))
			},
			last: func(p *enginetest.Run, _ property.Map) error {
				if err := one(p.Root, p, "c", enginetest.Props(), enginetest.AliasName("a")); err != nil {
					return err
				}
				return one(p.Root, p, "b", enginetest.Props())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(func(p *enginetest.Run) error { return c.before(p, property.Map{}) })
			before := s.Cloud.IDs()
			program := func(rest register) enginetest.Program {
				return func(p *enginetest.Run) error {
					n, err := p.Custom(enginetest.Plain, "new", enginetest.Props())
					if err != nil {
						return err
					}
					return rest(p, enginetest.Props("from", n.Out("made")))
				}
			}
			s.Edit = goOn
			failing(s, "create new")
			_, err := s.Try(enginetest.Up, program(c.after))
			require.ErrorContains(t, err, "no luck")
			require.Equal(t, before, s.Cloud.IDs())
			s.Cloud.Hook, s.Edit = nil, nil
			if c.last == nil {
				c.last = c.after
			}
			s.Up(program(c.last))
			require.Subset(t, s.Cloud.IDs(), before)
		})
	}
}

// If nobody knows which resource a registration was to be, nothing is deleted for it.
func TestNamelessFailureDeletesNothing(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props()))
	s.Edit = goOn
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom("test:Plain", "a", enginetest.Props())
		require.Error(t, err)
		return nil
	}))
	require.ErrorContains(t, err, "invalid resource type")
	require.Equal(t, []string{"a-1"}, s.Cloud.IDs())
}

// What failed, or is left as it was, may need what it is recorded with: that is not deleted before its replacement.
func TestEarlyDeletionOfWhatIsStillNeeded(t *testing.T) {
	program := func(next bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			if next {
				if _, err := p.Custom(enginetest.Strict, "user", enginetest.Props("key", "own")); err != nil {
					return err
				}
				_, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", 2))
				return err
			}
			a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", 1))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Strict, "user", enginetest.Props("key", a.Out("made")))
			return err
		}
	}
	for name, edit := range map[string]func(*enginetest.Deployment){
		"failed": goOn, "excluded": targeting(engine.Selection{Excludes: []engine.Pattern{"**::user"}}),
		"no target": targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}}),
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program(false))
			s.Edit = edit
			failing(s, "create user")
			_, err := s.Try(enginetest.Up, program(true))
			require.Error(t, err)
			require.Equal(t, []string{"a-1", "user-2"}, s.Cloud.IDs())
			s.Edit, s.Cloud.Hook = nil, nil
			s.Up(program(true))
			require.Len(t, s.Cloud.IDs(), 2)
		})
	}
}

// An object that its provider knows by another ID is recorded by that, and adopted only if no resource is it.
func TestIDsThatChange(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("key", 1)))
	s.Cloud.Read = func(r abi.ReadRequest) (abi.ReadResponse, error) {
		inputs := enginetest.Props("key", 1)
		return abi.ReadResponse{ID: "other", State: enginetest.Props("key", 1, "made", "made of a-1"), Inputs: &inputs}, nil
	}
	s.Refresh()
	require.Equal(t, "other", s.Resource("a").ID)

	reads := enginetest.NewStack(t, enginetest.NewCloud())
	for _, id := range []string{"one", "another"} { // which are alike
		reads.Cloud.Put(id, "", enginetest.Props("size", 1))
		reads.Up(reading(id))
		require.Equal(t, id, reads.Resource("a").ID)
	}

	two := enginetest.Program(func(p *enginetest.Run) error {
		if err := enginetest.One(enginetest.Props("key", 1))(p); err != nil {
			return err
		}
		_, err := p.Custom(enginetest.Plain, "b", enginetest.Props("key", 1))
		return err
	})
	answering(s, "create b", abi.NewError(abi.ErrorKindUnavailable, "no answer"))
	_, err := s.Try(enginetest.Up, two)
	require.ErrorContains(t, err, "no answer")
	b := urn.New("dev", "proj", s.Resource("proj-dev").URN, enginetest.Plain, "b")
	s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates = map[urn.URN]string{b: "nickname"} }
	_, err = s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, `the object "other" is urn:pulumi:dev::proj::test:index:Plain::a, which is recorded already`)
	require.Nil(t, s.Resource("b"))
}

// A provider that fails to compare its configurations says nothing of its resources.
func TestProviderThatCannotBeCompared(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = func(r abi.DiffRequest) (abi.DiffResponse, error) {
		if !r.OldInputs.Get("region").Equal(r.News.Get("region")) {
			return abi.DiffResponse{}, abi.NewError(abi.ErrorKindUnavailable, "no answer")
		}
		return abi.DiffResponse{Changes: abi.DiffChangesNone}, nil
	}
	s := enginetest.NewStack(t, cloud)
	program := func(by int) enginetest.Program {
		return func(p *enginetest.Run) error {
			var references []string
			for i := range 2 {
				r, err := p.Custom(enginetest.ProviderType, fmt.Sprint("p", i), enginetest.Props("region", i))
				if err != nil {
					return err
				}
				references = append(references, r.Reference())
			}
			_, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = references[by] })
			return err
		}
	}
	s.Up(program(0))
	s.Cloud.Calls()
	_, err := s.Try(enginetest.Up, program(1))
	require.ErrorContains(t, err, `it is not known whether the provider "p1" can manage what "p0" has made, so nothing was changed: `)
	require.Empty(t, s.Cloud.Calls())
}
