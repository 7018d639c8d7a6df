package schemajson_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ref[T any](v T) *T { return &v }

// full is a package with everything that the model can say.
func full() *schema.Package {
	colour := &schema.Type{Kind: schema.KindEnum, Token: "zoo:index:Colour",
		Values: []property.Value{property.String("red"), property.String("green \"light\"")}}
	node := &schema.Object{Token: "zoo:index/node:Node", Description: "A node."}
	node.Properties = []schema.Property{
		{Name: "children", Type: &schema.Type{Kind: schema.KindArray, Element: &schema.Type{Kind: schema.KindObject, Object: node}}},
		{Name: "name", Type: &schema.Type{Kind: schema.KindString}, Required: true, Secret: true},
	}
	str := &schema.Type{Kind: schema.KindString}
	return &schema.Package{
		Name: "zoo", Version: "1.2.3", DisplayName: "Zoo", Description: "Animals <&> \u2028 more.\nYes.",
		Keywords: []string{"a", "b"}, Homepage: "https://h", License: "Apache-2.0", Repository: "https://r", Publisher: "P",
		AllowedPackageNames: []string{"ark"},
		Parameterization:    &schema.Parameterization{Name: "base", Version: "0.1.0", Parameter: []byte{0, 255, 'x', 62}},
		Config: schema.Object{Properties: []schema.Property{
			{Name: "region", Type: str, Required: true, Replace: true},
			{Name: "token", Type: str, Secret: true},
		}},
		SchemaCheckConfig: true, SchemaDiffConfig: true, SchemaConfigure: true, Deferred: true,
		Resources: []*schema.Resource{
			{Token: "zoo:index/pair:Pair", Component: true, Methods: []schema.Method{
				{Name: "feed", Function: "zoo:index/pair:Pair/feed"}, {Name: "part", Function: "zoo:index/pair:Pair/part"},
			}},
			{
				Token: "zoo:index/pet:Pet", Description: "A pet.", Deprecation: "Get a plant.", Aliases: []string{"zoo:old:Pet"},
				DeleteBeforeReplace: true, Identity: []string{"legs", "voice"}, SchemaCheck: true, SchemaDiff: true,
				Inputs: schema.Object{Properties: []schema.Property{
					{Name: "any", Type: &schema.Type{}},
					{Name: "archive", Type: &schema.Type{Kind: schema.KindArchive}},
					{Name: "asset", Type: &schema.Type{Kind: schema.KindAsset}},
					{Name: "colour", Type: colour, Default: property.String("red")},
					{Name: "kind", Type: str, Const: property.String("pet")},
					{Name: "legs", Type: &schema.Type{Kind: schema.KindInteger}, Required: true, Minimum: ref(0.0), Maximum: ref(8.0)},
					{Name: "mate", Type: &schema.Type{Kind: schema.KindResource, Token: "zoo:index/pet:Pet"}},
					{Name: "node", Type: &schema.Type{Kind: schema.KindObject, Object: node}},
					{Name: "secretName", Type: str, WriteOnly: true, Secret: true},
					{Name: "size", Type: &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{{Kind: schema.KindNumber}, str}}},
					{Name: "tags", Type: &schema.Type{Kind: schema.KindMap, Element: str}, Replace: true, Computed: true},
					{Name: "tame", Type: &schema.Type{Kind: schema.KindBool}, Default: property.Bool(false)},
					{Name: "voice", Type: str, OneOf: []property.Value{property.String("loud"), property.String("soft")}, Deprecation: "Sh."},
				}},
				Outputs: schema.Object{Properties: []schema.Property{
					{Name: "number", Type: &schema.Type{Kind: schema.KindInteger}, Required: true, Stable: true, Description: "Its number."},
				}},
			},
		},
		Functions: []*schema.Function{{
			Token: "zoo:index/call:call", Action: true,
		}, {
			Token: "zoo:index/count:count", Description: "Counts.",
			Args:   schema.Object{Properties: []schema.Property{{Name: "of", Type: str, Required: true}}},
			Result: schema.Object{Properties: []schema.Property{{Name: "n", Type: &schema.Type{Kind: schema.KindInteger}, Required: true}}},
		}, {
			Token: "zoo:index/key:key", Ephemeral: true, Result: schema.Object{Properties: []schema.Property{{Name: "key", Type: str, Secret: true}}},
		}, {
			Token: "zoo:index/pair:Pair/feed",
			Args: schema.Object{Properties: []schema.Property{
				{Name: "__self__", Type: &schema.Type{Kind: schema.KindResource, Token: "zoo:index/pair:Pair"}, Required: true},
			}},
		}, {
			Token: "zoo:index/tags:tags", Returns: &schema.Type{Kind: schema.KindMap, Element: str},
		}, {
			Token: "zoo:index/watch:watch", Streams: true,
			Result: schema.Object{Properties: []schema.Property{{Name: "seen", Type: str, Required: true}}},
		}},
		Types: []*schema.Object{node},
		Enums: []*schema.Type{colour},
	}
}

