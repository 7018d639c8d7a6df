package yamlcode_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlcode"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
)

const root = urn.URN("urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev")

func resource(name string, parent urn.URN, inputs property.Map) *state.Resource {
	return &state.Resource{
		URN: urn.New("dev", "demo", parent, "bare:index:Thing", name), Type: "bare:index:Thing", Custom: true,
		Parent: parent, Inputs: inputs, Provider: "urn:pulumi:dev::demo::pulumi:providers:bare::default_1_0_0::id",
	}
}

func object(pairs ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1].(property.Value)
	}
	return property.MapOf(m)
}

var str = property.String

// Inputs that come from what a resource depends on are references, and what is left of the dependencies an option.
func TestReferences(t *testing.T) {
	net := resource("net", root, object("zone", str("eu"), "label", str("the-network")))
	net.ID, net.Outputs = "net-17", object("zone", str("eu"), "label", str("the-network"), "key", property.Secret(str("hush-hush")),
		"twin", str("both-of-them"), "other", str("both-of-them"), "short", str("ab"), "__meta", str("only-meta"))
	other := resource("other net", root, property.Map{})
	other.ID, other.Outputs = "net-17", object("name", str("host-1"))
	far := resource("far", root, property.Map{})
	far.ID, far.Outputs, far.Dependencies = "far-1", object("made", str("far-away")), []urn.URN{net.URN}
	host := resource("host", root, object(
		"netId", str("net-17"), "key", property.Secret(str("hush-hush")), "zone", str("eu"), "title", str("the-network"),
		"nested", property.Object(object("password", property.Secret(str("hush-hush")), "made", str("far-away"))),
		"either", str("both-of-them"), "twin", str("both-of-them"), "short", str("ab"), "meta", str("only-meta"), "plain", str("host-1"),
		"mixed", property.Array(property.Secret(str("hush-hush")), property.Secret(str("mine"))),
	))
	host.Dependencies = []urn.URN{net.URN, far.URN}
	waiting := resource("waiting", root, object("from", str("elsewhere")))
	waiting.Dependencies = []urn.URN{net.URN, far.URN, other.URN}
	code, err := yamlcode.Write([]yamlcode.Resource{
		{Name: "net", Resource: net}, {Name: "other net", Resource: other}, {Name: "far", Resource: far},
		{Name: "host", Resource: host}, {Name: "waiting", Resource: waiting},
	}, nil)
	require.NoError(t, err)
	require.Equal(t, `config:
  hostMixed:
    type: array
    secret: true
resources:
  net:
    type: bare:index:Thing
    properties:
      label: the-network
      zone: eu
  other net:
    type: bare:index:Thing
  far:
    type: bare:index:Thing
    options:
      dependsOn:
        - ${net}
  host:
    type: bare:index:Thing
    properties:
      either: both-of-them
      key: ${net.key}
      meta: only-meta
      mixed: ${hostMixed}
      nested:
        made: ${far.made}
        password: ${net.key}
      netId: ${net.id}
      plain: host-1
      short: ab
      title: ${net.label}
      twin: ${net.twin}
      zone: eu
  waiting:
    type: bare:index:Thing
    properties:
      from: elsewhere
    options:
      dependsOn:
        - ${far}
        - ${["other net"]}
`, string(code.Text))
}

// Of a group, a reference to one is enough.
func TestReferencesToGroups(t *testing.T) {
	var resources []yamlcode.Resource
	var all []urn.URN
	for _, name := range []string{"a0", "a1", "b0", "b1"} {
		r := resource(name, root, property.Map{})
		r.ID = "id-of-" + name
		resources, all = append(resources, yamlcode.Resource{Name: name, Group: name[:1], Resource: r}), append(all, r.URN)
	}
	user := resource("user", root, object("of", str("id-of-a1")))
	user.Dependencies = all
	code, err := yamlcode.Write(append(resources, yamlcode.Resource{Name: "user", Resource: user}), nil)
	require.NoError(t, err)
	require.Contains(t, string(code.Text), `      of: ${a1.id}
    options:
      dependsOn:
        - ${b0}
        - ${b1}
`)
}

