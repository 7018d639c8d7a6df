package resources_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
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
