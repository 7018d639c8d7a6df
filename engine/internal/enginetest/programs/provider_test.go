package programs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

func withProvider(region property.Value) enginetest.Program {
	return func(p *enginetest.Run) error {
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", region))
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "a", enginetest.Props("x", 1), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
		return err
	}
}

func TestDefaultProviderTakesTheStacksConfiguration(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Config = []abi.ConfigEntry{
		{Key: "test:region", Value: "north"}, {Key: "test:token", Value: "hunter2", Secret: true}, {Key: "proj:region", Value: "no"},
	}
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	prov := s.Resource("default")
	require.Equal(t, enginetest.ProviderType, prov.Type)
	require.Equal(t, property.String("north"), prov.Inputs.Get("region"))
	require.True(t, prov.Inputs.Get("token").IsSecret())
	require.Equal(t, prov.Reference(), s.Resource("a").Provider)
	n := 0
	for _, res := range s.Snapshot().Resources() {
		if res.IsProvider() {
			n++
		}
	}
	require.Equal(t, 1, n, "one for all resources of the package")
}

// What a default provider says of the stack's configuration is about that, and no resource of the program is to blame.
func TestConfigurationThatAProviderRefuses(t *testing.T) {
	const path = "zones[1].name"
	refused := abi.NewError(abi.ErrorKindInvalidArgument, "it is no zone")
	refused.Path = path
	missing := abi.NewError(abi.ErrorKindInvalidArgument, "the region")
	missing.MissingKeys = []abi.MissingKey{{Name: "zones"}}
	check := func(abi.CheckRequest) (abi.CheckResponse, error) {
		return abi.CheckResponse{Failures: []abi.CheckFailure{{Path: path, Reason: "it is no zone"}}}, nil
	}
	for _, test := range []struct {
		name      string
		check     func(abi.CheckRequest) (abi.CheckResponse, error)
		configure error
		path      string
		want      string
	}{
		{"CheckConfig", check, nil, "[1].name", "Husk.dev.yaml:3: test:zones[1].name: it is no zone"},
		{"Configure", nil, refused, "[1].name", `Husk.dev.yaml:3: create pulumi:providers:test "default": zones[1].name: it is no zone`},
		{"a missing key", nil, missing, "", `Husk.dev.yaml:3: create pulumi:providers:test "default": provider test is missing required configuration:`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cloud := enginetest.NewCloud()
			cloud.CheckConfig = test.check
			cloud.Configure = func(abi.ConfigureRequest) error { return test.configure }
			s := enginetest.NewStack(t, cloud)
			var asked []engine.ConfigValue
			s.Edit = func(d *enginetest.Deployment) {
				d.AtConfig = func(at engine.ConfigValue, err error) error {
					asked = append(asked, at)
					return fmt.Errorf("Husk.dev.yaml:3: %w", err)
				}
			}
			_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
			require.ErrorIs(t, err, abi.ErrInvalidArgument)
			require.ErrorContains(t, err, test.want)
			require.NotEmpty(t, asked)
			require.Equal(t, "test:zones", asked[0].Key)
			require.Equal(t, test.path, asked[0].Path.String())

			asked = nil
			_, err = s.Try(enginetest.Up, withProvider(property.String("north")))
			require.ErrorIs(t, err, abi.ErrInvalidArgument)
			require.Empty(t, asked, "the program gives it")
		})
	}
}

func TestDefaultProvidersCanBeDisabled(t *testing.T) {
	for _, list := range []string{`["test"]`, `["*"]`} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Config = []abi.ConfigEntry{{Key: "pulumi:disable-default-providers", Value: list}}
		_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
		require.ErrorContains(t, err, `default provider of package "test" is disabled`)
	}
}

func TestExplicitProvider(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(withProvider(property.String("north")))
	require.Equal(t, s.Resource("mine").Reference(), s.Resource("a").Provider)
	require.Nil(t, s.Resource("default"))
	require.Equal(t, 0, s.Up(withProvider(property.String("north"))).Total())
}

