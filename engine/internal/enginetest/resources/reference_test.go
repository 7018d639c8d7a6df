package resources_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	. "github.com/husk-dev/husk/engine/internal/enginetest"
)

// referring registers a resource, a component, and what refers to both.
func referring(p *Run) error {
	a, err := p.Custom("test:index:Thing", "a", property.Map{})
	if err != nil {
		return err
	}
	c, err := p.Component("test:index:Group", "c", property.Map{})
	if err != nil {
		return err
	}
	_, err = p.Custom("test:index:Thing", "b", Props(
		"resource", referenceTo(a, true),
		"component", referenceTo(c, false),
		"nested", property.Secret(property.Array(referenceTo(a, true))),
	))
	return err
}

func TestReferencesAreKeptForProvidersThatKnowThem(t *testing.T) {
	s := NewStack(t, NewCloud())
	s.Preview(referring)
	s.Up(referring)
	a, c := s.Resource("a"), s.Resource("c")
	for _, bag := range []property.Map{s.Resource("b").Inputs, s.Resource("b").Outputs} {
		got, ok := bag.Get("resource").AsReference()
		require.True(t, ok)
		require.Equal(t, property.ResourceReference{URN: string(a.URN), HasID: true, ID: "a-1", PackageVersion: "1.0.0"}, got)
		got, _ = bag.Get("component").AsReference()
		require.Equal(t, property.ResourceReference{URN: string(c.URN), PackageVersion: "1.0.0"}, got)
	}
	s.Up(referring)
	require.Empty(t, s.Steps())
}

func TestReferencesAreIDsForProvidersThatDoNotKnowThem(t *testing.T) {
	cloud := NewCloud()
	features := abi.FeaturesSecrets | abi.FeaturesPreview
	cloud.Features = &features
	s := NewStack(t, cloud)
	s.Preview(referring) // the IDs are not known there
	s.Up(referring)
	require.Equal(t, Props(
		"resource", "a-1",
		"component", string(s.Resource("c").URN),
		"nested", property.Secret(property.Array(property.String("a-1"))),
	), s.Resource("b").Inputs)
	s.Up(referring)
	require.Empty(t, s.Steps())
}

// byPackage loads each package from a cloud of its own.
type byPackage map[string]*Cloud

func (b byPackage) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	return b[spec.Name].Load(ctx, spec)
}

// A component gets what its provider understands: references or text, outputs or
// values whose dependencies are told apart; and its monitor answers no more than that.
func TestWhatComponentsAreGiven(t *testing.T) {
	a := "urn:pulumi:dev::proj::test:index:Thing::a"
	reference := property.Reference(property.ResourceReference{URN: a, HasID: true, ID: "a-1", PackageVersion: "1.0.0"})
	output := func(v property.Value, secret bool) property.Value {
		return property.OutputOf(property.Output{Value: v, Secret: secret, Dependencies: []string{a}})
	}
	for name, test := range map[string]struct {
		features abi.Features
		want     property.Map
		depends  []abi.PropertyDependency
		answer   property.Value
	}{
		"everything": {
			features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs,
			want: Props("list", property.Array(property.String("x"), output(property.Number(1), true)),
				"ref", output(reference, false)),
			answer: reference,
		},
		"no outputs": {
			features: abi.FeaturesSecrets | abi.FeaturesResourceReferences,
			want:     Props("list", property.Array(property.String("x"), property.Secret(property.Number(1))), "ref", reference),
			depends:  []abi.PropertyDependency{{Key: "list", URNs: []urn.URN{urn.URN(a)}}, {Key: "ref", URNs: []urn.URN{urn.URN(a)}}},
			answer:   reference,
		},
		"no references": {
			features: abi.FeaturesSecrets | abi.FeaturesOutputs,
			want: Props("list", property.Array(property.String("x"), output(property.Number(1), true)),
				"ref", output(property.String("a-1"), false)),
			answer: property.String("a-1"),
		},
		"nothing, and secrets all the same": {
			want:    Props("list", property.Array(property.String("x"), property.Secret(property.Number(1))), "ref", property.String("a-1")),
			depends: []abi.PropertyDependency{{Key: "list", URNs: []urn.URN{urn.URN(a)}}, {Key: "ref", URNs: []urn.URN{urn.URN(a)}}},
			answer:  property.String("a-1"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := NewCloud()
			cloud.Features = &test.features
			constructed := false
			cloud.Construct = func(ctx context.Context, m abi.Monitor, req abi.ConstructRequest) (abi.ConstructResponse, error) {
				constructed = true
				require.Equal(t, test.want, req.Inputs)
				require.ElementsMatch(t, test.depends, req.InputDependencies)
				own, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: req.Type, Name: req.Name, Inputs: req.Inputs, PropertyDependencies: req.InputDependencies})
				if err != nil {
					return abi.ConstructResponse{}, err
				}
				child := abi.RegisterResourceRequest{Type: "test:index:Thing", Name: "child", Custom: true, Parent: own.URN, Inputs: Props("ref", reference)}
				made, err := m.RegisterResource(ctx, child)
				if err != nil {
					return abi.ConstructResponse{}, err
				}
				require.Equal(t, test.answer, made.State.Get("ref"))
				child.Name = "another"
				handle, err := m.Start(ctx, abi.Operation{Case: abi.OperationCaseRegisterResource, RegisterResource: child})
				require.NoError(t, err)
				done, err := m.Wait(ctx)
				require.NoError(t, err)
				require.Equal(t, handle, done.Handle)
				require.Equal(t, test.answer, done.Outcome.Registered.State.Get("ref"))
				return abi.ConstructResponse{URN: own.URN}, m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: own.URN})
			}
			s := NewStack(t, cloud)
			s.Edit = func(d *Deployment) { d.Providers = byPackage{"group": cloud, "test": NewCloud()} }
			s.Up(func(p *Run) error {
				if _, err := p.Custom("test:index:Thing", "a", property.Map{}); err != nil {
					return err
				}
				_, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
					Type: "group:index:Group", Name: "g", Remote: true,
					Inputs: Props(
						"list", property.Array(property.String("x"), output(property.Number(1), true)),
						"ref", output(reference, false)),
				})
				return err
			})
			require.True(t, constructed)
			own := s.Resource("g")
			require.Equal(t, []urn.URN{urn.URN(a)}, own.PropertyDependencies["list"])
			require.True(t, own.Inputs.Get("list").ContainsSecrets())
		})
	}
}