// The text is what a person would write.
func TestWrite(t *testing.T) {
	page := resource("page", root, object(
		"path", str("public/${x}"), "size", property.Number(3), "ratio", property.Number(1.5), "on", property.Bool(true),
		"lines", str("a\nb\n"), "word", str("true"), "tags", property.Object(object("owner", str("me"))),
		"list", property.Array(str("x"), property.Null), "__defaults", property.Array(),
		"password", property.Secret(str("hunter2")),
		"keys", property.Array(property.Secret(str("k"))),
		"box", property.AssetOf(property.Asset{Hash: "abc"}),
	))
	page.Protect = true
	below := resource("page", page.URN, property.Map{})
	below.Provider = "urn:pulumi:dev::demo::pulumi:providers:bare::own provider::id"
	code, err := yamlcode.Write([]yamlcode.Resource{{Name: "page", Resource: page}, {Name: "page2", Resource: below}}, nil)
	require.NoError(t, err)
	require.Equal(t, `config:
  pageKeys:
    type: array
    secret: true
  pagePassword:
    type: string
    secret: true
resources:
  # box: only the hash of an asset or archive is known here: write its contents, path, or URL
  page:
    type: bare:index:Thing
    properties:
      keys: ${pageKeys}
      lines: |
        a
        b
      list:
        - x
        - null
      on: true
      password: ${pagePassword}
      path: public/$${x}
      ratio: 1.5
      size: 3
      tags:
        owner: me
      word: "true"
    options:
      protect: true
  page2:
    type: bare:index:Thing
    options:
      aliases:
        - urn:pulumi:dev::demo::bare:index:Thing$bare:index:Thing::page
      parent: ${page}
      provider: ${["own provider"]}
`, string(code.Text))
	require.Equal(t, []yamlcode.Secret{{Key: "pageKeys", JSON: true}, {Key: "pagePassword"}}, code.Secrets)
	require.Equal(t, []string{"box of page: only the hash of an asset or archive is known here: write its contents, path, or URL"}, code.Omitted)
}

// bare is a package without a schema.
type bare struct{}

func (bare) Package(context.Context, program.Package) (*schema.Package, error) { return nil, nil }

// recording is a monitor that keeps what is registered.
type recording struct {
	abi.Monitor
	inputs map[string]property.Map
}

func (r recording) RegisterResource(_ context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	r.inputs[req.Name] = req.Inputs
	return abi.RegisterResourceResponse{URN: urn.New("dev", "demo", req.Parent, req.Type, req.Name), ID: "id", State: req.Inputs}, nil
}

func (recording) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }

// values draws values that YAML can write. Keys are those of properties.
func values() *rapid.Generator[property.Value] {
	return rapid.Custom(func(t *rapid.T) property.Value { return drawValue(t, 3) })
}

func drawValue(t *rapid.T, depth int) property.Value {
	most := 3
	if depth > 0 {
		most = 6
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return property.Bool(rapid.Bool().Draw(t, "bool"))
	case 1:
		return property.Number(rapid.Float64().Filter(func(f float64) bool {
			whole := f == math.Trunc(f)
			return !math.IsNaN(f) && !math.IsInf(f, 0) && (!whole || math.Abs(f) < 1<<53)
		}).Draw(t, "number"))
	case 2:
		return str(drawText(t))
	case 3:
		return property.Null
	case 4:
		return property.AssetOf(property.Asset{Source: property.SourceText, Text: drawText(t)})
	case 5:
		var elements []property.Value
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, drawValue(t, depth-1))
		}
		return property.Array(elements...)
	default:
		m := map[string]property.Value{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[drawText(t)+"x"] = drawValue(t, depth-1) // a key is never fn::
		}
		return property.Object(property.MapOf(m))
	}
}

