package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

func pattern(typ, name string) engine.Pattern {
	return engine.Pattern(urn.New("dev", "proj", "", typ, name))
}

func TestTargets(t *testing.T) {
	all, a, b, c := engine.Pattern("**"), pattern(enginetest.Strict, "a"), pattern(enginetest.Plain, "b"), pattern(enginetest.Plain, "c")
	for _, test := range []struct {
		name      string
		selection engine.Selection
		steps     []string
		program   enginetest.Program
		failure   string
	}{
		{"a target is updated, all else stays", engine.Selection{Targets: []engine.Pattern{c}}, []string{"update c"}, pairs("1", "2", "2"), ""},
		{"several targets", engine.Selection{Targets: []engine.Pattern{b, c}}, []string{"update b", "update c"}, pairs("1", "2", "2"), ""},
		{"dependents of a target", engine.Selection{Targets: []engine.Pattern{a}, TargetDependents: true},
			[]string{"create-replacement a", "update b", "delete-replaced a"}, pairs("2", "2", "2"), ""},
		{"a replaced target leaves its dependents", engine.Selection{Targets: []engine.Pattern{a}},
			[]string{"create-replacement a", "delete-replaced a"}, pairs("2", "2", "2"), ""},
		{"a star is one part of a URN", engine.Selection{Targets: []engine.Pattern{"urn:pulumi:dev::proj::test:index:Plain::*"}},
			[]string{"update b", "update c"}, pairs("2", "2", "2"), ""},
		{"a star does not reach over a colon", engine.Selection{Targets: []engine.Pattern{"urn:*::c"}}, nil, pairs("2", "2", "2"),
			"--target urn:*::c: there is no such resource"},
		{"two stars do", engine.Selection{Targets: []engine.Pattern{"urn:**::c"}}, []string{"update c"}, pairs("2", "2", "2"), ""},
		{"everything", engine.Selection{Targets: []engine.Pattern{all}}, []string{"update b", "update c"}, pairs("1", "2", "2"), ""},
		{"a target that does not exist", engine.Selection{Targets: []engine.Pattern{c, pattern(enginetest.Plain, "d")}}, []string{"update c"}, pairs("2", "2", "2"),
			"--target urn:pulumi:dev::proj::test:index:Plain::d: there is no such resource"},
		{"an excluded resource stays", engine.Selection{Excludes: []engine.Pattern{c}}, []string{"update b"}, pairs("1", "2", "2"), ""},
		{"excluded with dependents", engine.Selection{Excludes: []engine.Pattern{a}, ExcludeDependents: true}, []string{"update c"}, pairs("2", "2", "2"), ""},
		{"an excluded URN that does not exist", engine.Selection{Excludes: []engine.Pattern{pattern(enginetest.Plain, "d")}}, []string{"update c"}, pairs("1", "1", "2"),
			"--exclude urn:pulumi:dev::proj::test:index:Plain::d: there is no such resource"},
		{"excludes that match nothing", engine.Selection{Excludes: []engine.Pattern{"**::d"}}, []string{"update c"}, pairs("1", "1", "2"), ""},
		{"targets and excludes", engine.Selection{Targets: []engine.Pattern{a}, Excludes: []engine.Pattern{c}}, nil, pairs("1", "1", "2"),
			"either targets or excludes"},
		{"what the program no longer has is deleted only as a target", engine.Selection{Targets: []engine.Pattern{a}}, nil, func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", "1"))
			return err
		}, ""},
		{"a target that the program no longer has", engine.Selection{Targets: []engine.Pattern{c}}, []string{"delete c"}, enginetest.Empty, ""},
		{"a deleted target that another needs", engine.Selection{Targets: []engine.Pattern{a}}, nil, enginetest.Empty,
			string(a) + " cannot be deleted: " + string(b) + " depends on it and is not selected"},
		{"a deleted target with its dependents", engine.Selection{Targets: []engine.Pattern{a}, TargetDependents: true}, []string{"delete b", "delete a"}, enginetest.Empty, ""},
		{"a kept dependent keeps what it needs", engine.Selection{Excludes: []engine.Pattern{b}}, []string{"delete c"}, enginetest.Empty, ""},
		{"dependents of what is excluded stay", engine.Selection{Excludes: []engine.Pattern{a}, ExcludeDependents: true}, []string{"delete c"}, enginetest.Empty, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, run := range []enginetest.Operation{
				enginetest.Preview, enginetest.Up,
			} {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				s.Up(pairs("1", "1", "1"))
				s.Edit = targeting(test.selection)
				_, err := s.Try(run, test.program)
				if test.failure == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, test.failure)
				}
				require.Equal(t, test.steps, s.Steps())
			}
		})
	}
}

