package port

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// A provider on Terraform's plugin framework, with the adapter of this checkout.
func TestAProviderOnThePluginFramework(t *testing.T) {
	built, err := Port(t.Context(), "../../testdata/ported/framework", Options{Dir: t.TempDir(), Name: "shelf", Version: "1.2.3"})
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
	for dir, kind := range map[string]string{"sdkv2": "Terraform plugin SDKv2", "mux": "Terraform provider servers behind a mux"} {
		t.Run(dir, func(t *testing.T) {
			built, err := Port(t.Context(), "../../testdata/ported/"+dir, Options{Dir: t.TempDir()})
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

// A provider on the first plugin SDK, whose server is one of its own.
func TestAProviderOnTheFirstPluginSDK(t *testing.T) {
	built, err := Port(t.Context(), "../../testdata/ported/sdkv1", Options{Dir: t.TempDir(), Name: "drawer", Version: "1.0.0"})
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
	require.Equal(t, "white", text(made.State.Get("color")), "the default")
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
	require.Equal(t, "b", text(imported.State.Get("name")))
	upgraded, err := p.Read(ctx, abi.ReadRequest{URN: urn, Type: typ, Name: "b", ID: "crate-b", State: new(property.MapOf(map[string]property.Value{
		"title": property.String("b"), "__meta": property.String(`{"schema_version":"0"}`),
	}))})
	require.NoError(t, err)
	require.Equal(t, "b", text(upgraded.State.Get("name")), "of the attribute that the state had before")

	sized, err := p.Invoke(ctx, abi.InvokeRequest{Token: "drawer:index/getSize:getSize", Args: property.MapOf(map[string]property.Value{"width": property.Number(10)})})
	require.NoError(t, err)
	inches, _ := sized.Result.Get("inches").AsNumber()
	require.EqualValues(t, 4, inches)
	require.NoError(t, p.Delete(ctx, abi.DeleteRequest{URN: urn, Type: typ, Name: "b", ID: made.ID, State: made.State}))
}

// The keys of a mapping are those of the adapter's type.
func TestTheMappingIsTheAdapters(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../guest-sdk/terraform/mapping.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	adapters := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(f.Tag.Value)
			require.NoError(t, err)
			key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			adapters[spec.Name.Name] = append(adapters[spec.Name.Name], key)
		}
		return false
	})
	own := map[string][]string{}
	for name, of := range map[string]any{"Mapping": mapping{}, "Resource": mappedResource{}, "Function": mappedFunction{}, "Field": mappedField{}} {
		for i := range reflect.TypeOf(of).NumField() {
			field := reflect.TypeOf(of).Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.Equal(t, key, field.Tag.Get("yaml"))
			own[name] = append(own[name], key)
		}
	}
	require.Equal(t, adapters, own)
}

// Each built-in mapping can be read, and is for the module of its path, whoever publishes that.
func TestPublishedMappings(t *testing.T) {
	found := 0
	require.NoError(t, fs.WalkDir(published, "mappings", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		module, ok := strings.CutSuffix(strings.TrimPrefix(path, "mappings/"), ".yaml")
		require.True(t, ok, path)
		m, err := publishedMapping(module)
		require.NoError(t, err)
		require.Contains(t, string(m), `"optional":true`, "%s is for all versions", path)
		same, err := publishedMapping(strings.Replace(module, "/hashicorp/", "/terraform-providers/", 1))
		require.NoError(t, err)
		require.JSONEq(t, string(m), string(same))
		return nil
	}))
	require.Positive(t, found)
	for _, module := range []string{"github.com/acme/terraform-provider-tls", "", "../mappings", "github.com/hashicorp"} {
		m, err := publishedMapping(module)
		require.NoError(t, err, module)
		require.Nil(t, m, module)
	}
}

// The builder finds the tags of the adapter's files in the files themselves.
func TestTheTagsAreTheAdapters(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../guest-sdk/terraform/versions.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var want []string
	oldest := ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		switch value := spec.Values[0].(type) {
		case *ast.CompositeLit:
			for _, version := range value.Elts {
				want = append(want, "plugingo_before_0_"+version.(*ast.BasicLit).Value)
			}
		case *ast.BasicLit:
			oldest = value.Value
		}
		return false
	})
	slices.Sort(want)
	b := &porter{dir: t.TempDir()}
	terraform := kindOf(func(pkg string) bool { return pkg == sdkV2+"/plugin" })
	kit, err := b.prepareSDK(t.Context(), terraform, "1.21")
	require.NoError(t, err)
	require.Equal(t, want, kit.tags)
	require.True(t, strings.HasPrefix(terraform.oldest[pluginGo], "v0."+oldest+"."))
}
