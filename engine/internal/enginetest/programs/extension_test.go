package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// extend registers a package that extends the test provider. The word is what the
// package's value differs by.
func extend(p *enginetest.Run, name, word string) (func(*abi.ResourceOptions), error) {
	pkg, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{
		Name: "test", Extension: &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{name, word}},
	})
	return func(o *abi.ResourceOptions) { o.PackageRef = pkg.PackageRef }, err
}

// twoExtensions is a program with resources of the provider's own package and of two
// that extend it, with the default provider and with one of its own.
func twoExtensions(word string) enginetest.Program {
	return func(p *enginetest.Run) error {
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props())
		if err != nil {
			return err
		}
		mine := func(o *abi.ResourceOptions) { o.Provider = prov.Reference() }
		if _, err := p.Custom(enginetest.Plain, "own", enginetest.Props()); err != nil {
			return err
		}
		for _, name := range []string{"cats", "dogs"} {
			ref, err := extend(p, name, word)
			if err != nil {
				return err
			}
			pet, err := p.Custom(name+":index:Pet", name, enginetest.Props(), ref)
			if err != nil {
				return err
			}
			if _, err := p.Custom(name+":index:Pet", name+"-mine", enginetest.Props(), ref, mine); err != nil {
				return err
			}
			if _, err := p.Child(pet.URN, enginetest.Plain, name+"-child", enginetest.Props()); err != nil {
				return err
			}
		}
		return nil
	}
}

func extensionsOf(t *testing.T, s *enginetest.Stack) map[string]state.Extension {
	recorded, err := state.DecodeExtensions(s.Snapshot().Extensions)
	require.NoError(t, err)
	out := make(map[string]state.Extension)
	for ref, value := range recorded {
		out[ref], err = state.DecodeExtension(value)
		require.NoError(t, err)
	}
	return out
}

// A package that extends another is served by that one's providers, which are told of
// it once; the state alone is enough to refresh and destroy what was made.
func TestExtensions(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	require.Equal(t, engine.Changes{Create: 9}, s.Preview(twoExtensions("big")))
	require.Nil(t, s.Snapshot().Extensions)
	require.Equal(t, engine.Changes{Create: 9}, s.Up(twoExtensions("big")))
	recorded := extensionsOf(t, s)
	require.Len(t, recorded, 2)
	for _, name := range []string{"cats", "dogs"} {
		res := s.Resource(name)
		require.Equal(t, state.Extension{Name: name, Version: "2.0.0", Value: []byte(`["` + name + `" "big"]`)}, recorded[res.ExtensionRef])
		require.Equal(t, s.Resource("own").Provider, res.Provider)
		require.Equal(t, s.Resource("mine").Reference(), s.Resource(name+"-mine").Provider)
		require.Empty(t, s.Resource(name+"-child").ExtensionRef)
		require.Equal(t, res.Provider, s.Resource(name+"-child").Provider)
	}
	require.NoError(t, s.Snapshot().Verify())

	s.Cloud.Parameters()
	require.Equal(t, engine.Changes{Same: 9}, s.Up(twoExtensions("big")))
	require.Len(t, s.Cloud.Parameters(), 6, "two registrations, and each of two providers is told of both")

	s.Refresh()
	require.ElementsMatch(t, []string{
		`["cats" "big"]`, `["cats" "big"]`, `["dogs" "big"]`, `["dogs" "big"]`,
	}, s.Cloud.Parameters())
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
	require.Len(t, s.Cloud.Parameters(), 4)
	require.Nil(t, s.Snapshot().Extensions, "no resource needs them")
}

// An extension comes to a provider as a step, before the first resource that uses it.
func TestExtendingIsAStep(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		ref, err := extend(p, "cats", "big")
		if err != nil {
			return err
		}
		_, err = p.Custom("cats:index:Pet", "tom", enginetest.Props(), ref)
		return err
	})
	var steps []string
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok {
			steps = append(steps, string(done.Step.Op)+" "+done.Step.Name+" "+done.Step.Reason)
		}
	}
	require.Contains(t, steps, "extend-parameterize default to serve the package cats 2.0.0")
	require.Equal(t, "create tom ", steps[len(steps)-1])
}

