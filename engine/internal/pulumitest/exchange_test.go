package pulumitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	pulumisecrets "github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/b64"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// keys are those of Pulumi's secrets provider b64, which hides nothing.
type keys struct{}

func (keys) New(context.Context) (secrets.Provider, error) { return keys{}, nil }
func (keys) Open(context.Context, string, json.RawMessage) (secrets.Provider, error) {
	return keys{}, nil
}
func (keys) Type() string           { return b64.Type }
func (keys) State() json.RawMessage { return nil }
func (keys) Encrypt(_ context.Context, text string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}
func (keys) Decrypt(_ context.Context, text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	return string(data), err
}

// same holds that two documents have the same members with the same values.
func same(t *testing.T, want, got []byte, what string) {
	t.Helper()
	a, b := lines(t, want), lines(t, got)
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], "%s, line %d of\n%s", what, i+1, got)
	}
	require.Len(t, b, len(a), what)
}

// lines are the lines of a document whose members are sorted.
func lines(t *testing.T, document []byte) []string {
	t.Helper()
	v := jsontext.Value(bytes.Clone(document))
	require.NoError(t, v.Canonicalize(jsontext.CanonicalizeRawFloats(false)), "%s", document)
	require.NoError(t, v.Indent())
	return strings.Split(string(v), "\n")
}

// throughPulumi reads an export as strictly as its types allow, and writes it again.
func throughPulumi(t *testing.T, export []byte) []byte {
	t.Helper()
	var untyped apitype.UntypedDeployment
	strictly(t, export, &untyped)
	var deployment apitype.DeploymentV3
	strictly(t, untyped.Deployment, &deployment)
	var err error
	untyped.Deployment, err = json.Marshal(deployment)
	require.NoError(t, err)
	again, err := json.Marshal(untyped)
	require.NoError(t, err)
	return again
}

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into), "%s", text)
}

// imported reads an export as `pulumi stack import` does.
func imported(t *testing.T, export []byte) *deploy.Snapshot {
	t.Helper()
	var untyped apitype.UntypedDeployment
	require.NoError(t, json.Unmarshal(export, &untyped))
	known := (&pulumisecrets.MockProvider{}).
		Add(b64.Type, func(json.RawMessage) (pulumisecrets.Manager, error) { return b64.NewBase64SecretsManager(), nil }).
		Add(passphrase.Type, passphrase.NewPromptingPassphraseSecretsManagerFromState)
	snapshot, err := stack.DeserializeUntypedDeployment(t.Context(), &untyped, known)
	require.NoError(t, err, "%s", export)
	return snapshot
}

// deserialized is what Pulumi's engine writes of an export that it has read.
func deserialized(t *testing.T, export []byte) []byte {
	t.Helper()
	ctx, snapshot := t.Context(), imported(t, export)
	deployment, version, features, err := stack.SerializeDeploymentWithMetadata(ctx, snapshot, false)
	require.NoError(t, err)
	text, err := json.Marshal(deployment)
	require.NoError(t, err)
	again, err := json.Marshal(apitype.UntypedDeployment{Version: version, Features: features, Deployment: text})
	require.NoError(t, err)
	return again
}

// throughHusk reads an export and writes it again: from the text that is kept of what is not
// changed, or from the fields of what is.
func throughHusk(t *testing.T, export []byte, fields bool) []byte {
	t.Helper()
	ctx := t.Context()
	snapshot, codec, err := state.Decode(ctx, export, keys{}.Open)
	require.NoError(t, err, "%s", export)
	if fields {
		snapshot = rewritten(snapshot)
	}
	again, err := codec.EncodeExport(ctx, snapshot, false)
	require.NoError(t, err)
	return again
}

// rewritten is a snapshot whose resources have no text.
func rewritten(s *state.Snapshot) *state.Snapshot {
	var resources []*state.Resource
	for _, r := range s.Resources() {
		resources = append(resources, r)
	}
	fresh := state.NewSnapshot(resources...)
	fresh.Manifest, fresh.Metadata, fresh.Snippets, fresh.Extensions = s.Manifest, s.Metadata, s.Snippets, s.Extensions
	return fresh
}