func TestRoundTrip(t *testing.T) {
	document := full().AppendJSON(nil)
	require.NoError(t, metaschema.Validate(document))
	parsed, err := schemajson.Parse(document)
	require.NoError(t, err)
	require.Equal(t, full(), parsed)
}

func TestGolden(t *testing.T) {
	var indented []byte
	var v any
	require.NoError(t, json.Unmarshal(full().AppendJSON(nil), &v))
	indented, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	const golden = "testdata/full.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, append(indented, '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(indented))
}

// What other generators write and this project does not.
func TestParseForeign(t *testing.T) {
	p, err := schemajson.Parse([]byte(`{
		"name": "x",
		"config": {"variables": {"a": {"type": "string"}}},
		"provider": {"inputProperties": {"b": {"type": "boolean", "willReplaceOnChanges": true}}, "requiredInputs": ["b"]},
		"types": {"x:index/t:T": {"type": "object", "properties": {"e": {"$ref": "#/types/x:index%2Fe:E"}}},
		          "x:index/e:E": {"type": "integer", "enum": [{"name": "One", "value": 1}]}},
		"resources": {"x:index:R": {
			"inputProperties": {
				"map": {"type": "object"},
				"json": {"$ref": "pulumi.json#/Json"},
				"foreign": {"$ref": "/aws/v6.0.0/schema.json#/types/aws:s3/foo:Foo"},
				"bucket": {"$ref": "/aws/v6.0.0/schema.json#/resources/aws:s3%2Fbucket:Bucket"},
				"replaced": {"type": "string", "replaceOnChanges": true, "plain": true},
				"t": {"$ref": "#/types/x:index/t:T"}},
			"aliases": [{"name": "old"}, {"type": "x:old:R"}]}},
		"functions": {"x:index:none": {}, "x:index:old": {"outputs": {"properties": {"y": {"type": "number"}}}},
		              "x:index:new": {"returnType": {"type": "object", "properties": {"y": {"type": "number"}}}},
		              "x:index:plain": {"returnType": {"type": "string"}}, "x:index:named": {"outputs": {"$ref": "#/types/x:index/t:T"}}}
	}`))
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, p.Config.Names())
	require.True(t, p.Config.Property("b").Required)
	require.True(t, p.Config.Property("b").Replace)
	r := p.Resource("x:index:R")
	require.Equal(t, "map of string", r.Inputs.Property("map").Type.String())
	require.Equal(t, schema.KindAny, r.Inputs.Property("json").Type.Kind)
	require.Equal(t, schema.KindAny, r.Inputs.Property("foreign").Type.Kind)
	require.Equal(t, schema.KindResource, r.Inputs.Property("bucket").Type.Kind)
	require.Equal(t, "aws:s3/bucket:Bucket", r.Inputs.Property("bucket").Type.ResourceToken())
	require.Contains(t, string(p.AppendJSON(nil)), `"$ref":"/aws/v6.0.0/schema.json#/resources/aws:s3%2Fbucket:Bucket"`)
	require.True(t, r.Inputs.Property("replaced").Replace)
	require.Equal(t, schema.KindEnum, r.Inputs.Property("t").Type.Object.Property("e").Type.Kind)
	require.Equal(t, []string{"x:old:R"}, r.Aliases)
	require.Empty(t, p.Function("x:index:none").Args.Properties)
	require.Equal(t, []string{"y"}, p.Function("x:index:old").Result.Names())
	require.Equal(t, []string{"y"}, p.Function("x:index:new").Result.Names())
	require.Equal(t, "string", p.Function("x:index:plain").Returns.String())
	require.Equal(t, "object x:index/t:T", p.Function("x:index:named").Returns.String())
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"no JSON":         {"{\n\n!", "package schema: line 3, column 1: invalid character '!'"},
		"no object":       {`[]`, "package schema: line 1, column 1: it is an array, and is to be an object"},
		"no name":         {`{}`, "it has no name"},
		"unknown type":    {`{"name":"x","resources":{"x:i:R":{"inputProperties":{"p":{"type":"text"}}}}}`, `resource x:i:R: inputs: property "p": unknown type "text"`},
		"no type":         {`{"name":"x","types":{"x:i:T":{"properties":{"p":{}}}}}`, `type x:i:T: property "p": it has no type`},
		"dangling type":   {`{"name":"x","config":{"variables":{"p":{"$ref":"#/types/x:i:T"}}}}`, `config: property "p": reference to "#/types/x:i:T", which the schema does not declare`},
		"strange builtin": {`{"name":"x","config":{"variables":{"p":{"$ref":"pulumi.json#/Blob"}}}}`, `unknown type "pulumi.json#/Blob"`},
		"no function":     {`{"name":"x","resources":{"x:i:R":{"methods":{"reset":""}}}}`, `resource x:i:R: methods: "reset": a method has a name and the token of its function`},
		"no such input":   {`{"name":"x","resources":{"x:i:R":{"language":{"husk":{"identity":["p"]}}}}}`, `resource x:i:R: identity: there is no input "p"`},
		"undeclared":      {`{"name":"x","functions":{"x:i:f":{"inputs":{"required":["q"]}}}}`, `function x:i:f: inputs: property "q" is required but not declared`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schemajson.Parse([]byte(test.document))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestResolve(t *testing.T) {
	p, err := schemajson.Parse([]byte(`{"name": "random",
		"resources": {"random:index/randomPet:RandomPet": {"aliases": [{"type": "random:legacy:Pet"}]}, "random:web:Thing": {}},
		"functions": {"random:index/getPet:getPet": {}}}`))
	require.NoError(t, err)
	for token, want := range map[string]string{
		"random:index/randomPet:RandomPet": "random:index/randomPet:RandomPet",
		"random:index:RandomPet":           "random:index/randomPet:RandomPet",
		"random:RandomPet":                 "random:index/randomPet:RandomPet",
		"random:legacy:Pet":                "random:index/randomPet:RandomPet",
		"random:web:Thing":                 "random:web:Thing",
	} {
		r := p.ResolveResource(token)
		require.NotNil(t, r, token)
		require.Equal(t, want, r.Token)
	}
	require.Nil(t, p.ResolveResource("random:RandomPit"))
	require.Equal(t, "random:RandomPet", p.NearestResource("random:RandomPit"))
	require.Equal(t, "", p.NearestResource("random:Bucket"))
	require.NotNil(t, p.ResolveFunction("random:getPet"))
	require.Equal(t, "random:getPet", p.NearestFunction("random:getPets"))
}

func FuzzParse(f *testing.F) {
	f.Add(full().AppendJSON(nil))
	f.Add([]byte(`{"name":"x","types":{"x:i:T":{"properties":{"t":{"$ref":"#/types/x:i:T"}}}}}`))
	f.Add([]byte(`{"name":"x","functions":{"f":null}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := schemajson.Parse(document)
		if err != nil {
			return
		}
		again, err := schemajson.Parse(p.AppendJSON(nil))
		require.NoError(t, err, "what is written can be read")
		require.Equal(t, string(p.AppendJSON(nil)), string(again.AppendJSON(nil)))
	})
}