// Resources of an earlier version of an extension are deleted by a provider that knows
// that version; those that stay move to the new one.
func TestChangedExtension(t *testing.T) {
	program := func(word string, names ...string) enginetest.Program {
		return func(p *enginetest.Run) error {
			ref, err := extend(p, "cats", word)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, err := p.Custom("cats:index:Pet", name, enginetest.Props(), ref); err != nil {
					return err
				}
			}
			return nil
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program("big", "tom", "felix"))
	before := s.Resource("tom").ExtensionRef
	s.Cloud.Parameters()
	require.Equal(t, engine.Changes{Same: 2, Delete: 1}, s.Up(program("small", "tom")))
	require.Equal(t, []string{`["cats" "small"]`, `["cats" "small"]`, `["cats" "big"]`}, s.Cloud.Parameters())
	require.NotEqual(t, before, s.Resource("tom").ExtensionRef)
	require.Len(t, extensionsOf(t, s), 1)
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
}

func TestFunctionOfAnExtension(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Invoke = func(req abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: enginetest.Props("token", req.Token)}, nil
	}
	s := enginetest.NewStack(t, cloud)
	s.Up(func(p *enginetest.Run) error {
		pkg, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{
			Name: "test", Extension: &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"cats", "big"}},
		})
		if err != nil {
			return err
		}
		resp, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{
			Token: "cats:index:count", Options: abi.FunctionOptions{PackageRef: pkg.PackageRef},
		})
		require.Equal(t, property.String("cats:index:count"), resp.Result.Get("token"))
		return err
	})
}

// A package can extend one that a provider became by parameters.
func TestExtensionOfAParameterizedPackage(t *testing.T) {
	program := enginetest.Program(func(p *enginetest.Run) error {
		pkg, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{
			Name:       "test",
			Parameters: &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"animals"}},
			Extension:  &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"cats"}},
		})
		if err != nil {
			return err
		}
		require.Equal(t, "cats", pkg.Name)
		_, err = p.Custom("cats:index:Pet", "tom", enginetest.Props(), func(o *abi.ResourceOptions) { o.PackageRef = pkg.PackageRef })
		return err
	})
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program)
	require.Contains(t, s.Resource("tom").Provider, "pulumi:providers:animals::default_2_0_0::")
	require.Equal(t, engine.Changes{Same: 2}, s.Up(program))
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
}

func TestExtensionsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		typ, extension, want string
		provider             string
	}{
		"its own provider":    {typ: "pulumi:providers:cats", extension: "cats", want: `the package "cats" has no provider of its own: it extends "test", whose providers serve it: use the type pulumi:providers:test`},
		"its own name":        {typ: "test:index:Pet", extension: "test", want: `provider test was extended with the package "test", which it is itself`},
		"of another package":  {typ: "dogs:index:Pet", extension: "cats", want: `is of package "cats", but the token is of package "dogs"`},
		"another's providers": {typ: "cats:index:Pet", extension: "cats", provider: "other", want: `is for package "other", but the resource belongs to package "test"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := enginetest.NewStack(t, enginetest.NewCloud()).Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
				ref, err := extend(p, test.extension, "x")
				if err != nil {
					return err
				}
				options := []func(*abi.ResourceOptions){ref}
				if test.provider != "" {
					prov, err := p.Custom("pulumi:providers:"+test.provider, "theirs", enginetest.Props())
					if err != nil {
						return err
					}
					options = append(options, func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
				}
				_, err = p.Custom(test.typ, "tom", enginetest.Props(), options...)
				return err
			}))
			require.ErrorContains(t, err, test.want)
		})
	}
}
