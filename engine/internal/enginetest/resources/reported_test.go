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

// The tests of this file are situations that users of other engines reported: engine-tests.md has the list.

// What was deleted before a replacement that could not be made is made again, also if the program is as it was.
func TestFailedReplacementThatIsTakenBack(t *testing.T) {
	for _, refresh := range []bool{false, true} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(enginetest.Single, "1"))
		failing(s, "create a")
		_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
		require.ErrorContains(t, err, "no luck")
		s.Cloud.Hook = nil
		s.Cloud.Calls()
		if refresh {
			s.Refresh()
		}
		s.Up(enginetest.Chain(enginetest.Single, "1"))
		require.Equal(t, []string{"create a", "create b", "update c"}, s.Cloud.Calls())
		require.Equal(t, engine.Changes{Same: 4}, s.Up(enginetest.Chain(enginetest.Single, "1")))
		require.Equal(t, 3, s.Cloud.Objects())
	}
}

// An owner that is renamed is the owner still, and one that is moved as well.
func TestRenamedOwner(t *testing.T) {
	program := func(group bool, owner, part string) enginetest.Program {
		return func(p *enginetest.Run) error {
			parent := p.Root
			if group {
				g, err := p.Component(enginetest.Group, "g", enginetest.Props())
				if err != nil {
					return err
				}
				parent = g.URN
			}
			former := urn.New("dev", "proj", urn.New("dev", "proj", "", urn.RootType, "proj-dev"), enginetest.Plain, "owner")
			a, err := p.Child(parent, enginetest.Plain, owner, enginetest.Props(), aliased(aliasURN(former)))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, part, enginetest.Props("owner", a.Out("made")), func(o *abi.ResourceOptions) {
				o.DeletedWith = a.URN
				o.Aliases = []abi.Alias{enginetest.AliasName("part")}
			})
			return err
		}
	}
	for name, next := range map[string]enginetest.Program{
		"the owner":      program(false, "other", "part"),
		"what it owns":   program(false, "owner", "other part"),
		"both":           program(false, "other", "other part"),
		"both and moved": program(true, "other", "other part"),
	} {
		t.Run(name, func(t *testing.T) {
			s := owning(t)
			s.Up(program(false, "owner", "part"))
			s.Cloud.Calls()
			require.Zero(t, s.Up(next).Delete)
			require.Zero(t, s.Up(next).Total())
			require.Empty(t, s.Cloud.Calls())
			s.Destroy()
			require.Equal(t, []string{"delete owner-1"}, s.Cloud.Calls())
			require.Empty(t, s.Cloud.IDs())
		})
	}
}

