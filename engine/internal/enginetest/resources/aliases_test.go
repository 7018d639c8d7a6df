package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

func aliasURN(u urn.URN) abi.Alias { return abi.Alias{Case: abi.AliasCaseURN, URN: u} }

// A renamed resource keeps its object, whichever way the earlier name is told.
func TestAliases(t *testing.T) {
	before := enginetest.Program(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "a", enginetest.Props("key", "1"))
		return err
	})
	old := urn.New("dev", "proj", urn.New("dev", "proj", "", enginetest.Group, "g"), enginetest.Plain, "a")
	spec := func(s abi.AliasSpec) abi.Alias { return abi.Alias{Case: abi.AliasCaseSpec, Spec: s} }
	parent := urn.New("dev", "proj", urn.New("dev", "proj", "", urn.RootType, "proj-dev"), enginetest.Group, "g")
	cases := []struct {
		name, typ, now string
		child          bool // of the group, which stays
		alias          abi.Alias
	}{
		{"the URN", enginetest.Plain, "b", false, aliasURN(old)},
		{"the name", enginetest.Plain, "b", true, enginetest.AliasName("a")},
		{"the name and the parent", enginetest.Plain, "b", false, spec(abi.AliasSpec{Name: "a", ParentURN: parent})},
		{"the type", enginetest.Strict, "a", true, spec(abi.AliasSpec{Type: enginetest.Plain})},
		{"type and name", enginetest.Strict, "b", true, spec(abi.AliasSpec{Type: enginetest.Plain, Name: "a"})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(before)
			s.Cloud.Calls()
			after := enginetest.Program(func(p *enginetest.Run) error {
				g, err := p.Component(enginetest.Group, "g", enginetest.Props())
				if err != nil {
					return err
				}
				under := p.Root
				if c.child {
					under = g.URN
				}
				_, err = p.Child(under, c.typ, c.now, enginetest.Props("key", "1"), aliased(c.alias))
				return err
			})
			require.Equal(t, engine.Changes{Same: 3}, s.Preview(after))
			require.Equal(t, engine.Changes{Same: 3}, s.Up(after))
			require.Empty(t, s.Cloud.Calls())
			now := s.Resource(c.now)
			require.Equal(t, "a-1", now.ID)
			require.Equal(t, c.typ, now.Type)
			require.Equal(t, engine.Changes{Same: 3}, s.Up(after), "the alias may stay in the program")
		})
	}
}

// What names a renamed resource names it by its new name at once, so that the
// state holds together even if the run ends there.
func TestRenamedResourceIsRenamedInItsDependents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	stop := errors.New("the program ends here")
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "new", enginetest.Props("key", "1"), aliased(enginetest.AliasName("a")))
		return errors.Join(err, stop)
	}))
	require.ErrorIs(t, err, stop)
	now := s.Resource("new").URN
	require.Equal(t, []urn.URN{now}, s.Resource("b").Dependencies)
	require.Equal(t, []urn.URN{now}, s.Resource("b").PropertyDependencies["key"])
}

