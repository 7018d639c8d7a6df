package resources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

func after(urns ...urn.URN) enginetest.OptionsOf {
	return func(o *abi.ResourceOptions) { o.Dependencies = urns }
}

// net registers a component with a child, and the machine that uses the component. The machine is registered first,
// as far as the engine can tell by the order.
func net(p *enginetest.Run) error {
	g, err := p.Component(enginetest.Group, "net", enginetest.Props())
	if err != nil {
		return err
	}
	if _, err := p.Custom(enginetest.Plain, "vm", enginetest.Props(), after(g.URN)); err != nil {
		return err
	}
	_, err = p.Child(g.URN, enginetest.Plain, "inner", enginetest.Props())
	return err
}

// What uses a component is deleted before the parts of the component.
func TestComponentsAreDeletedAfterWhatUsesThem(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(net)
	s.Cloud.Calls()
	failing(s, "delete vm-1")
	_, err := s.Try(enginetest.Destroy, nil)
	require.Error(t, err)
	require.Equal(t, []string{"delete vm-1"}, s.Cloud.Calls())
	require.NotNil(t, s.Resource("inner"))

	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::inner"}})
	_, err = s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "vm depends on it")
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::inner"}, TargetDependents: true})
	s.Cloud.Hook = nil
	s.Destroy()
	require.Equal(t, []string{"delete vm-1", "delete inner-2"}, s.Cloud.Calls())
}

// A child of a provider's resource is no part of the component above, and uses its parts if it names it. A part uses the others by
// their own names only.
func TestUsersBelowTheComponent(t *testing.T) {
	for name, test := range map[string]struct {
		below bool // the user is a child of a part, and else a part
		want  []string
	}{
		"below a part": {true, []string{"delete user-3"}},
		"a part":       {false, []string{"delete user-3", "delete inner-2", "delete part-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(func(p *enginetest.Run) error {
				g, err := p.Component(enginetest.Group, "net", enginetest.Props())
				require.NoError(t, err)
				part, err := p.Child(g.URN, enginetest.Plain, "part", enginetest.Props())
				require.NoError(t, err)
				_, err = p.Child(g.URN, enginetest.Plain, "inner", enginetest.Props())
				require.NoError(t, err)
				parent := g.URN
				if test.below {
					parent = part.URN
				}
				_, err = p.Child(parent, enginetest.Plain, "user", enginetest.Props(), after(g.URN))
				return err
			})
			s.Cloud.Calls()
			failing(s, "delete user-3")
			_, err := s.Try(enginetest.Destroy, nil)
			require.Error(t, err)
			require.ElementsMatch(t, test.want, s.Cloud.Calls())
		})
	}
}

// Components that use others, and empty ones, pass on who uses whom.
func TestChainsOfComponents(t *testing.T) {
	program := func(p *enginetest.Run) error {
		component := func(name string, child bool, options ...enginetest.OptionsOf) urn.URN {
			g, err := p.Component(enginetest.Group, name, enginetest.Props(), options...)
			require.NoError(t, err)
			if child {
				nested, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Group, Name: name + " below", Parent: g.URN})
				require.NoError(t, err)
				_, err = p.Child(nested.URN, enginetest.Plain, name+" inner", enginetest.Props())
				require.NoError(t, err)
			}
			return g.URN
		}
		first := component("first", true)
		second := component("second", true, after(first))
		empty := component("empty", false, after(second))
		_, err := p.Custom(enginetest.Plain, "last", enginetest.Props(), after(empty))
		return err
	}
	for fails, want := range map[string][]string{
		"":                      {"delete last-3", "delete second inner-2", "delete first inner-1"},
		"delete last-3":         {"delete last-3"},
		"delete second inner-2": {"delete last-3", "delete second inner-2"},
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(program)
		s.Cloud.Calls()
		failing(s, fails)
		_, _ = s.Try(enginetest.Destroy, nil)
		require.Equal(t, want, s.Cloud.Calls())
	}
}