// byProvider registers a resource and its provider, by names that may be new, below a group or not.
func byProvider(group bool, provider, name string) enginetest.Program {
	return func(p *enginetest.Run) error {
		parent := p.Root
		if group {
			g, err := p.Component(enginetest.Group, "g", enginetest.Props())
			if err != nil {
				return err
			}
			parent = g.URN
		}
		root := urn.New("dev", "proj", "", urn.RootType, "proj-dev")
		former := func(typ, name string) func(*abi.ResourceOptions) {
			return aliased(aliasURN(urn.New("dev", "proj", root, typ, name)))
		}
		prov, err := p.Child(parent, enginetest.ProviderType, provider, enginetest.Props("region", "x"), former(enginetest.ProviderType, "mine"))
		if err != nil {
			return err
		}
		_, err = p.Child(parent, enginetest.Plain, name, enginetest.Props("key", 1), former(enginetest.Plain, "a"), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
		return err
	}
}

// A destruction that runs the program, and selects what the program has renamed or moved, deletes it, or refuses to; no
// resource is left without its provider.
func TestTargetedDestructionOfWhatIsRenamed(t *testing.T) {
	for name, c := range map[string]struct {
		program enginetest.Program
		targets []engine.Pattern
		failure string
	}{
		"the new name, and the provider":      {byProvider(false, "mine", "b"), []engine.Pattern{"**::b", "**::mine"}, ""},
		"the former name, and the provider":   {byProvider(false, "mine", "b"), []engine.Pattern{"**::a", "**::mine"}, ""},
		"the provider alone":                  {byProvider(false, "mine", "b"), []engine.Pattern{"**::mine"}, "depends on it and is not selected"},
		"the provider, renamed":               {byProvider(false, "yours", "a"), []engine.Pattern{"**::yours"}, "depends on it and is not selected"},
		"the provider, moved":                 {byProvider(true, "mine", "a"), []engine.Pattern{"**::mine"}, "depends on it and is not selected"},
		"both, renamed":                       {byProvider(false, "yours", "b"), []engine.Pattern{"**::b", "**::yours"}, ""},
		"both, moved":                         {byProvider(true, "mine", "a"), []engine.Pattern{"**::a", "**::mine"}, ""},
		"the resource, moved, without either": {byProvider(true, "yours", "b"), []engine.Pattern{"**::b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(byProvider(false, "mine", "a"))
			s.Edit = func(d *enginetest.Deployment) { d.Selection, d.RunProgram = engine.Selection{Targets: c.targets}, true }
			for _, run := range []enginetest.Operation{enginetest.PreviewDestroy, enginetest.Destroy} {
				_, err := s.Try(run, c.program) // requires that the state is whole
				if c.failure != "" {
					require.ErrorContains(t, err, c.failure)
					require.Equal(t, 1, s.Cloud.Objects())
				} else {
					require.NoError(t, err)
				}
			}
			if c.failure == "" {
				require.Zero(t, s.Cloud.Objects())
			}
			s.Edit = nil
			s.Destroy()
			require.Zero(t, s.Cloud.Objects())
			require.Zero(t, s.Snapshot().Len())
		})
	}
}

// A refresh of a provider reads none of its resources, unless dependents are asked for.
func TestRefreshOfAProvider(t *testing.T) {
	for _, withProgram := range []bool{false, true} {
		for dependents, want := range map[bool][]string{false: nil, true: {"update a"}} {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(byProvider(false, "mine", "a"))
			s.Cloud.Change("a-1", func(m property.Map) property.Map { return m.With("key", property.Number(2)) })
			s.Edit = func(d *enginetest.Deployment) {
				d.Selection = engine.Selection{Targets: []engine.Pattern{"**::mine"}, TargetDependents: dependents}
				d.RunProgram = withProgram
			}
			_, err := s.Try(enginetest.Refresh, byProvider(false, "mine", "a"))
			require.NoError(t, err)
			require.Equal(t, want, s.Steps())
			require.NotNil(t, s.Resource("mine"))
		}
	}
}

// A target that moves to another parent and provider is read, though its former parent is gone, and is no other object.
func TestTargetThatMovesWhileItIsRead(t *testing.T) {
	program := func(moved bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			name := "first"
			if moved {
				name = "second"
			}
			prov, err := p.Custom(enginetest.ProviderType, name+" provider", enginetest.Props("region", "x"))
			if err != nil {
				return err
			}
			use := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
			parent, err := p.Custom(enginetest.Plain, name, enginetest.Props(), use)
			if err != nil {
				return err
			}
			first := urn.New("dev", "proj", urn.New("dev", "proj", "", urn.RootType, "proj-dev"), enginetest.Plain, "first")
			_, err = p.Child(parent.URN, enginetest.Plain, "child", enginetest.Props("key", 1), use, func(o *abi.ResourceOptions) {
				o.Aliases = []abi.Alias{{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{ParentURN: first}}}
			})
			return err
		}
	}
	for _, gone := range []bool{false, true} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(program(false))
		child := s.Resource("child").ID
		if gone {
			s.Cloud.Change(s.Resource("first").ID, nil)
		}
		s.Edit = func(d *enginetest.Deployment) {
			d.RefreshFirst = true
			d.Selection = engine.Selection{Targets: []engine.Pattern{"**::child", "**::second", "**::first"}}
		}
		s.Up(program(true))
		require.Equal(t, child, s.Resource("child").ID)
		require.Equal(t, s.Resource("second").URN, s.Resource("child").Parent)
		require.Equal(t, s.Resource("second provider").Reference(), s.Resource("child").Provider)
		s.Edit = nil
		s.Up(program(true))
		require.Len(t, s.Cloud.IDs(), 2)
		require.Zero(t, s.Up(program(true)).Total())
		s.Destroy()
		require.Empty(t, s.Cloud.IDs())
	}
}

// A parent that somebody deleted is forgotten by a refresh; its children stay, and are its children again when it is made
// anew, or go.
func TestParentThatWasDeletedElsewhere(t *testing.T) {
	program := func(p *enginetest.Run) error {
		parent, err := p.Custom(enginetest.Plain, "parent", enginetest.Props())
		if err != nil {
			return err
		}
		child, err := p.Child(parent.URN, enginetest.Plain, "child", enginetest.Props("key", parent.Out("made")))
		if err != nil {
			return err
		}
		_, err = p.Child(child.URN, enginetest.Plain, "grandchild", enginetest.Props())
		return err
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program)
	s.Cloud.Change("parent-1", nil)
	require.Equal(t, 1, s.Refresh().Delete)
	require.Equal(t, s.Resource("proj-dev").URN, s.Resource("child").Parent)
	require.Equal(t, engine.Changes{Create: 1, Update: 1, Same: 2}, s.Up(program))
	require.Equal(t, s.Resource("parent").URN, s.Resource("child").Parent)
	require.Zero(t, s.Up(program).Total())
	s.Cloud.Change(s.Resource("parent").ID, nil)
	s.Refresh()
	s.Destroy()
	require.Empty(t, s.Cloud.IDs())
	require.Zero(t, s.Snapshot().Len())
	s.Up(program)
	require.Len(t, s.Cloud.IDs(), 3)
}

