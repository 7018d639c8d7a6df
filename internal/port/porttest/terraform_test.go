package porttest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/port/porttest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// A provider on Terraform's plugin framework, with the adapter of this checkout.
func TestAProviderOnThePluginFramework(t *testing.T) {
	nightly.Skip(t)
	built, err := port.Port(t.Context(), "../../../testdata/ported/framework", port.Options{Dir: t.TempDir(), Name: "shelf", Version: "1.2.3"})
	require.NoError(t, err)
	require.Equal(t, "Terraform plugin framework", built.Manifest.Origin.Kind)
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "shelf"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	ctx := context.Background()
	response, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	require.NoError(t, err)
	pkg, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	require.NotNil(t, pkg.Resource("shelf:index/label:Label"))
	err = p.Configure(ctx, abi.ConfigureRequest{})
	require.NoError(t, err)
	created, err := p.Create(ctx, abi.CreateRequest{
		URN: "urn:pulumi:dev::app::shelf:index/label:Label::a", Type: "shelf:index/label:Label", Name: "a", Inputs: property.MapOf(map[string]property.Value{"text": property.String("hello")}),
	})
	require.NoError(t, err)
	made, _ := created.State.Get("labelUrn").AsString()
	require.Equal(t, "urn:label:hello", made)
}

// Providers on the plugin SDK, and behind a mux.
func TestOtherKindsForTerraform(t *testing.T) {
	nightly.Skip(t)
	for dir, kind := range map[string]string{"sdkv2": "Terraform plugin SDKv2", "mux": "Terraform provider servers behind a mux"} {
		t.Run(dir, func(t *testing.T) {
			built, err := port.Port(t.Context(), "../../../testdata/ported/"+dir, port.Options{Dir: t.TempDir()})
			require.NoError(t, err)
			require.Equal(t, kind, built.Manifest.Origin.Kind)
			m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
			require.NoError(t, err)
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: dir})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			pkg, err := schemajson.Parse([]byte(response.Schema))
			require.NoError(t, err)
			require.NotEmpty(t, pkg.Resources)
		})
	}
}

// A port of one type of either half of a provider has the whole configuration and that type as the whole port has it, and is linked
// without what creates the other.
func TestPortsOfOneType(t *testing.T) {
	nightly.Skip(t)
	of := func(only ...string) ([]byte, *schema.Package) {
		built, err := port.Port(t.Context(), "../../../testdata/ported/mux", port.Options{Dir: t.TempDir(), Name: "attic", Version: "1.0.0", Only: only})
		require.NoError(t, err)
		m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
		require.NoError(t, err)
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "attic"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.NoError(t, err)
		pkg, err := schemajson.Parse([]byte(response.Schema))
		require.NoError(t, err)
		return built.Wasm, pkg
	}
	all, whole := of()
	creates := map[string]string{"attic_trunk": "attic.putTrunk", "attic_lamp": "attic.lamp.Create"}
	tokens := map[string]string{"attic_trunk": "attic:index/trunk:Trunk", "attic_lamp": "attic:index/lamp:Lamp"}
	for name, token := range tokens {
		wasm, pkg := of(name)
		require.Len(t, pkg.Resources, 1)
		require.Equal(t, whole.Resource(token), pkg.Resource(token))
		require.Equal(t, whole.Config, pkg.Config)
		require.Less(t, len(wasm), len(all))
		for of, function := range creates {
			require.Contains(t, string(all), function)
			require.Equal(t, of == name, strings.Contains(string(wasm), function), "%s in a port of %s", function, name)
		}
	}
}