// What is not selected and new is not created. What selected resources need of it is
// an error, and nobody else's; a preview tells of all.
func TestNewResourcesThatAreNotTargets(t *testing.T) {
	results := make(map[string]abi.RegistrationResult)
	program := func(needy ...string) enginetest.Program {
		return func(p *enginetest.Run) error {
			var err error
			register := func(name string, inputs property.Map) enginetest.Resource {
				r, e := p.Custom(enginetest.Plain, name, inputs)
				results[name] = r.Result
				err = errors.Join(err, e)
				return r
			}
			first := register("first", enginetest.Props())
			second := register("second", enginetest.Props("from", first.Out("made")))
			for _, name := range needy {
				register(name, enginetest.Props("from", second.Out("made")))
			}
			own := register("own", enginetest.Props())
			return errors.Join(err, p.Outputs(enginetest.Props("second", second.Out("made"), "own", own.Out("made"))))
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Plain, "own")}})
	s.Up(program())
	require.Equal(t, []string{"create proj-dev", "create own"}, s.Steps())
	require.Equal(t, map[string]abi.RegistrationResult{
		"first": abi.RegistrationResultSkipped, "second": abi.RegistrationResultSkipped, "own": abi.RegistrationResultSuccess,
	}, results)
	require.Nil(t, s.Resource("first"))
	require.Equal(t, []string{"own"}, s.Resource("proj-dev").Outputs.Keys())

	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::x", "**::y"}})
	_, err := s.Try(enginetest.Preview, program("x", "y"))
	for _, name := range []string{"x", "y"} {
		require.ErrorContains(t, err, string(pattern(enginetest.Plain, name))+" depends on "+string(pattern(enginetest.Plain, "second"))+
			", which does not exist yet and is not selected: add it with --target")
	}
	_, err = s.Try(enginetest.Up, program("x", "y"))
	var missing *engine.NotSelectedError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, engine.NotSelectedError{Resource: urn.URN(pattern(enginetest.Plain, "x")), Needs: urn.URN(pattern(enginetest.Plain, "second"))}, *missing)
	require.Empty(t, s.Steps())

	s.Edit = nil
	s.Up(program("x"))
	require.Equal(t, []string{"own", "second"}, s.Resource("proj-dev").Outputs.Keys())
}

// A resource that is left alone keeps its state, also where the program has other
// options and dependencies for it, and where it has another name.
func TestWhatIsNotSelectedKeepsItsState(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(pairs("1", "1", "1"))
	before := *s.Resource("b")
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Plain, "c")}})
	yes := true
	s.Up(func(p *enginetest.Run) error {
		extra, errExtra := p.Custom(enginetest.Plain, "extra", enginetest.Props())
		b, errB := p.Custom(enginetest.Plain, "renamed", enginetest.Props("from", extra.Out("made")), func(o *abi.ResourceOptions) {
			o.Protect = &yes
			o.Aliases = []abi.Alias{{Case: abi.AliasCaseURN, URN: urn.URN(pattern(enginetest.Plain, "b"))}}
		})
		require.Equal(t, before.Outputs.Get("made"), b.State.Get("made"))
		_, errC := p.Custom(enginetest.Plain, "c", enginetest.Props("key", "2"))
		return errors.Join(errExtra, errB, errC)
	})
	require.Equal(t, []string{"update c"}, s.Steps())
	after := s.Resource("renamed")
	before.URN = after.URN
	require.Equal(t, before, *after)
}