// exported is a deployment as Pulumi exports it, in the version that its features ask for.
func exported(t *testing.T, deployment apitype.DeploymentV3) []byte {
	t.Helper()
	text, err := json.Marshal(deployment)
	require.NoError(t, err)
	used := map[string]bool{}
	for _, r := range deployment.Resources {
		stack.ApplyFeatures(r, false, used)
	}
	untyped := apitype.UntypedDeployment{Version: 3, Deployment: text}
	for _, feature := range []string{
		"extensionParameterization", "hooks", "refreshBeforeUpdate", "replaceWith", "snippets-prototype", "taint", "views",
	} {
		used["snippets-prototype"] = used["snippets-prototype"] || deployment.Snippets != nil
		used["extensionParameterization"] = used["extensionParameterization"] || deployment.Extensions != nil
		if used[feature] {
			untyped.Version, untyped.Features = 4, append(untyped.Features, feature)
		}
	}
	export, err := json.Marshal(untyped)
	require.NoError(t, err)
	return export
}

// TestWhatPulumiWrites: whatever Pulumi exports comes back as it was, with nothing added.
func TestWhatPulumiWrites(t *testing.T) {
	holds := func(name string, deployment apitype.DeploymentV3) {
		t.Run(name, func(t *testing.T) {
			export := exported(t, deployment)
			same(t, export, throughHusk(t, export, false), "as it was kept")
			if len(deployment.PendingOperations) == 0 {
				same(t, export, throughHusk(t, export, true), "of resources that were changed")
			}
		})
	}
	for _, v := range variants(apitype.DeploymentV3{}) {
		holds("deployment with "+v.name, v.value)
	}
	for _, v := range variants(apitype.ManifestV1{}) {
		v.value.Magic = v.value.NewMagic()
		holds("manifest with "+v.name, apitype.DeploymentV3{Manifest: v.value})
	}
	for _, v := range variants(apitype.ResourceV3{URN: thing, Type: "test:index:Thing", Custom: true}) {
		holds("resource with "+v.name, apitype.DeploymentV3{Resources: []apitype.ResourceV3{v.value}})
	}
	for _, v := range variants(apitype.StackFrameV1{}) {
		holds("stack frame with "+v.name, apitype.DeploymentV3{Resources: []apitype.ResourceV3{
			{URN: thing, Type: "test:index:Thing", StackTrace: []apitype.StackFrameV1{v.value, v.value}},
		}})
	}
	for _, v := range variants(resource.CustomTimeouts{}) {
		if v.name != "nothing" { // which Pulumi leaves out
			holds("timeouts with "+v.name, apitype.DeploymentV3{Resources: []apitype.ResourceV3{
				{URN: thing, Type: "test:index:Thing", CustomTimeouts: &v.value},
			}})
		}
	}
}

// pulumiTakes holds that Pulumi's types have every member of an export, that its engine makes
// the same of it, and that neither adds anything.
func pulumiTakes(t *testing.T, export []byte) {
	t.Helper()
	same(t, withMetadata(t, export), throughPulumi(t, export), "by Pulumi's types")
	same(t, withMetadata(t, export), deserialized(t, export), "by Pulumi's engine")
}