// A renamed provider is no other provider.
func TestRenamedProviderKeepsItsResources(t *testing.T) {
	program := func(name string) enginetest.Program {
		return func(p *enginetest.Run) error {
			prov, err := p.Custom(enginetest.ProviderType, name, enginetest.Props("region", "north"), aliased(enginetest.AliasName("mine")))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program("mine"))
	require.Equal(t, engine.Changes{Same: 3}, s.Up(program("yours")))
	require.Equal(t, s.Resource("yours").Reference(), s.Resource("a").Provider)
}

// A package that takes the place of another one goes on with its objects. If somebody chose a provider, that one makes an object, and
// the old provider deletes its own.
func TestTypeOfAnotherPackage(t *testing.T) {
	const other = "other:index:Plain"
	alias := aliased(abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: enginetest.Plain}})
	before := enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", "1"))
		return err
	})
	for name, c := range map[string]struct {
		after enginetest.Program
		want  engine.Changes
		id    string
		calls []string
		// refuses says that the new provider cannot manage what the old one has made.
		refuses bool
	}{
		"of a default provider": {
			func(p *enginetest.Run) error {
				_, err := p.Custom(other, "a", enginetest.Props("key", "1"), alias)
				return err
			},
			engine.Changes{Same: 2}, "a-1", nil, false,
		},
		"of a default provider that cannot go on": {
			func(p *enginetest.Run) error {
				_, err := p.Custom(other, "a", enginetest.Props("key", "1"), alias)
				return err
			},
			engine.Changes{Same: 1, Create: 1, Delete: 1}, "a-2", []string{"create a", "delete a-1"}, true,
		},
		"of a default provider that replaces the object": {
			func(p *enginetest.Run) error {
				_, err := p.Custom(other, "a", enginetest.Props("key", "2"), alias)
				return err
			},
			engine.Changes{Same: 1, Replace: 1}, "a-2", []string{"create a", "delete a-1"}, false,
		},
		"of a provider that is chosen": {
			func(p *enginetest.Run) error {
				prov, err := p.Custom("pulumi:providers:other", "mine", enginetest.Props())
				if err != nil {
					return err
				}
				_, err = p.Custom(other, "a", enginetest.Props("key", "1"), alias, func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
				return err
			},
			engine.Changes{Same: 1, Create: 2, Delete: 1}, "a-2", []string{"create a", "delete a-1"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Cloud.Types[other] = enginetest.Type{Replace: []string{"key"}}
			s.Up(before)
			if c.refuses {
				s.Cloud.DiffConfig = func(abi.DiffRequest) (abi.DiffResponse, error) {
					return abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"region"}}, nil
				}
			}
			s.Cloud.Calls()
			require.Equal(t, c.want, s.Preview(c.after))
			require.Equal(t, c.want, s.Up(c.after))
			require.Equal(t, other, s.Resource("a").Type)
			require.Equal(t, c.id, s.Resource("a").ID)
			require.Equal(t, c.calls, s.Cloud.Calls())
			require.Equal(t, []string{c.id}, s.Cloud.IDs())
		})
	}
}

// What a run does not hand over stays as the old provider knows it, and what it does is the new one's.
func TestTypeOfAnotherPackageInOtherRuns(t *testing.T) {
	const other = "other:index:Plain"
	alias := aliased(abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: enginetest.Plain}})
	program := func(typ string, options ...func(*abi.ResourceOptions)) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(typ, "a", enginetest.Props("key", "1"), options...)
			return err
		}
	}
	for name, run := range map[string]func(s *enginetest.Stack){
		"a refresh that runs the program": func(s *enginetest.Stack) {
			s.Edit = running(program(other, alias))
			s.Refresh()
			require.Equal(t, enginetest.Plain, s.Resource("a").Type)
		},
		"a preview of a destruction that runs the program": func(s *enginetest.Stack) {
			s.Edit = running(program(other, alias))
			_, err := s.Try(enginetest.PreviewDestroy, nil)
			require.NoError(t, err)
		},
		"an update that leaves it out": func(s *enginetest.Stack) {
			s.Edit = func(d *enginetest.Deployment) {
				d.Selection = engine.Selection{Excludes: []engine.Pattern{pattern(other, "a")}}
			}
			s.Up(program(other, alias))
			s.Edit = nil
		},
		"an update": func(s *enginetest.Stack) { s.Up(program(other, alias)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Cloud.Types[other] = enginetest.Type{}
			s.Up(program(enginetest.Plain))
			run(s)
			edit := s.Edit // a destruction may run the program, too
			s.Edit = nil
			s.Refresh()
			require.Equal(t, "a-1", s.Resource("a").ID)
			s.Edit = edit
			s.Destroy()
			require.Empty(t, s.Cloud.IDs())
		})
	}
}

// What a creation that was cut off has made stays its own provider's, also if the recorded resource goes over to another package.
func TestTypeOfAnotherPackageBesideAPendingCreation(t *testing.T) {
	const other = "other:index:Plain"
	s := regional(t)
	s.Cloud.Regional, s.Cloud.Types[other] = true, enginetest.Type{}
	program := func(typ string, mine bool, options ...func(*abi.ResourceOptions)) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", 1))
			if err != nil {
				return err
			}
			if mine {
				options = append(options, func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			}
			_, err = p.Custom(typ, "a", enginetest.Props("key", "1"), options...)
			return err
		}
	}
	s.Cloud.Lost = func(string, string) error { return crashed }
	_, err := s.Try(enginetest.Up, program(enginetest.Plain, true))
	require.ErrorIs(t, err, crashed)
	s.Cloud.Lost = nil
	s.Up(program(enginetest.Plain, false))
	after := program(other, false, aliased(abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: enginetest.Plain}}))
	s.Up(after)
	require.Equal(t, "a-2", s.Resource("a").ID)
	s.Edit = adopting(pendingURN(t, s), "a-1")
	s.Refresh()
	s.Edit = nil
	s.Up(after)
	require.Equal(t, []string{"a-2"}, s.Cloud.IDs())
	require.Zero(t, countPending(s))
}

