package resources_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// A resource that goes while a like one comes was likely renamed or moved. That is
// said before anything is done, and never acted on.
func TestMovedResourcesAreSuggested(t *testing.T) {
	type resource struct {
		parent, typ, name, key string
		aliases                []abi.Alias
	}
	program := func(resources ...resource) enginetest.Program {
		return func(p *enginetest.Run) error {
			made := make(map[string]enginetest.Resource)
			var errs []error
			for _, r := range resources {
				parent := p.Root
				if r.parent != "" {
					parent = made[r.parent].URN
				}
				resp, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
					Type: r.typ, Name: r.name, Parent: parent, Custom: r.typ != enginetest.Group, Inputs: enginetest.Props("key", r.key),
					Options: abi.ResourceOptions{Aliases: r.aliases},
				})
				made[r.name] = enginetest.Resource{RegisterResourceResponse: resp}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
	}
	cases := []struct {
		name          string
		before, after []resource
		want          []string
	}{
		{"another name, like inputs", []resource{{typ: enginetest.Plain, name: "a", key: "1"}}, []resource{{typ: enginetest.Plain, name: "b", key: "1"}}, []string{"a is b"}},
		{"another parent, the same name", []resource{{typ: enginetest.Plain, name: "a", key: "1"}},
			[]resource{{typ: enginetest.Group, name: "g"}, {parent: "g", typ: enginetest.Plain, name: "a", key: "2"}}, []string{"a is a"}},
		{"a renamed component with its child", []resource{{typ: enginetest.Group, name: "g"}, {parent: "g", typ: enginetest.Plain, name: "a", key: "1"}},
			[]resource{{typ: enginetest.Group, name: "h"}, {parent: "h", typ: enginetest.Plain, name: "b", key: "1"}}, []string{"g is h"}},
		{"another type", []resource{{typ: enginetest.Plain, name: "a", key: "1"}}, []resource{{typ: enginetest.Strict, name: "a", key: "1"}}, nil},
		{"other name and inputs", []resource{{typ: enginetest.Plain, name: "a", key: "1"}}, []resource{{typ: enginetest.Plain, name: "b", key: "2"}}, nil},
		{"inputs that differ late", []resource{{typ: enginetest.Plain, name: "a", key: strings.Repeat("x", 100) + "1"}}, []resource{{typ: enginetest.Plain, name: "b", key: strings.Repeat("x", 100) + "2"}}, nil},
		{"two could be it", []resource{{typ: enginetest.Plain, name: "a", key: "1"}},
			[]resource{{typ: enginetest.Plain, name: "b", key: "1"}, {typ: enginetest.Plain, name: "c", key: "1"}}, nil},
		{"an alias says so already", []resource{{typ: enginetest.Plain, name: "a", key: "1"}},
			[]resource{{typ: enginetest.Plain, name: "b", key: "1", aliases: []abi.Alias{enginetest.AliasName("a")}}}, nil},
		{"nothing goes", []resource{{typ: enginetest.Plain, name: "a", key: "1"}},
			[]resource{{typ: enginetest.Plain, name: "a", key: "1"}, {typ: enginetest.Plain, name: "b", key: "1"}}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program(c.before...))
			for _, run := range []func(engine.Program){
				func(p engine.Program) { _, err := s.Try(enginetest.Preview, p); require.NoError(t, err) },
				func(p engine.Program) { _, err := s.Try(enginetest.Up, p); require.NoError(t, err) },
			} {
				run(program(c.after...))
				var got []string
				for _, e := range s.Events() {
					if m, ok := e.(engine.MoveSuggested); ok {
						got = append(got, m.From.Name()+" is "+m.To.Name())
					}
				}
				require.Equal(t, c.want, got)
			}
			for _, r := range c.after {
				require.NotNil(t, s.Resource(r.name))
			}
		})
	}
}

