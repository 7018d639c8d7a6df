package porttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program/goprogram"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/port/porttest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// loader loads one module for all packages.
type loader struct{ *host.Module }

func (l loader) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	return l.NewProvider(ctx, host.ProviderOptions{Name: spec.Name})
}

// A provider made with pulumi-go-provider, with the adapter of this checkout: a resource, a function, a
// component that declares resources over its monitor, and a partial failure.
func TestAProviderMadeWithPulumiGoProvider(t *testing.T) {
	nightly.Skip(t)
	built, err := port.Port(t.Context(), "../../../testdata/ported/gopulumi", port.Options{Dir: t.TempDir(), Name: "notes", Version: "1.2.0"})
	require.NoError(t, err)
	require.Equal(t, "pulumi-go-provider", built.Manifest.Origin.Kind)
	require.Subset(t, built.Manifest.Origin.Shims, []string{"pulumi-provider", "pulumi-sdk", "pulumi-pkg"})
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)

	outputs, err := porttest.Deploy(t, loader{m}, "notes:author", "ada", func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
		note, err := s.Resource(ctx, goprogram.Declaration{Type: "notes:index:Note", Name: "first", Inputs: property.MapOf(map[string]property.Value{
			"title": property.String("hello"), "text": property.String("one two three"),
		})})
		if err != nil {
			return property.Map{}, err
		}
		binder, err := s.RemoteComponent(ctx, goprogram.Declaration{Type: "notes:index:Binder", Name: "b", Inputs: property.MapOf(map[string]property.Value{
			"count": property.Number(3), "text": note.Output("text"),
		})})
		if err != nil {
			return property.Map{}, err
		}
		counted, err := s.Invoke(ctx, "notes:index:count", property.MapOf(map[string]property.Value{"text": property.String("a b")}), abi.FunctionOptions{})
		return property.MapOf(map[string]property.Value{
			"text": note.Output("text"), "color": note.Output("color"), "author": note.Output("author"),
			"ids": binder.Output("ids"), "words": binder.Output("words"), "counted": counted,
		}), err
	})
	require.NoError(t, err)
	require.Equal(t, property.Secret(property.String("one two three")), outputs.Get("text"), "the provider marks it")
	require.Equal(t, "ada", porttest.Text(outputs.Get("author")), "of the configuration")
	require.Equal(t, "yellow", porttest.Text(outputs.Get("color")), "the default")
	require.Equal(t, `["note-b-0", "note-b-1", "note-b-2"]`, property.Display(outputs.Get("ids").Plain()))
	words, _ := outputs.Get("words").Plain().AsNumber()
	require.EqualValues(t, 9, words)

	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "notes"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Type: "pulumi:providers:notes", Inputs: property.MapOf(map[string]property.Value{"author": property.String("ada")}),
	}))
	_, err = p.Create(t.Context(), abi.CreateRequest{
		URN: "urn:pulumi:dev::app::notes:index:Note::torn", Name: "torn", Type: "notes:index:Note",
		Inputs: property.MapOf(map[string]property.Value{
			"title": property.String("torn"), "text": property.Secret(property.String("x")), "color": property.String("red"), "torn": property.Bool(true),
		}),
	})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	failure := abi.AsError(err).InitFailure
	require.Equal(t, "note-torn", failure.ID)
	require.Equal(t, []string{"the paper is torn"}, failure.Reasons)
	require.Equal(t, "red", porttest.Text(failure.State.Get("color")))
}

// A provider that speaks Pulumi's protocol itself, with an SDK whose server is in another module.
func TestAProviderOnAnOldSDKOfPulumi(t *testing.T) {
	nightly.Skip(t)
	built, err := port.Port(t.Context(), "../../../testdata/ported/pulumirpc", port.Options{Dir: t.TempDir(), Name: "slip", Version: "0.1.0"})
	require.NoError(t, err)
	require.Equal(t, "Pulumi provider server", built.Manifest.Origin.Kind)
	require.Subset(t, built.Manifest.Origin.Shims, []string{"pulumi-provider-pkg", "linux:github.com/go-git/go-git/v5"})
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)
	outputs, err := porttest.Deploy(t, loader{m}, "notes:author", "ada", func(ctx context.Context, s *goprogram.Stack) (property.Map, error) {
		slip, err := s.Resource(ctx, goprogram.Declaration{Type: "slip:index:Slip", Name: "a", Inputs: property.MapOf(map[string]property.Value{
			"text": property.String("four"),
		})})
		if err != nil {
			return property.Map{}, err
		}
		return property.MapOf(map[string]property.Value{"length": slip.Output("length")}), nil
	})
	require.NoError(t, err)
	length, _ := outputs.Get("length").Plain().AsNumber()
	require.EqualValues(t, 4, length)
}