// A preview in which a provider's configuration is not known yet takes its resources to
// be updated, says so, and asks it nothing.
func TestProviderThatIsNotConfiguredYet(t *testing.T) {
	program := func(region func(p *enginetest.Run) (property.Value, error)) enginetest.Program {
		return func(p *enginetest.Run) error {
			at, err := region(p)
			if err != nil {
				return err
			}
			mine, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", at))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "user", enginetest.Props("x", 1), func(o *abi.ResourceOptions) { o.Provider = mine.Reference() })
			if err != nil {
				return err
			}
			answer, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{
				Token: "test:index:look", Options: abi.FunctionOptions{Provider: mine.Reference()},
			})
			if err == nil && answer.Unknown != p.Context.DryRun {
				err = fmt.Errorf("the answer is unknown: %v", answer.Unknown)
			}
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) { return abi.InvokeResponse{}, nil }
	_, err := s.Try(enginetest.Up, program(func(*enginetest.Run) (property.Value, error) { return property.String("here"), nil }))
	require.NoError(t, err)
	asked := 0
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		asked++
		return abi.DiffResponse{Changes: abi.DiffChangesNone}, nil
	}
	later := program(func(p *enginetest.Run) (property.Value, error) {
		source, err := p.Custom(enginetest.Plain, "source", enginetest.Props())
		return source.Out("made"), err
	})
	_, err = s.Try(enginetest.Preview, later)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"create source", "update mine", "update user"}, s.Steps())
	require.Contains(t, s.Warnings(), "the provider's configuration is not known yet: assuming that the resource will be updated")
	require.Zero(t, asked)
	_, err = s.Try(enginetest.Up, later)
	require.NoError(t, err)
	require.Equal(t, 1, asked, "an update knows it")
}

func TestProviderOfAnotherPackageIsRefused(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		prov, err := p.Custom("pulumi:providers:other", "mine", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
		return err
	}))
	require.ErrorContains(t, err, `is for package "other", but the resource belongs to package "test"`)
}

func TestReplacedProviderReplacesItsResources(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = enginetest.ReplacedByRegion
	s := enginetest.NewStack(t, cloud)
	s.Up(withProvider(property.String("north")))
	s.Cloud.Calls()
	want := engine.Changes{Same: 1, Replace: 2}
	require.Equal(t, want, s.Preview(withProvider(property.String("south"))))
	require.Equal(t, want, s.Up(withProvider(property.String("south"))))
	require.Equal(t, []string{"create a", "delete a-1"}, s.Cloud.Calls())
}

func TestUpdatedProviderKeepsItsResources(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(withProvider(property.String("north")))
	s.Cloud.Calls()
	require.Equal(t, engine.Changes{Same: 2, Update: 1}, s.Up(withProvider(property.String("south"))))
	require.Empty(t, s.Cloud.Calls())
}

func TestProviderConfiguredFromAResource(t *testing.T) {
	program := enginetest.Program(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "source", enginetest.Props())
		if err != nil {
			return err
		}
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", a.Out("made")))
		if err != nil {
			return err
		}
		b, err := p.Custom(enginetest.Plain, "user", enginetest.Props("x", 1), func(o *abi.ResourceOptions) { o.Provider = prov.Reference() })
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "after", enginetest.Props("x", b.Out("made")))
		return err
	})
	s := enginetest.NewStack(t, enginetest.NewCloud())
	require.Equal(t, engine.Changes{Create: 5}, s.Preview(program), "a provider that is not configured yet is no obstacle")
	require.Equal(t, engine.Changes{Create: 5}, s.Up(program))
	require.Equal(t, engine.Changes{Same: 5}, s.Up(program))
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
}

func TestMissingConfigurationSaysHowToSetIt(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.Providers = missingKey{s.Cloud} }
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "husk config set test:token <value>")
}

