package programs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/builtin"
	. "github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// withBase returns a stack whose store has a stack base beside it, with these outputs.
func withBase(t *testing.T, outputs property.Map) *Stack {
	s := NewStack(t, NewCloud())
	base := s.Beside("base")
	base.Up(func(p *Run) error { return p.Outputs(outputs) })
	return s
}

func readReference(p *Run, name string) (abi.ReadResourceResponse, error) {
	return p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
		Type: builtin.StackReference, Name: name, ID: name, Properties: Props("name", name),
	})
}

func TestStackReferenceReadsTheOutputsOfAnotherStack(t *testing.T) {
	s := withBase(t, Props("url", "http://base", "password", property.Secret(property.String("hunter2"))))
	for _, name := range []string{"base", "proj/base", "organization/proj/base"} {
		program := Program(func(p *Run) error {
			ref, err := readReference(p, name)
			if err != nil {
				return err
			}
			require.Equal(t, property.String(name), ref.State.Get("name"))
			require.Equal(t, property.Array(property.String("password")), ref.State.Get("secretOutputNames"))
			outputs, _ := ref.State.Get("outputs").AsObject()
			require.Equal(t, property.String("http://base"), outputs.Get("url"))
			require.True(t, outputs.Get("password").IsSecret())
			return p.Outputs(Props("password", outputs.Get("password")))
		})
		s.Preview(program)
		s.Up(program)
		require.True(t, s.Resource(name).External)
		require.True(t, s.Resource("proj-dev").Outputs.Get("password").IsSecret())
	}
	s.Destroy()
	require.Zero(t, s.Snapshot().Len())
}

func TestStackReferenceFollowsTheOtherStack(t *testing.T) {
	s := withBase(t, Props("url", "http://old"))
	url := func() property.Value {
		outputs, _ := s.Resource("base").Outputs.Get("outputs").AsObject()
		return outputs.Get("url")
	}
	read := Program(func(p *Run) error {
		_, err := readReference(p, "base")
		return err
	})
	change := func(to string) {
		s.Beside("base").Up(func(p *Run) error { return p.Outputs(Props("url", to)) })
	}
	s.Up(read)
	require.Equal(t, property.String("http://old"), url())
	change("http://new")
	s.Up(read)
	require.Equal(t, property.String("http://new"), url())
	change("http://newer")
	s.Refresh()
	require.Equal(t, property.String("http://newer"), url())
}

// A reference that is registered, not read, is updated when the other stack changes,
// and replaced when it is another one.
func TestRegisteredStackReference(t *testing.T) {
	s := withBase(t, Props("url", "http://old"))
	s.Beside("other").Up(func(p *Run) error { return p.Outputs(Props("url", "http://other")) })
	program := func(name string) Program {
		return func(p *Run) error {
			_, err := p.Custom(builtin.StackReference, "ref", Props("name", name))
			return err
		}
	}
	s.Up(program("base"))
	require.Equal(t, []string{"create proj-dev", "create ref"}, s.Steps())
	s.Up(program("base"))
	require.Empty(t, s.Steps())
	s.Beside("base").Up(func(p *Run) error { return p.Outputs(Props("url", "http://new")) })
	s.Up(program("base"))
	require.Equal(t, []string{"update ref"}, s.Steps())
	s.Up(program("other"))
	require.Equal(t, []string{"create-replacement ref", "delete-replaced ref"}, s.Steps())
	_, err := s.Try(Up, Program(func(p *Run) error {
		_, err := p.Custom(builtin.StackReference, "ref", Props("nam", "base"))
		return err
	}))
	require.ErrorContains(t, err, `nam: no such property; did you mean "name"?`)
}

func TestStackReferenceToNothing(t *testing.T) {
	s := withBase(t, property.Map{})
	for name, want := range map[string]string{
		"bass":             `there is no stack "proj/bass"; there are proj/base, proj/dev`,
		"web/base":         `there is no stack "web/base"; there are proj/base, proj/dev`,
		"acme/proj/base":   `stack "acme/proj/base": the stacks that are kept here are of the organization "organization", not "acme"`,
		"a/b/c/d":          `a stack is named <name>, <project>/<name>, or <organization>/<project>/<name>`,
		"organization//..": `"" cannot be a project name`,
	} {
		_, err := s.Try(Preview, Program(func(p *Run) error {
			_, err := readReference(p, name)
			return err
		}))
		require.ErrorContains(t, err, want, name)
		require.NotContains(t, err.Error(), "credentials", name)
	}
	s.Edit = func(d *Deployment) { d.Stacks = builtin.Stacks{} }
	_, err := s.Try(Up, Program(func(p *Run) error {
		_, err := readReference(p, "base")
		return err
	}))
	require.ErrorContains(t, err, `stack "base" cannot be read: this deployment knows no store of stacks`)
}

// A reference whose stack was removed is forgotten by a refresh, and does not stand in
// the way of destroy.
func TestStackReferenceOutlivesTheStack(t *testing.T) {
	s := withBase(t, property.Map{})
	s.Up(func(p *Run) error {
		_, err := readReference(p, "base")
		return err
	})
	ctx := context.Background()
	lease, err := s.Store.Lease(ctx, state.StackName{Project: "proj", Name: "base"}, state.Holder{})
	require.NoError(t, err)
	_, err = lease.Load(ctx)
	require.NoError(t, err)
	require.NoError(t, lease.Remove(ctx))
	require.NoError(t, lease.Release(ctx))
	s.Refresh()
	require.Nil(t, s.Resource("base"))
	s.Destroy()
}

func invoke(p *Run, token string, args property.Map) (abi.MonitorInvokeResponse, error) {
	return p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: token, Args: args})
}