// The provider of a target is configured anew though it is no target, and other
// resources keep the one that they have.
func TestProvidersNeedNotBeTargets(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(region, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			prov, errProv := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", region))
			_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
			_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Version = key + ".0.0" })
			return errors.Join(errProv, errA, errB)
		}
	}
	s.Up(program("1", "1"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Plain, "a")}})
	s.Up(program("2", "2"))
	require.Equal(t, []string{"update mine", "update a"}, s.Steps())
	s.Edit = nil
	require.Equal(t, engine.Changes{Update: 1, Same: 3}, s.Up(program("2", "2")))
	require.NotNil(t, s.Resource("default_2_0_0"))
	require.Nil(t, s.Resource("default_1_0_0"))
}

// Children of a component that is new and no target cannot be made.
func TestComponentsThatAreNotTargets(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "child", enginetest.Props())
		return errors.Join(err, p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: g.URN, Outputs: enginetest.Props("x", 1)}))
	}
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::child"}})
	_, err := s.Try(enginetest.Up, enginetest.Program(program))
	require.ErrorContains(t, err, "child depends on urn:pulumi:dev::proj::"+enginetest.Group+"::g, which does not exist yet")
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::g", "**::child"}})
	s.Up(program)
	require.Equal(t, []string{"create g", "create child"}, s.Steps())
	require.Equal(t, []string{"x"}, s.Resource("g").Outputs.Keys())
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::g"}})
	_, err = s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "::child depends on it and is not selected")
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::g"}, TargetDependents: true})
	require.Equal(t, engine.Changes{Delete: 2}, s.Destroy())
}

// A target that is deleted before its replacement takes its dependents along, which
// must be selected as well.
func TestTargetsThatAreDeletedFirst(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Single, "1"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Single, "a")}})
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
	require.ErrorContains(t, err, string(pattern(enginetest.Single, "a"))+" cannot be deleted: "+string(pattern(enginetest.Single, "b"))+" depends on it and is not selected")
	require.Empty(t, s.Steps())
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Single, "a")}, TargetDependents: true})
	s.Up(enginetest.Chain(enginetest.Single, "2"))
	require.Equal(t, []string{"delete-replaced b", "delete-replaced a", "create-replacement a", "create-replacement b", "update c"}, s.Steps())
}

func TestTargetedRefreshAndDestroy(t *testing.T) {
	yes := true
	program := func(p *enginetest.Run) error {
		if err := pairs("1", "1", "1")(p); err != nil {
			return err
		}
		_, err := p.Custom(enginetest.Plain, "guarded", enginetest.Props(), func(o *abi.ResourceOptions) { o.Protect = &yes })
		return err
	}
	a, b, c := pattern(enginetest.Strict, "a"), pattern(enginetest.Plain, "b"), pattern(enginetest.Plain, "c")
	for _, test := range []struct {
		name      string
		run       enginetest.Operation
		selection engine.Selection
		steps     []string
		failure   string
	}{
		{"refresh a target", enginetest.Refresh, engine.Selection{Targets: []engine.Pattern{c}}, []string{"update c"}, ""},
		{"refresh a target and its dependents", enginetest.Refresh, engine.Selection{Targets: []engine.Pattern{a}, TargetDependents: true},
			[]string{"update a", "update b"}, ""},
		{"refresh all else", enginetest.Refresh, engine.Selection{Excludes: []engine.Pattern{c, "**::guarded"}}, []string{"update a", "update b"}, ""},
		{"refresh what is not there", enginetest.Refresh, engine.Selection{Targets: []engine.Pattern{"**::d"}}, nil, "--target **::d: there is no such resource"},
		{"destroy a target", enginetest.Destroy, engine.Selection{Targets: []engine.Pattern{c}}, []string{"delete c"}, ""},
		{"destroy a target that another needs", enginetest.Destroy, engine.Selection{Targets: []engine.Pattern{a, c}}, nil,
			string(b) + " depends on it and is not selected"},
		{"destroy a target and its dependents", enginetest.Destroy, engine.Selection{Targets: []engine.Pattern{a}, TargetDependents: true}, []string{"delete b", "delete a"}, ""},
		{"destroy all but what a resource needs", enginetest.Destroy, engine.Selection{Excludes: []engine.Pattern{b, "**::guarded"}}, []string{"delete c"}, ""},
		{"destroy all but protected ones", enginetest.Destroy, engine.Selection{ExcludeProtected: true}, []string{"delete b", "delete c", "delete a"}, ""},
		{"destroy what is not there", enginetest.Destroy, engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Plain, "d")}}, nil, "there is no such resource"},
	} {
		for _, withProgram := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				s.Up(program)
				for _, id := range s.Cloud.IDs() {
					s.Cloud.Change(id, func(m property.Map) property.Map { return m.With("key", property.String("drifted")) })
				}
				s.Edit = func(d *enginetest.Deployment) { d.Selection, d.RunProgram, d.Parallel = test.selection, withProgram, 1 }
				_, err := s.Try(test.run, enginetest.Program(program))
				if test.failure == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, test.failure)
				}
				require.ElementsMatch(t, test.steps, s.Steps())
			})
		}
	}
}