func TestChildrenInheritProviderAndProtection(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		prov, err := p.Custom(enginetest.ProviderType, "mine", enginetest.Props())
		if err != nil {
			return err
		}
		yes := true
		group, err := p.Component("proj:index:Group", "group", enginetest.Props(), func(o *abi.ResourceOptions) {
			o.Providers = []abi.PackageProvider{{Package: "test", Reference: prov.Reference()}}
			o.Protect = &yes
		})
		if err != nil {
			return err
		}
		_, err = p.Child(group.URN, enginetest.Plain, "child", enginetest.Props())
		return err
	})
	child := s.Resource("child")
	require.Equal(t, s.Resource("mine").Reference(), child.Provider)
	require.True(t, child.Protect)
	require.Equal(t, "proj:index:Group$test:index:Plain", child.URN.QualifiedType())
}

func TestInvoke(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Invoke = func(req abi.InvokeRequest) (abi.InvokeResponse, error) {
		name, _ := req.Args.Get("name").Plain().AsString()
		return abi.InvokeResponse{Result: enginetest.Props("upper", strings.ToUpper(name))}, nil
	}
	none := abi.FeaturesPreview
	cloud.Features = &none
	s := enginetest.NewStack(t, cloud)
	s.Up(func(p *enginetest.Run) error {
		resp, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{
			Token: "test:index:upper", Args: enginetest.Props("name", property.Secret(property.String("x"))),
		})
		if err != nil {
			return err
		}
		require.Equal(t, property.Secret(property.String("X")), resp.Result.Get("upper"), "the result of a secret is secret")
		return nil
	})
	s.Preview(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "new", enginetest.Props())
		if err != nil {
			return err
		}
		resp, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:upper", Args: enginetest.Props("name", a.Out("made"))})
		require.True(t, resp.Unknown)
		return err
	})
}

func TestComponentOfAProvider(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Construct = func(ctx context.Context, m abi.Monitor, req abi.ConstructRequest) (abi.ConstructResponse, error) {
		self, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
			Type: req.Type, Name: req.Name, Parent: req.Parent, Options: req.Options,
		})
		if err != nil {
			return abi.ConstructResponse{}, err
		}
		for _, name := range []string{"one", "two"} {
			if _, err := m.Start(ctx, abi.Operation{
				Case: abi.OperationCaseRegisterResource,
				RegisterResource: abi.RegisterResourceRequest{
					Type: enginetest.Plain, Name: req.Name + "-" + name, Parent: self.URN, Custom: true, Inputs: req.Inputs,
				},
			}); err != nil {
				return abi.ConstructResponse{}, err
			}
		}
		for range 2 {
			done, err := m.Wait(ctx)
			if err != nil {
				return abi.ConstructResponse{}, err
			}
			if done.Outcome.Case == abi.OutcomeCaseFailed {
				return abi.ConstructResponse{}, done.Outcome.Failed
			}
		}
		outputs := enginetest.Props("children", 2)
		err = m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: self.URN, Outputs: outputs})
		return abi.ConstructResponse{URN: self.URN, State: outputs}, err
	}
	program := enginetest.Program(func(p *enginetest.Run) error {
		resp, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: "test:index:Pair", Name: "pair", Remote: true, Inputs: enginetest.Props("x", 1),
		})
		if err != nil {
			return err
		}
		return p.Outputs(enginetest.Props("children", resp.State.Get("children")))
	})
	s := enginetest.NewStack(t, cloud)
	require.Equal(t, engine.Changes{Create: 4}, s.Up(program))
	require.Equal(t, s.Resource("pair").URN, s.Resource("pair-one").Parent)
	require.Equal(t, engine.Changes{Same: 4}, s.Up(program))
	s.Destroy()
	require.Zero(t, cloud.Objects())
}