func TestFunctionsThatReadStacks(t *testing.T) {
	s := withBase(t, Props("password", property.Secret(property.String("hunter2"))))
	s.Up(func(p *Run) error {
		got, err := invoke(p, builtin.ReadStackOutputs, Props("name", "base"))
		require.NoError(t, err)
		require.Equal(t, Props(
			"name", "base",
			"outputs", property.Object(Props("password", property.Secret(property.String("hunter2")))),
			"secretOutputNames", property.Array(property.String("password")),
		), got.Result)

		got, err = invoke(p, builtin.ReadStackResourceOutputs, Props("stackName", "base"))
		require.NoError(t, err)
		outputs, _ := got.Result.Get("outputs").AsObject()
		require.Equal(t, []string{"urn:pulumi:base::proj::pulumi:pulumi:Stack::proj-base"}, outputs.Keys())
		root, _ := outputs.Get(outputs.Keys()[0]).AsObject()
		require.Equal(t, property.String("pulumi:pulumi:Stack"), root.Get("type"))
		require.True(t, root.Get("outputs").ContainsSecrets())

		got, err = invoke(p, builtin.ReadStackOutputs, Props("nam", "base"))
		require.NoError(t, err)
		require.Len(t, got.Failures, 2)
		_, err = invoke(p, "pulumi:pulumi:readStackOutput", Props("name", "base"))
		require.ErrorContains(t, err, "did you mean pulumi:pulumi:readStackOutputs?")
		return nil
	})
}

// getResource is how an SDK makes a resource of a reference to it.
func TestGetResource(t *testing.T) {
	cloud := NewCloud()
	cloud.Types["test:index:Thing"] = Type{Computed: []string{"address"}}
	s := NewStack(t, cloud)
	preview := true
	program := Program(func(p *Run) error {
		made, err := p.Custom("test:index:Thing", "a", Props("size", 1))
		if err != nil {
			return err
		}
		got, err := invoke(p, builtin.GetResource, Props("urn", string(made.URN)))
		require.NoError(t, err)
		state, _ := got.Result.Get("state").AsObject()
		require.Equal(t, property.String(string(made.URN)), got.Result.Get("urn"))
		require.Equal(t, property.Number(1), state.Get("size"))
		if preview {
			require.Equal(t, property.Unknown, got.Result.Get("id"))
			require.Equal(t, property.Unknown, state.Get("address"))
		} else {
			require.Equal(t, property.String("a-1"), got.Result.Get("id"))
			require.Equal(t, property.String(s.Resource("a").Provider), got.Result.Get("provider"))
			require.Equal(t, property.String("address of a-1"), state.Get("address"))
		}
		got, err = invoke(p, builtin.GetResource, Props("urn", string(p.Root)))
		require.NoError(t, err)
		require.Equal(t, property.String(""), got.Result.Get("id"))
		require.Equal(t, property.String(""), got.Result.Get("provider"))
		_, err = invoke(p, builtin.GetResource, Props("urn", string(made.URN)+"b"))
		require.ErrorContains(t, err, "the program has neither registered nor read a resource with the URN "+string(made.URN)+"b")
		return nil
	})
	s.Preview(program)
	preview = false
	s.Up(program)
	s.Up(func(p *Run) error {
		_, err := invoke(p, builtin.GetResource, Props("urn", "urn:pulumi:dev::proj::test:index:Thing::a"))
		require.ErrorContains(t, err, "neither registered nor read", "what only an earlier run registered is not the program's")
		return nil
	})
}

func TestStashKeepsWhatItWasGivenFirst(t *testing.T) {
	s := NewStack(t, NewCloud())
	program := func(input property.Value, options ...func(*abi.ResourceOptions)) Program {
		return func(p *Run) error {
			_, err := p.Custom(builtin.Stash, "s", Props("input", input), options...)
			return err
		}
	}
	kept := func() property.Map { return s.Resource("s").Outputs }
	s.Up(program(property.Secret(property.String("first"))))
	require.Equal(t, property.Secret(property.String("first")), kept().Get("output"))

	s.Up(program(property.String("second")))
	require.Equal(t, []string{"update s"}, s.Steps())
	require.Equal(t, Props("input", "second", "output", property.Secret(property.String("first"))), kept())
	s.Up(program(property.String("second")))
	require.Empty(t, s.Steps())
	require.Equal(t, engine.Changes{Same: 1}, s.Refresh())

	s.Up(program(property.Number(3), func(o *abi.ResourceOptions) { o.ReplaceOnChanges = []string{"input"} }))
	require.Equal(t, Props("input", 3, "output", 3), kept())

	_, err := s.Try(Up, Program(func(p *Run) error {
		_, err := p.Custom(builtin.Stash, "imported", Props("input", 1), func(o *abi.ResourceOptions) { o.ImportID = "x" })
		return err
	}))
	require.ErrorContains(t, err, "a stash cannot be imported")
}

// The engine's own package is no provider that could be disabled, configured, or
// listed among the plugins of the state.
func TestBuiltinPackageIsNoPlugin(t *testing.T) {
	s := NewStack(t, NewCloud())
	s.Config = []abi.ConfigEntry{
		{Key: "pulumi:disable-default-providers", Value: `["*"]`},
		{Key: "pulumi:token", Value: "hunter2", Secret: true},
	}
	s.Up(func(p *Run) error {
		_, err := p.Custom(builtin.Stash, "s", Props("input", 1))
		return err
	})
	require.Empty(t, s.Snapshot().Manifest.Plugins)
	require.Zero(t, s.Resource("default").Inputs.Len())
}