// What uses a part of a component by naming the component is deleted before the part, also if a run has moved the part out of the
// component and stopped before it came to the user.
func TestPartThatLeavesItsComponent(t *testing.T) {
	part := func(p *enginetest.Run, parent urn.URN, typ string, key int, aliases ...abi.Alias) error {
		_, err := p.Child(parent, typ, "part", enginetest.Props("key", key), aliased(aliases...))
		return err
	}
	vm := func(p *enginetest.Run, net urn.URN, key int) error {
		_, err := p.Custom(enginetest.Plain, "vm", enginetest.Props("key", key), after(net))
		return err
	}
	component := func(p *enginetest.Run, parent urn.URN, name string, aliases ...abi.Alias) urn.URN {
		g, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: enginetest.Group, Name: name, Parent: parent, Options: abi.ResourceOptions{Aliases: aliases},
		})
		require.NoError(t, err)
		return g.URN
	}
	stop := errors.New("the program ends here")
	moves := map[string]struct {
		typ  string
		move func(p *enginetest.Run) error
		// targets are the only resources of the run.
		targets []engine.Pattern
		fail    string
	}{
		"to the stack": {move: func(p *enginetest.Run) error {
			net := component(p, p.Root, "net")
			return errors.Join(part(p, p.Root, enginetest.Plain, 1, abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{ParentURN: net}}), stop)
		}},
		"to a component of the same type": {move: func(p *enginetest.Run) error {
			component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Plain, 1), stop)
		}},
		"with a component": {move: func(p *enginetest.Run) error {
			component(p, p.Root, "net")
			sub := component(p, component(p, p.Root, "other"), "sub")
			_, err := p.Child(sub, enginetest.Plain, "inner", enginetest.Props())
			return errors.Join(err, stop)
		}},
		"and is updated": {move: func(p *enginetest.Run) error {
			component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Plain, 2), stop)
		}},
		"and is replaced": {typ: enginetest.Strict, move: func(p *enginetest.Run) error {
			component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Strict, 2), stop)
		}},
		"and is deleted before its replacement": {typ: enginetest.Single, move: func(p *enginetest.Run) error {
			component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Single, 2), stop)
		}},
		"which gets another name": {move: func(p *enginetest.Run) error {
			component(p, p.Root, "cloud", enginetest.AliasName("net"))
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Plain, 1), stop)
		}},
		"which gets another name later": {move: func(p *enginetest.Run) error {
			err := part(p, component(p, p.Root, "other"), enginetest.Plain, 1)
			component(p, p.Root, "cloud", enginetest.AliasName("net"))
			return errors.Join(err, stop)
		}},
		"as a target": {targets: []engine.Pattern{"**::part", "**::other", "**::net"}, move: func(p *enginetest.Run) error {
			net := component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Plain, 1), vm(p, net, 2))
		}},
		"which becomes a resource as a target": {targets: []engine.Pattern{"**::net"}, move: func(p *enginetest.Run) error {
			net, err := p.Custom(enginetest.Group, "net", enginetest.Props())
			return errors.Join(err, part(p, net.URN, enginetest.Plain, 1), vm(p, net.URN, 2))
		}},
		"while the user is being updated": {fail: "update vm", move: func(p *enginetest.Run) error {
			net := component(p, p.Root, "net")
			return errors.Join(part(p, component(p, p.Root, "other"), enginetest.Plain, 1), vm(p, net, 2))
		}},
	}
	for name, c := range moves {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(func(p *enginetest.Run) error {
				net := component(p, p.Root, "net")
				sub := component(p, net, "sub")
				_, err := p.Child(sub, enginetest.Plain, "inner", enginetest.Props())
				return errors.Join(err, part(p, net, cmp.Or(c.typ, enginetest.Plain), 1), vm(p, net, 1))
			})
			s.Edit = targeting(engine.Selection{Targets: c.targets})
			failing(s, c.fail)
			_, err := s.Try(enginetest.Up, enginetest.Program(c.move))
			require.Equal(t, c.targets == nil, err != nil)
			s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
			s.Cloud.Calls()
			failing(s, "delete vm-3")
			_, err = s.Try(enginetest.Destroy, nil)
			require.Error(t, err)
			require.Equal(t, []string{"delete vm-3"}, s.Cloud.Calls())
		})
	}
}

// A resource is deleted although the deletions of its run have had it name the part that leaves its component: it is no other
// resource of the same object then.
func TestUserThatIsDeletedAfterAPartHasLeft(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		net, err := p.Component(enginetest.Group, "net", enginetest.Props())
		require.NoError(t, err)
		vm, err := p.Custom(enginetest.Plain, "vm", enginetest.Props(), after(net.URN))
		require.NoError(t, err)
		_, err = p.Child(net.URN, enginetest.Strict, "part", enginetest.Props("key", 1), after(vm.URN))
		return err
	})
	s.Cloud.Calls()
	s.Up(func(p *enginetest.Run) error {
		other, err := p.Component(enginetest.Group, "other", enginetest.Props())
		require.NoError(t, err)
		_, err = p.Child(other.URN, enginetest.Strict, "part", enginetest.Props("key", 2))
		return err
	})
	require.Contains(t, s.Cloud.Calls(), "delete vm-1")
	require.Equal(t, []string{"part-3"}, s.Cloud.IDs())
}