// What is deleted before its replacement is made goes after what uses it by way of its component.
func TestDeleteBeforeReplaceThroughAComponent(t *testing.T) {
	program := func(key int, typ string) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(enginetest.Group, "net", enginetest.Props())
			if err != nil {
				return err
			}
			inner, err := p.Child(g.URN, enginetest.Single, "inner", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			address := property.OutputOf(property.Output{Value: inner.Out("made").Plain(), Dependencies: []string{string(g.URN)}})
			_, err = p.Custom(typ, "vm", enginetest.Props("key", address))
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program(1, enginetest.Strict))
	s.Cloud.Calls()
	s.Preview(program(2, enginetest.Strict))
	planned := s.Steps()
	s.Up(program(2, enginetest.Strict))
	require.ElementsMatch(t, planned, s.Steps())
	require.Equal(t, []string{"delete vm-2", "delete inner-1", "create inner", "create vm"}, s.Cloud.Calls())
}

// A run that continues skips what uses a component of which a part failed, and deletes nothing that does.
func TestContinueOnErrorInAComponent(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(net)
	s.Cloud.Calls()
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	failing(s, "update inner")
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "net", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "inner", enginetest.Props("key", 2))
		return err
	}))
	require.Error(t, err)
	require.NotNil(t, s.Resource("vm"), "it may use what failed")
	require.Equal(t, []string{"update inner"}, s.Cloud.Calls())

	_, err = s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "net", enginetest.Props())
		if err != nil {
			return err
		}
		if _, err := p.Child(g.URN, enginetest.Plain, "inner", enginetest.Props("key", 2)); err != nil {
			return err
		}
		if _, err := p.Child(g.URN, enginetest.Plain, "beside", enginetest.Props()); err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "vm", enginetest.Props("key", 2), after(g.URN))
		return err
	}))
	require.Error(t, err)
	require.Equal(t, []string{"update inner", "create beside"}, s.Cloud.Calls(), "vm waits for what failed")
}

// A part that the program takes out of a component is deleted, whoever uses the component.
func TestPartThatAComponentLoses(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(net)
	s.Up(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "net", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "vm", enginetest.Props(), after(g.URN))
		return err
	})
	require.Nil(t, s.Resource("inner"))
	require.Equal(t, []string{"vm-1"}, s.Cloud.IDs())
}

// The option of the program that replaces a resource decides whether the old object stays, and that is told.
func TestRetainedInTheReplacingUpdate(t *testing.T) {
	for _, typ := range []string{enginetest.Strict, enginetest.Single} {
		program := func(key int, retain bool) enginetest.Program {
			return func(p *enginetest.Run) error {
				_, err := p.Custom(typ, "table", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.RetainOnDelete = &retain })
				return err
			}
		}
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(program(1, false))
		s.Up(program(2, true))
		require.Equal(t, []string{"table-1", "table-2"}, s.Cloud.IDs())
		requireNothingLost(t, s)
		s.Cloud.Calls()
		s.Up(program(3, false))
		require.Contains(t, s.Cloud.Calls(), "delete table-2")
	}
}

// A program's own component has a type of any form that a URN can hold, as in Pulumi. What a provider makes has three parts.
func TestTypesOfComponents(t *testing.T) {
	for _, typ := range []string{"component", "MyApp", "a:b", "custom/Thing", "a:b:c:d", "two words", ":a", "größe"} {
		t.Run(typ, func(t *testing.T) {
			var parent urn.URN
			program := func(p *enginetest.Run) error {
				g, err := p.Component(typ, "app", enginetest.Props())
				if err != nil {
					return err
				}
				parent = g.URN
				_, err = p.Child(g.URN, enginetest.Plain, "part", enginetest.Props())
				return err
			}
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program)
			require.Equal(t, typ, parent.Type())
			require.Equal(t, typ, s.Resource("app").Type)
			require.Equal(t, typ+"$"+enginetest.Plain, s.Resource("part").URN.QualifiedType())
			s.Cloud.Calls()
			s.Up(program)
			require.Empty(t, s.Cloud.Calls())
			s.Destroy()
			require.Nil(t, s.Resource("app"))
		})
	}
	for typ, want := range map[string]string{
		"":       `invalid type "" of the component "app"`,
		"a:":     `invalid type "a:" of the component "app"`,
		"a$b:c":  `invalid type "a$b:c" of the component "app"`,
		"a::b":   `invalid type "a::b" of the component "app"`,
		"a::b:c": `invalid type "a::b:c" of the component "app"`,
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
			_, err := p.Component(typ, "app", enginetest.Props())
			return err
		}))
		require.ErrorContains(t, err, want)
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom("test:Plain", "part", enginetest.Props())
		return err
	}))
	require.ErrorContains(t, err, `invalid resource type "test:Plain": it must have the form <package>:<module>:<name>`)
}