// What is deleted with a resource that is kept needs a deletion of its own.
func TestDeletedWithWhatIsExcluded(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		return err
	})
	s.Cloud.Calls()
	s.Edit = targeting(engine.Selection{Excludes: []engine.Pattern{pattern(enginetest.Plain, "a")}})
	s.Destroy()
	require.Equal(t, []string{"delete b-2"}, s.Cloud.Calls())
}

func TestReadsThatAreNotTargets(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("key", "1")))
	id := s.Resource("a").ID
	program := func(id string) enginetest.Program {
		return func(p *enginetest.Run) error {
			first, err := p.Custom(enginetest.Plain, "first", enginetest.Props())
			if err != nil {
				return err
			}
			read := func(name, id string, deps ...urn.URN) abi.ReadResourceResponse {
				resp, e := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
					ID: id, Type: enginetest.Plain, Name: name, Options: abi.ResourceOptions{Dependencies: deps},
				})
				err = errors.Join(err, e)
				return resp
			}
			require.Equal(t, "1", mustText(read("free", id).State.Get("key")))
			read("after", id, first.URN)
			read("a", "another")
			return err
		}
	}
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::proj-dev"}})
	s.Up(program(id))
	require.Equal(t, []string{"read free"}, s.Steps())
	require.Nil(t, s.Resource("after"))
	require.False(t, s.Resource("a").External)
}

func TestReplaceByPattern(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(pairs("1", "1", "1"))
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**::c"} }
	s.Up(pairs("1", "1", "1"))
	require.Equal(t, []string{"create-replacement c", "delete-replaced c"}, s.Steps())
	s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**::d"} }
	_, err := s.Try(enginetest.Up, pairs("1", "1", "2"))
	require.ErrorContains(t, err, "--replace **::d: there is no such resource")
	require.Empty(t, s.Steps())
}

// An invoke that waits for a resource which is not created has no answer.
func TestFunctionsThatNeedWhatIsNotCreated(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Invoke = func(req abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: req.Args}, nil
	}
	var unknown []bool
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::proj-dev"}})
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		call := func(args property.Map, deps ...urn.URN) {
			resp, e := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:f", Args: args, Options: abi.FunctionOptions{DependsOn: deps}})
			err = errors.Join(err, e)
			unknown = append(unknown, resp.Unknown)
		}
		call(enginetest.Props("x", a.Out("made")))
		call(enginetest.Props(), a.URN)
		call(enginetest.Props())
		return err
	})
	require.Equal(t, []bool{true, true, false}, unknown)
}

// What is left as it is may still depend on what now comes to depend on it.
func TestTargetsThatCloseACircle(t *testing.T) {
	program := func(names ...string) enginetest.Program {
		return func(p *enginetest.Run) error {
			var last []urn.URN
			for _, name := range names {
				r, err := p.Custom(enginetest.Plain, name, enginetest.Props(), func(o *abi.ResourceOptions) { o.Dependencies = last })
				if err != nil {
					return err
				}
				last = []urn.URN{r.URN}
			}
			return nil
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program("a", "b", "c"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}})
	for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
		_, err := s.Try(run, program("c", "b", "a"))
		require.ErrorContains(t, err, "::a now depends on urn:pulumi:dev::proj::test:index:Plain::b, which depended on it so far and is not selected")
	}
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a", "**::b"}})
	s.Up(program("b", "a", "c"))
	s.Edit = nil
	s.Up(program("c", "b", "a"))
}