// Renaming and replacing at once is both: the old copy goes under the new name.
func TestRenamedResourceCanBeReplaced(t *testing.T) {
	for _, typ := range []string{enginetest.Strict, enginetest.Single} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(typ, "1"))
		s.Cloud.Calls()
		after := enginetest.Program(func(p *enginetest.Run) error {
			a, err := p.Custom(typ, "new", enginetest.Props("key", "2"), aliased(enginetest.AliasName("a")))
			if err != nil {
				return err
			}
			b, err := p.Custom(typ, "b", enginetest.Props("key", a.Out("made")))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "c", enginetest.Props("from", b.Out("made")))
			return err
		})
		require.Equal(t, engine.Changes{Same: 1, Update: 1, Replace: 2}, s.Up(after))
		require.Equal(t, 3, s.Cloud.Objects())
		require.Equal(t, engine.Changes{Same: 4}, s.Up(after))
	}
}

// Children of a renamed or retyped component were children of it before.
func TestAliasesAreInheritedByChildren(t *testing.T) {
	const fleet = "proj:index:Fleet"
	program := func(typ, name string, aliases ...abi.Alias) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(typ, name, enginetest.Props(), aliased(aliases...))
			if err != nil {
				return err
			}
			inner, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Group, Name: name + "-inner", Parent: g.URN})
			if err != nil {
				return err
			}
			if _, err := p.Child(inner.URN, enginetest.Plain, name+"-inner-a", enginetest.Props()); err != nil {
				return err
			}
			_, err = p.Child(g.URN, enginetest.Plain, "other", enginetest.Props(), aliased(enginetest.AliasName("another")))
			return err
		}
	}
	retyped := abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: enginetest.Group, Name: "site"}}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program(enginetest.Group, "site"))
	s.Cloud.Calls()
	require.Equal(t, engine.Changes{Same: 5}, s.Up(program(fleet, "page", retyped)))
	require.Empty(t, s.Cloud.Calls())
	require.NotNil(t, s.Resource("page-inner-a"))
	require.Equal(t, fleet+"$"+enginetest.Plain, s.Resource("other").URN.QualifiedType())
}

func TestAliasConflictsAreErrors(t *testing.T) {
	register := func(p *enginetest.Run, name string, aliases ...abi.Alias) error {
		_, err := p.Custom(enginetest.Plain, name, enginetest.Props(), aliased(aliases...))
		return err
	}
	two := enginetest.Program(func(p *enginetest.Run) error {
		return errors.Join(register(p, "a"), register(p, "b"))
	})
	cases := []struct {
		name, want string
		after      enginetest.Program
	}{
		{"two claim one", "is claimed by", func(p *enginetest.Run) error {
			return errors.Join(register(p, "c", enginetest.AliasName("a")), register(p, "d", enginetest.AliasName("a")))
		}},
		{"one claims two", "match two recorded resources", func(p *enginetest.Run) error {
			return register(p, "c", enginetest.AliasName("a"), enginetest.AliasName("b"))
		}},
		{"the alias is registered", "is registered as well", func(p *enginetest.Run) error {
			return errors.Join(register(p, "a"), register(p, "c", enginetest.AliasName("a")))
		}},
		{"the alias was taken over", "is claimed by", func(p *enginetest.Run) error {
			return errors.Join(register(p, "c", enginetest.AliasName("a")), register(p, "a"))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(two)
			s.Cloud.Calls()
			_, err := s.Try(enginetest.Preview, c.after)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, s.Cloud.Calls())
		})
	}
}

// A resource's own name comes first: an alias is not looked at then.
func TestOwnNameComesBeforeAliases(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props())
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props())
		return errors.Join(errA, errB)
	})
	s.Cloud.Calls()
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "b", enginetest.Props(), aliased(enginetest.AliasName("a")))
		return err
	})
	require.Equal(t, []string{"delete a-1"}, s.Cloud.Calls())
}