// A method goes to the provider that it is called on, and one of another resource to the provider of that, unless the call names one.
func TestMethodsGoToTheProviderOfTheirResource(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	preview := true
	program := enginetest.Program(func(p *enginetest.Run) error {
		region := func(token string, of property.ResourceReference, options abi.FunctionOptions) (string, error) {
			answer, err := p.Monitor.Call(p.Ctx, abi.MonitorCallRequest{
				Token: token, Args: enginetest.Props("__self__", property.Reference(of)), Options: options,
			})
			text, _ := answer.Result.Get("region").AsString()
			return text, err
		}
		north, err := p.Custom(enginetest.ProviderType, "north", enginetest.Props("region", "north"))
		require.NoError(t, err)
		south, err := p.Custom(enginetest.ProviderType, "south", enginetest.Props("region", "south"))
		require.NoError(t, err)
		made, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = north.Reference() })
		require.NoError(t, err)
		ref := func(u urn.URN, id string) property.ResourceReference {
			return property.ResourceReference{URN: string(u), HasID: true, ID: id}
		}
		id := made.ID
		if preview {
			id = ""
		}
		for _, c := range []struct {
			token   string
			of      property.ResourceReference
			options abi.FunctionOptions
			region  string
			err     string
		}{
			{token: enginetest.ProviderType + "/where", of: ref(north.URN, north.ID), region: "north"},
			{token: enginetest.ProviderType + "/where", of: ref(south.URN, south.ID), options: abi.FunctionOptions{Provider: north.Reference()}, region: "south"},
			{token: enginetest.Plain + "/where", of: ref(made.URN, id), region: "north"},
			{token: enginetest.Plain + "/where", of: ref(made.URN, id), options: abi.FunctionOptions{Provider: south.Reference()}, region: "south"},
			{token: enginetest.Plain + "/where"},
			{token: enginetest.ProviderType + "/where", of: ref(made.URN, id), err: "method " + enginetest.ProviderType + "/where: __self__ must be a resource of type " + enginetest.ProviderType},
			{token: enginetest.ProviderType + "/where", err: "__self__ must be a resource of type " + enginetest.ProviderType},
		} {
			got, err := region(c.token, c.of, c.options)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, c.region, got, "%s of %v with %v", c.token, c.of, c.options)
		}
		return nil
	})
	s.Preview(program)
	preview = false
	s.Up(program)
}

// Two parameterizations of one module are two packages, each with a default
// provider; the state alone is enough to destroy what they made.
func TestParameterizedPackages(t *testing.T) {
	program := enginetest.Program(func(p *enginetest.Run) error {
		for _, name := range []string{"cats", "dogs"} {
			pkg, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{
				Name: "test", Parameters: &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{name, "big"}},
			})
			if err != nil {
				return err
			}
			require.Equal(t, name, pkg.Name)
			ref := func(o *abi.ResourceOptions) { o.PackageRef = pkg.PackageRef }
			if _, err := p.Custom(name+":index:Pet", name+"-pet", enginetest.Props(), ref); err != nil {
				return err
			}
			prov, err := p.Custom("pulumi:providers:"+name, name+"-mine", enginetest.Props(), ref)
			if err != nil {
				return err
			}
			if _, err := p.Custom(name+":index:Pet", name+"-other", enginetest.Props(), func(o *abi.ResourceOptions) {
				o.Provider = prov.Reference()
			}); err != nil {
				return err
			}
		}
		return nil
	})
	s := enginetest.NewStack(t, enginetest.NewCloud())
	require.Equal(t, engine.Changes{Create: 7}, s.Up(program))
	require.Equal(t, engine.Changes{Same: 7}, s.Up(program))
	pet := s.Resource("cats-pet")
	require.Contains(t, pet.Provider, "pulumi:providers:cats::default_2_0_0::")
	s.Cloud.Parameters()
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())
	require.Subset(t, []string{`["cats" "big"]`, `["dogs" "big"]`}, s.Cloud.Parameters())
}

func TestPackageReferenceOfAnotherPackageIsRefused(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		pkg, err := p.Monitor.RegisterPackage(p.Ctx, abi.RegisterPackageRequest{Name: "test"})
		if err != nil {
			return err
		}
		_, err = p.Custom("other:index:Thing", "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.PackageRef = pkg.PackageRef })
		return err
	}))
	require.ErrorContains(t, err, `is of package "test", but the token is of package "other"`)
}