// What is no target needs nothing new that the program gives it, and keeps what it had.
func TestTargetsBesideNewDependencies(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(topic string, key int, more bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			made, err := p.Custom(enginetest.Plain, topic, enginetest.Props())
			if err != nil {
				return err
			}
			var deps []urn.URN
			if more {
				settings, err := p.Custom(enginetest.Plain, "settings", enginetest.Props())
				if err != nil {
					return err
				}
				deps = append(deps, settings.URN)
			}
			first, err := p.Custom(enginetest.Plain, "first", enginetest.Props("key", key, "from", made.Out("made")), after(deps...))
			if err != nil {
				return err
			}
			_, errUser := p.Custom(enginetest.Plain, "user", enginetest.Props("key", key, "from", first.Out("made")))
			_, errAside := p.Custom(enginetest.Plain, "aside", enginetest.Props("key", key))
			return errors.Join(errUser, errAside)
		}
	}
	s.Up(program("topic", 1, false))
	before := *s.Resource("first")
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::aside"}})
	s.Up(program("another topic", 2, true))
	require.Equal(t, []string{"update aside"}, s.Steps())
	require.Equal(t, before, *s.Resource("first"))
	require.NotNil(t, s.Resource("topic"), "which the program has no longer, and which is used")

	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::first"}, TargetDependents: true})
	s.Up(program("topic", 3, false))
	require.Equal(t, []string{"update first", "update user"}, s.Steps(), "and nothing that it needs, or that is beside it")
	_, err := s.Try(enginetest.Up, program("topic", 3, true))
	require.ErrorContains(t, err, "::settings, which does not exist yet and is not selected")
	s.Edit = nil
	s.Up(program("another topic", 3, true))
	require.Zero(t, s.Up(program("another topic", 3, true)).Total())
	require.Nil(t, s.Resource("topic"))
}

// Nothing that is protected is deleted, whatever asks for it: its replacement, that of what it needs, or the end of its
// parent or owner.
func TestNothingProtectedIsDeleted(t *testing.T) {
	yes := true
	protect := func(o *abi.ResourceOptions) { o.Protect = &yes }
	chain := func(key int, typ string) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(typ, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			_, err = p.Custom(typ, "kept", enginetest.Props("key", a.Out("made")), protect)
			return err
		}
	}
	inGroup := func(group, first bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			parent := p.Root
			var owner urn.URN
			if group {
				g, err := p.Component(enginetest.Group, "g", enginetest.Props(), protect)
				if err != nil {
					return err
				}
				parent = g.URN
			}
			if first {
				a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
				if err != nil {
					return err
				}
				owner = a.URN
			}
			if !group {
				return nil
			}
			_, err := p.Child(parent, enginetest.Plain, "kept", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = owner })
			return err
		}
	}
	for name, c := range map[string]struct {
		before, after enginetest.Program
		run           enginetest.Operation
	}{
		"its replacement":                  {chain(1, enginetest.Strict), chain(2, enginetest.Strict), enginetest.Up},
		"the replacement of what it needs": {chain(1, enginetest.Single), chain(2, enginetest.Single), enginetest.Up},
		"the end of its parent":            {inGroup(true, false), inGroup(false, false), enginetest.Up},
		"the end of its owner":             {inGroup(true, true), inGroup(true, false), enginetest.Up},
		"the end of both":                  {inGroup(true, true), enginetest.Empty, enginetest.Up},
		"destruction":                      {inGroup(true, true), nil, enginetest.Destroy},
	} {
		t.Run(name, func(t *testing.T) {
			s := owning(t)
			s.Up(c.before)
			kept := s.Resource("kept").ID
			s.Cloud.Calls()
			_, err := s.Try(c.run, c.after)
			require.NotContains(t, s.Cloud.Calls(), "delete "+kept)
			require.Equal(t, kept, s.Resource("kept").ID)
			if err != nil {
				require.ErrorContains(t, err, "protected")
			}
			requireNothingLost(t, s)
		})
	}
}

// Resources follow the version of their provider up and down, and are the same objects.
func TestProviderVersionsRiseAndFall(t *testing.T) {
	program := func(a, b string) enginetest.Program {
		return func(p *enginetest.Run) error {
			var errs []error
			for name, version := range map[string]string{"a": a, "b": b} {
				_, err := p.Custom(enginetest.Plain, name, enginetest.Props("key", 1), func(o *abi.ResourceOptions) { o.Version = version })
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program("1.0.0", "1.0.0"))
	ids := s.Cloud.IDs()
	for _, v := range [][2]string{{"2.0.0", "1.0.0"}, {"2.0.0", "2.0.0"}, {"1.0.0", "2.0.0"}, {"1.0.0", "1.0.0"}, {"2.1.0", "3.0.0"}} {
		require.Zero(t, s.Preview(program(v[0], v[1])).Replace)
		require.Zero(t, s.Up(program(v[0], v[1])).Replace)
		require.Equal(t, ids, s.Cloud.IDs())
		providers := make(map[string]bool)
		for _, res := range s.Snapshot().Resources() {
			if res.IsProvider() {
				providers[mustText(res.Inputs.Get("version"))] = true
			}
		}
		require.Equal(t, map[string]bool{v[0]: true, v[1]: true}, providers)
		require.Zero(t, s.Up(program(v[0], v[1])).Total())
	}
	s.Destroy()
	require.Empty(t, s.Cloud.IDs())
}