// withMetadata is an export with the empty object that Pulumi writes where there is none.
func withMetadata(t *testing.T, export []byte) []byte {
	t.Helper()
	var document struct {
		Version    int                        `json:"version"`
		Features   []string                   `json:"features,omitempty"`
		Deployment map[string]json.RawMessage `json:"deployment"`
	}
	strictly(t, export, &document)
	if document.Deployment["metadata"] == nil {
		document.Deployment["metadata"] = json.RawMessage(`{}`)
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	return text
}

func exportOf(t *testing.T, s *state.Snapshot) []byte {
	t.Helper()
	export, err := state.NewCodec(keys{}).EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	return export
}

// husks is a resource that Pulumi's engine takes, with nothing in it.
func husks() state.Resource {
	return state.Resource{URN: thing, Type: "test:index:Thing", Custom: true, ID: "id", Provider: provider + "::id"}
}

const provider = "urn:pulumi:dev::proj::pulumi:providers:test::default"

// around are the resources that others refer to.
func around() []*state.Resource {
	return []*state.Resource{
		{URN: root, Type: urn.RootType},
		{URN: provider, Type: "pulumi:providers:test", Custom: true, ID: "id"},
		{URN: other, Type: "test:index:Thing", Custom: true, ID: "id", Provider: provider + "::id"},
	}
}

// TestWhatHuskWrites: Pulumi takes each field of a resource, and each value, as it is.
func TestWhatHuskWrites(t *testing.T) {
	takes := func(name string, r state.Resource) {
		t.Run(name, func(t *testing.T) {
			s := state.NewSnapshot(append(around(), &r)...)
			s.Manifest.Version = "0.1.0"
			pulumiTakes(t, exportOf(t, s))
		})
	}
	for _, v := range variants(husks()) {
		takes("resource with "+v.name, v.value)
	}
	for _, v := range variants(state.CustomTimeouts{}) {
		r := husks()
		r.CustomTimeouts = &v.value
		takes("timeouts with "+v.name, r)
	}
	for _, v := range variants(state.StackFrame{}) {
		r := husks()
		r.StackTrace = []state.StackFrame{v.value, v.value}
		takes("stack frame with "+v.name, r)
	}
	t.Run("nothing", func(t *testing.T) { pulumiTakes(t, exportOf(t, state.NewSnapshot())) })

	text, hash := property.String("text"), strings.Repeat("2c", 32)
	for name, v := range map[string]property.Value{
		"null": property.Null, "true": property.Bool(true), "-0": property.Number(math.Copysign(0, -1)), "1e21": property.Number(1e21),
		"NaN": property.Number(math.NaN()), "infinity": property.Number(math.Inf(-1)), "bytes": property.String("\xff\x00"),
		"text": property.String("héllo <&> \u2028 \"q\" \\ \n"), "empty": property.Array(text, property.Array(), property.Object(property.Map{})),
		"secret": property.Secret(text), "secret bytes": property.Secret(property.String("\xff")),
		"nothing, in secret": property.Secret(property.Null),
		"unknown":            property.Unknown, "unknown secret": property.Secret(property.Unknown),
		"output":               property.OutputOf(property.Output{Value: text, Secret: true, Dependencies: []string{other}}),
		"reference":            property.Reference(property.ResourceReference{URN: other, HasID: true, ID: "id", PackageVersion: "1.0.0"}),
		"reference without ID": property.Reference(property.ResourceReference{URN: other}),
		"asset":                property.AssetOf(property.Asset{Source: property.SourceText, Text: "x", Hash: hash}),
		"empty asset":          property.AssetOf(property.Asset{Source: property.SourceText, Hash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}),
		"file":                 property.AssetOf(property.Asset{Source: property.SourcePath, Path: "./a.txt", Hash: hash}),
		"remote file":          property.AssetOf(property.Asset{Source: property.SourceURI, URI: "https://example.com/a", Hash: hash}),
		"archive":              property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "./a.zip", Hash: hash}),
		"archive of assets": property.ArchiveOf(property.Archive{Source: property.SourceAssets, Hash: hash, Assets: property.MapOf(map[string]property.Value{
			"f": property.AssetOf(property.Asset{Source: property.SourcePath, Path: "./f", Hash: hash}),
		})}),
	} {
		takes("value "+name, holding(v))
	}
}

// holding is a resource that has a value in its inputs and outputs.
func holding(v property.Value) state.Resource {
	r := husks()
	r.Inputs = property.MapOf(map[string]property.Value{"a": v, "": property.Object(property.MapOf(map[string]property.Value{"b": v}))})
	r.Outputs = r.Inputs
	return r
}

// TestSecretsInSecrets: Pulumi calls the text of a secret in another one a ciphertext, which it
// is not. Each reads what the other writes.
func TestSecretsInSecrets(t *testing.T) {
	r := holding(property.Secret(property.Array(property.Secret(property.String("text")))))
	export := exportOf(t, state.NewSnapshot(append(around(), &r)...))
	again := deserialized(t, export)
	require.NotEqual(t, lines(t, withMetadata(t, export)), lines(t, again))
	snapshot, _, err := state.Decode(t.Context(), again, keys{}.Open)
	require.NoError(t, err)
	read, _ := snapshot.Resource(3)
	require.True(t, read.Inputs.Equal(r.Inputs), "%s", read.Inputs)
}