// What is to be replaced or deleted along with a target must be selected too.
func TestReplacedTargetsThatTakeOthersAlong(t *testing.T) {
	for name, bind := range map[string]func(*abi.ResourceOptions, urn.URN){
		"deletedWith": func(o *abi.ResourceOptions, u urn.URN) { o.DeletedWith = u },
		"replaceWith": func(o *abi.ResourceOptions, u urn.URN) { o.ReplaceWith = []urn.URN{u} },
	} {
		t.Run(name, func(t *testing.T) {
			program := func(key string) enginetest.Program {
				return func(p *enginetest.Run) error {
					a, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key))
					if err != nil {
						return err
					}
					_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { bind(o, a.URN) })
					return err
				}
			}
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program("1"))
			s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Strict, "a")}})
			_, err := s.Try(enginetest.Up, program("2"))
			require.ErrorContains(t, err, "::a cannot be deleted: urn:pulumi:dev::proj::test:index:Plain::b depends on it and is not selected")
			require.Empty(t, s.Steps())
			s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{pattern(enginetest.Strict, "a")}, TargetDependents: true})
			require.Equal(t, 2, s.Up(program("2")).Replace)
		})
	}
}

// Who uses a component uses its parts: what is not selected among them is missing, and what is excluded with its
// dependents takes them along.
func TestPartsOfComponentsThatAreNotSelected(t *testing.T) {
	program := func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		nested, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Group, Name: "nested", Parent: g.URN})
		if err != nil {
			return err
		}
		part, err := p.Child(nested.URN, enginetest.Plain, "part", enginetest.Props())
		if err != nil {
			return err
		}
		if _, err := p.Child(g.URN, enginetest.Plain, "beside", enginetest.Props(), after(nested.URN)); err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "user", enginetest.Props("part", part.Out("made").Plain()), after(g.URN))
		return err
	}
	const missing = "::user depends on urn:pulumi:dev::proj::proj:index:Group$"
	for name, c := range map[string]struct {
		selection engine.Selection
		steps     []string
		failure   string
	}{
		"the user alone":                {engine.Selection{Targets: []engine.Pattern{"**::g", "**::nested", "**::user"}}, nil, missing},
		"a part excluded":               {engine.Selection{Excludes: []engine.Pattern{"**::part", "**::beside"}}, nil, missing},
		"a part excluded with users":    {engine.Selection{Excludes: []engine.Pattern{"**::part"}, ExcludeDependents: true}, []string{"create proj-dev", "create g", "create nested"}, ""},
		"a part beside":                 {engine.Selection{Excludes: []engine.Pattern{"**::beside"}, ExcludeDependents: true}, []string{"create proj-dev", "create g", "create nested", "create part"}, ""},
		"all that the user needs":       {engine.Selection{Targets: []engine.Pattern{"**::g", "**::nested", "**::part", "**::beside", "**::user"}}, []string{"create proj-dev", "create g", "create nested", "create part", "create beside", "create user"}, ""},
		"a part and what depends on it": {engine.Selection{Targets: []engine.Pattern{"**::g", "**::nested", "**::part"}, TargetDependents: true}, []string{"create proj-dev", "create g", "create nested", "create part", "create beside", "create user"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				s.Edit = targeting(c.selection)
				_, err := s.Try(run, enginetest.Program(program))
				if c.failure != "" {
					require.ErrorContains(t, err, c.failure)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, c.steps, s.Steps())
			}
		})
	}
}

// A provider is registered though it is no target: it uses what the program has by now, so a part that its component has
// lost can be deleted.
func TestPartThatAProviderNoLongerUses(t *testing.T) {
	program := func(part bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(enginetest.Group, "g", enginetest.Props())
			if err != nil {
				return err
			}
			if part {
				if _, err := p.Child(g.URN, enginetest.Plain, "part", enginetest.Props()); err != nil {
					return err
				}
			}
			_, err = p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", "x"), after(g.URN))
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program(true))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::part"}})
	s.Preview(program(false))
	require.Equal(t, []string{"delete part"}, s.Steps())
	s.Up(program(false))
	require.Equal(t, []string{"delete part"}, s.Steps())
}