// A provider on the first plugin SDK, whose server is one of its own.
func TestAProviderOnTheFirstPluginSDK(t *testing.T) {
	nightly.Skip(t)
	built, err := port.Port(t.Context(), "../../../testdata/ported/sdkv1", port.Options{Dir: t.TempDir(), Name: "drawer", Version: "1.0.0"})
	require.NoError(t, err)
	require.Equal(t, "Terraform plugin SDK version 1", built.Manifest.Origin.Kind)
	require.Subset(t, built.Manifest.Origin.Shims, []string{"go-getter", "plugin-go-types", "plugin-sdk-1"})
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err, "within the limits that hosts have")
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "drawer"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	ctx := t.Context()
	require.NoError(t, p.Configure(ctx, abi.ConfigureRequest{Inputs: property.MapOf(map[string]property.Value{"prefix": property.String("crate")})}))

	const typ, urn = "drawer:index/box:Box", "urn:pulumi:dev::app::drawer:index/box:Box::b"
	object := func(members map[string]property.Value) property.Value {
		return property.Object(property.MapOf(members))
	}
	check := func(inputs map[string]property.Value) (property.Map, []abi.CheckFailure) {
		response, err := p.Check(ctx, abi.CheckRequest{URN: urn, Type: typ, Name: "b", News: property.MapOf(inputs)})
		require.NoError(t, err)
		return response.Inputs, response.Failures
	}
	_, failures := check(map[string]property.Value{"name": property.String("b"), "color": property.String("plaid")})
	require.Len(t, failures, 1)
	require.Contains(t, failures[0].Reason, "plaid")

	inputs := map[string]property.Value{
		"name": property.String("b"), "pin": property.Secret(property.String("1234")), "lid": object(nil),
		"parts": property.Array(object(map[string]property.Value{"label": property.String("left")})),
	}
	checked, failures := check(inputs)
	require.Empty(t, failures)
	made, err := p.Create(ctx, abi.CreateRequest{URN: urn, Type: typ, Name: "b", Inputs: checked})
	require.NoError(t, err)
	require.Equal(t, "crate-b", made.ID, "the configuration decides")
	require.Equal(t, "white", porttest.Text(made.State.Get("color")), "the default")
	require.Equal(t, `{metal: "steel"}`, property.Display(made.State.Get("lid").Plain()))
	require.Equal(t, `[{label: "left"}]`, property.Display(made.State.Get("parts").Plain()))
	require.True(t, made.State.Get("pin").IsSecret())
	width, _ := made.State.Get("width").Plain().AsNumber()
	require.EqualValues(t, 40, width)

	diff := func(changes map[string]property.Value) abi.DiffResponse {
		news := maps.Clone(inputs)
		maps.Copy(news, changes)
		checked, _ := check(news)
		response, err := p.Diff(ctx, abi.DiffRequest{
			URN: urn, Type: typ, Name: "b", ID: made.ID, OldInputs: property.MapOf(inputs), Olds: made.State, News: checked,
		})
		require.NoError(t, err)
		return response
	}
	require.Equal(t, abi.DiffChangesNone, diff(nil).Changes)
	require.Empty(t, diff(map[string]property.Value{"color": property.String("red")}).ReplaceKeys)
	require.Equal(t, []string{"name"}, diff(map[string]property.Value{"name": property.String("c")}).ReplaceKeys)

	_, err = p.Create(ctx, abi.CreateRequest{URN: urn, Type: typ, Name: "t", Inputs: property.MapOf(map[string]property.Value{
		"name": property.String("t"), "torn": property.Bool(true),
	})})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	require.Equal(t, "crate-t", abi.AsError(err).InitFailure.ID)

	imported, err := p.Read(ctx, abi.ReadRequest{URN: urn, Type: typ, Name: "b", ID: "crate-b"})
	require.NoError(t, err)
	require.Equal(t, "b", porttest.Text(imported.State.Get("name")))
	upgraded, err := p.Read(ctx, abi.ReadRequest{URN: urn, Type: typ, Name: "b", ID: "crate-b", State: new(property.MapOf(map[string]property.Value{
		"title": property.String("b"), "__meta": property.String(`{"schema_version":"0"}`),
	}))})
	require.NoError(t, err)
	require.Equal(t, "b", porttest.Text(upgraded.State.Get("name")), "of the attribute that the state had before")

	sized, err := p.Invoke(ctx, abi.InvokeRequest{Token: "drawer:index/getSize:getSize", Args: property.MapOf(map[string]property.Value{"width": property.Number(10)})})
	require.NoError(t, err)
	inches, _ := sized.Result.Get("inches").AsNumber()
	require.EqualValues(t, 4, inches)
	require.NoError(t, p.Delete(ctx, abi.DeleteRequest{URN: urn, Type: typ, Name: "b", ID: made.ID, State: made.State}))
}

// granting loads one module for all packages, with grants.
type granting struct {
	*host.Module
	grants host.Grants
}

func (l granting) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	return l.NewProvider(ctx, host.ProviderOptions{Name: spec.Name, Grants: l.grants})
}

// Twenty creates of a ported provider wait for its service at once: the service answers none before it has
// all of their requests.
func TestCreatesWaitTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles a module of 30 MB")
	}
	const creates = 20
	var waiting sync.WaitGroup
	waiting.Add(creates)
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting.Done()
		waiting.Wait()
	}))
	defer service.Close()
	allowed, err := grant.ParseHTTP(service.URL)
	require.NoError(t, err)
	built, err := port.Port(t.Context(), "../../../testdata/ported/parcels", port.Options{Dir: t.TempDir(), Name: "parcels", Version: "1.0.0"})
	require.NoError(t, err)
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)

	_, err = porttest.Deploy(t, granting{m, host.Grants{HTTP: []grant.HTTP{allowed}}}, "parcels:url", service.URL, func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
		made := make(chan error, creates)
		for n := range creates {
			go func() {
				_, err := s.Resource(ctx, goprogram.Declaration{
					Type: "parcels:index/parcel:Parcel", Name: fmt.Sprint("p", n),
					Inputs: property.NewMap(property.Entry{Key: "to", Value: property.String(fmt.Sprint(n))}),
				})
				made <- err
			}()
		}
		var failures []error
		for range creates {
			failures = append(failures, <-made)
		}
		return property.Map{}, errors.Join(failures...)
	})
	require.NoError(t, err)
}