// TestWhatTheEngineWrites: Pulumi takes the state of a deployment that uses every option.
func TestWhatTheEngineWrites(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.Version = "0.1.0" }
	s.Up(func(p *enginetest.Run) error {
		yes := true
		first, err := p.Child(p.Root, "test:index:Thing", "first", enginetest.Props("secret", property.Secret(property.String("word"))))
		if err != nil {
			return err
		}
		trigger := property.String("1")
		_, err = p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: "test:index:Thing", Name: "second", Parent: p.Root, Custom: true, SourcePosition: "project:///main.yaml#3,5",
			Inputs:               enginetest.Props("of", first.Out("id")),
			PropertyDependencies: []abi.PropertyDependency{{Key: "of", URNs: []urn.URN{first.URN}}},
			Options: abi.ResourceOptions{
				Protect: &yes, RetainOnDelete: &yes, Dependencies: []urn.URN{first.URN}, AdditionalSecretOutputs: []string{"name"},
				CustomTimeouts: abi.CustomTimeouts{Create: 300}, DeletedWith: first.URN, IgnoreChanges: []string{"tags[0]"},
				ReplaceOnChanges: []string{"of"}, ReplaceWith: []urn.URN{first.URN}, ReplacementTrigger: &trigger,
				HideDiffs: []string{"tags.*", `a["b c"][2]`}, Aliases: []abi.Alias{{Case: abi.AliasCaseURN, URN: other}},
			},
		})
		return err
	})
	st, err := s.Open(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close(context.Background())) }()
	export := exportOf(t, st.Snapshot())
	pulumiTakes(t, export)
	require.NoError(t, imported(t, export).VerifyIntegrity())
	require.Contains(t, string(export), `"hideDiff":["tags[\"*\"]","a[\"b c\"][2]"]`)
}

// TestPassphrase: Pulumi decrypts what Husk has encrypted with the same passphrase, and imports a
// stack whose key it does not know where nothing is secret.
func TestPassphrase(t *testing.T) {
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", "word")
	provider, err := secrets.NewPassphrase(secrets.Passphrase{Text: "word"})
	require.NoError(t, err)
	r := holding(property.Secret(property.String("hunter2")))
	s := state.NewSnapshot(append(around(), &r)...)
	export, err := state.NewCodec(provider).EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	read := imported(t, export).Resources[3]
	require.Equal(t, resource.MakeSecret(resource.NewProperty("hunter2")), read.Inputs["a"])

	own, err := secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false }, ConfigDir: func() (string, error) { return t.TempDir(), nil }, KeyMade: func(string) {},
	}.New(t.Context())
	require.NoError(t, err)
	export, err = state.NewCodec(own).EncodeExport(t.Context(), state.NewSnapshot(around()...), false)
	require.NoError(t, err)
	require.Len(t, imported(t, export).Resources, 3)
}

// TestWhatALargeStackHas: Pulumi takes back a stack of its own with every field, every special
// value, and operations that were cut off, once Husk has changed each of its resources.
func TestWhatALargeStackHas(t *testing.T) {
	for _, fields := range []bool{false, true} {
		require.NoError(t, imported(t, throughHusk(t, enginetest.Export(300), fields)).VerifyIntegrity())
	}
}

// TestPathsAsPulumiHasThem: what Pulumi reads in a path's text is what Husk wrote, and the
// other way around.
func TestPathsAsPulumiHasThem(t *testing.T) {
	through := func(t require.TestingT, paths []resource.PropertyPath) []resource.PropertyPath {
		text, err := json.Marshal([]apitype.ResourceV3{{URN: thing, Type: "test:index:Thing", HideDiff: paths}})
		require.NoError(t, err)
		export := []byte(`{"version":3,"deployment":{"resources":` + string(text) + `}}`)
		snapshot, codec, err := state.Decode(context.Background(), export, keys{}.Open)
		require.NoError(t, err, "%s", text)
		again, err := codec.EncodeExport(context.Background(), rewritten(snapshot), false)
		require.NoError(t, err)
		var document struct{ Deployment apitype.DeploymentV3 }
		require.NoError(t, json.Unmarshal(again, &document), "%s", again)
		return document.Deployment.Resources[0].HideDiff
	}
	key := rapid.StringMatching(`[a-zA-Z$_.*"\\\[\]\t -]{0,5}[a-z]`)
	segment := rapid.OneOf(rapid.Custom(func(t *rapid.T) any { return key.Draw(t, "key") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.IntRange(0, 1000).Draw(t, "index") }), rapid.Just[any]("*"))
	rapid.Check(t, func(t *rapid.T) {
		path := resource.PropertyPath(rapid.SliceOfN(segment, 1, 4).Draw(t, "path"))
		require.Equal(t, []resource.PropertyPath{path}, through(t, []resource.PropertyPath{path}))
	})
}