// A provider resource records the digest of its module: what the module made is
// refreshed and destroyed by it, and an update moves to the module installed now.
func TestModulesAreKeptByDigest(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Digest = "sha256:one"
	s := enginetest.NewStack(t, cloud)
	s.Up(withProvider(property.String("north")))
	require.Equal(t, engine.Changes{Same: 3}, s.Up(withProvider(property.String("north"))))

	cloud.Digest = "sha256:two"
	cloud.Loaded()
	s.Refresh()
	require.Equal(t, []string{"sha256:one"}, cloud.Loaded())

	require.Equal(t, engine.Changes{Same: 2, Update: 1}, s.Up(withProvider(property.String("north"))))
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpUpdate {
			require.Equal(t, []engine.PropertyChange{{
				Path: "__internal.digest", Kind: "update", Old: `"sha256:one"`, New: `"sha256:two"`,
			}}, done.Step.Diff)
		}
	}
	cloud.Loaded()
	s.Destroy()
	require.Equal(t, []string{"sha256:two"}, cloud.Loaded())
}

// madeBySource registers a provider whose region is known once its source, which a key replaces, is made.
func madeBySource(p *enginetest.Run, key int) (enginetest.Resource, error) {
	source, err := p.Custom(enginetest.Strict, "source", enginetest.Props("key", key))
	if err != nil {
		return enginetest.Resource{}, err
	}
	return p.Custom(enginetest.ProviderType, "mine", enginetest.Props("region", source.Out("made")))
}

// A provider that a setting which is not known yet may replace, and its resources, may be replaced: the preview says
// so, a plan allows for it, and what is protected is warned of, or refused in a plan.
func TestProviderThatMayBeReplaced(t *testing.T) {
	yes := true
	program := func(key int, protect bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			mine, err := madeBySource(p, key)
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "user", enginetest.Props(), func(o *abi.ResourceOptions) {
				o.Provider = mine.Reference()
				if protect {
					o.Protect = &yes
				}
			})
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.DiffConfig = func(r abi.DiffRequest) (abi.DiffResponse, error) {
		if r.News.ContainsUnknowns() {
			return abi.DiffResponse{Changes: abi.DiffChangesSome}, nil
		}
		return enginetest.ReplacedByRegion(r)
	}
	s.Up(program(1, false))
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	result, err := s.Try(enginetest.Preview, program(2, false))
	require.NoError(t, err)
	planned := s.Steps()
	var reasons []string
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpCreateReplacement && done.Step.Reason != "" {
			reasons = append(reasons, done.Step.Name+": "+done.Step.Reason)
		}
	}
	require.Equal(t, []string{
		"mine: unknown inputs may replace it: region",
		"user: its provider may be replaced, whose settings are not known yet",
	}, reasons)
	plan, _ := s.Reread(result.Plan)
	s.Edit = func(d *enginetest.Deployment) { d.Plan = plan }
	s.Up(program(2, false))
	require.ElementsMatch(t, planned, s.Steps())

	s.Edit = nil
	s.Up(program(2, true))
	_, err = s.Try(enginetest.Preview, program(3, true))
	require.NoError(t, err)
	require.Contains(t, s.Warnings(), "the resource is protected, and may have to be replaced, since "+
		"its provider may be replaced, whose settings are not known yet: the update will fail then")
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	_, err = s.Try(enginetest.Preview, program(3, true))
	require.ErrorContains(t, err, "the resource is protected")
}

// A provider that is not configured yet cannot say that a resource has to be deleted before its replacement is made. What is deleted in
// any case, since the program lacks it, may then go with it: a plan allows that.
func TestPlannedDeletionMayComeEarly(t *testing.T) {
	program := func(key int, user bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			mine, err := madeBySource(p, key)
			if err != nil {
				return err
			}
			used, err := p.Custom(enginetest.Single, "used", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Provider = mine.Reference() })
			if err != nil || !user {
				return err
			}
			_, err = p.Custom(enginetest.Strict, "user", enginetest.Props("key", used.Out("made")))
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.DiffConfig = func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	s.Up(program(1, true))
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	result, err := s.Try(enginetest.Preview, program(2, false))
	require.NoError(t, err)
	require.Contains(t, s.Steps(), "delete user")
	plan, _ := s.Reread(result.Plan)
	s.Edit = func(d *enginetest.Deployment) { d.Plan = plan }
	s.Up(program(2, false))
	require.Contains(t, s.Steps(), "delete-replaced user")
	require.Contains(t, s.Steps(), "remove-pending-replace user")
}