func drawText(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", "~", "yes", "1", "1e3", "0x1", "2024-01-01", "${", "$${a}", "$$", "$", "${a.b}", "a: b", "# c", "a\nb", "\n", "a\n\n", " a\n b",
		"a\n  b\n", "a \nb", "\ta\n", "- x\n", "\u2028\n", "\ufeff", "key", "<<", "%", "@", "`", "'", "\"", "|", ">", "&a", "*a", "!t", "null",
	})).Draw(t, "text")
}

// A program that was written gives the resource the inputs that it has.
func TestProgramGivesTheInputs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := object("value", values().Draw(rt, "value"))
		code, err := yamlcode.Write([]yamlcode.Resource{{Name: "it", Resource: resource("it", root, want)}}, nil)
		require.NoError(rt, err)
		rt.Logf("%s", code.Text)
		project, err := program.ParseProject(t.Context(), projectroot.New(t.TempDir(), projectroot.Trusted), "Husk.yaml", append([]byte("name: demo\nruntime: yaml\n"), code.Text...))
		require.NoError(rt, err)
		monitor := recording{inputs: map[string]property.Map{}}
		require.NoError(rt, yamlprogram.New(project, bare{}).Run(t.Context(), abi.RunContext{Project: "demo", Stack: "dev"}, monitor))
		require.True(rt, want.Equal(monitor.inputs["it"]), "want %v, got %v", want, monitor.inputs["it"])
	})
}

// What YAML cannot write is told, not guessed.
func TestWhatCannotBeWritten(t *testing.T) {
	for name, v := range map[string]property.Value{
		"a number that is not finite":     property.Number(math.Inf(1)),
		"the key \"fn::x\" would be":      property.Object(object("fn::x", str("y"))),
		"it is a reference to urn:a":      property.Reference(property.ResourceReference{URN: "urn:a"}),
		"only the hash of an asset":       property.Array(property.ArchiveOf(property.Archive{Hash: "x"})),
		"a value of the kind unknown can": property.Unknown,
	} {
		code, err := yamlcode.Write([]yamlcode.Resource{{Name: "it", Resource: resource("it", root, object("value", v))}}, nil)
		require.NoError(t, err)
		require.Len(t, code.Omitted, 1)
		require.Contains(t, code.Omitted[0], name)
		require.Contains(t, string(code.Text), "# value: "+name)
	}
}

// A program that is written from what a provider answered does not have files and URLs of the
// provider's choice read with the rights of its user.
func TestFilesThatAProviderNamesAreNotWritten(t *testing.T) {
	archive := func(v property.Value) property.Value {
		return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: object("x", v)})
	}
	file := property.AssetOf(property.Asset{Source: property.SourcePath, Path: "/etc/passwd"})
	const named = `value of it: the provider has named %q: write %s with it if that is meant`
	for _, c := range []struct {
		value           property.Value
		place, function string
	}{
		{file, "/etc/passwd", "fn::fileAsset"},
		{property.AssetOf(property.Asset{Source: property.SourceURI, URI: "http://10.0.0.1/"}), "http://10.0.0.1/", "fn::remoteAsset"},
		{property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "/etc"}), "/etc", "fn::fileArchive"},
		{property.ArchiveOf(property.Archive{Source: property.SourceURI, URI: "file:///a.zip"}), "file:///a.zip", "fn::remoteArchive"},
		{property.Array(file), "/etc/passwd", "fn::fileAsset"},
		{archive(archive(file)), "/etc/passwd", "fn::fileAsset"},
	} {
		code, err := yamlcode.Write([]yamlcode.Resource{{Name: "it", Resource: resource("it", root, object("value", c.value))}}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf(named, c.place, c.function)}, code.Omitted)
		require.NotContains(t, string(code.Text), "properties:")
	}
}
