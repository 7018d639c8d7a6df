package projectschema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// compiled returns the schema with packages, which must itself be valid.
func compiled(t *testing.T, packages ...*schema.Package) *jsonschema.Schema {
	t.Helper()
	text, err := projectschema.With(packages)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("project.json", document))
	s, err := c.Compile("project.json")
	require.NoError(t, err)
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	asJSON, err := json.Marshal(value)
	require.NoError(t, err)
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	return s.Validate(value)
}

// The projects of this repository are valid.
func TestProjectsAreValid(t *testing.T) {
	s := compiled(t)
	files, err := filepath.Glob("../../../examples/*/Husk.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, validate(t, s, string(text)), file)
	}
}

// The schema has exactly the keys that a project file may have, where each is allowed.
func TestKeys(t *testing.T) {
	const wrong = "qqqqqqqqqqqq: 1"
	known := regexp.MustCompile(`known keys: (.*)`)
	for _, c := range []struct{ path, text string }{
		{"", wrong},
		{"options", "options: {" + wrong + "}"},
		{"backend", "backend: {" + wrong + "}"},
		{"runtime", "runtime: {name: yaml, " + wrong + "}"},
		{"plugins", "plugins: {" + wrong + "}"},
		{"plugins/providers/[]", "plugins: {providers: [{name: a, path: a, " + wrong + "}]}"},
		{"plugins/providers/[]/grants", "plugins: {providers: [{name: a, path: a, grants: {" + wrong + "}}]}"},
		{"plugins/providers/[]/grants/fs/[]", "plugins: {providers: [{name: a, path: a, grants: {fs: [{path: a, " + wrong + "}]}}]}"},
		{"plugins/providers/[]/grants/http/[]", "plugins: {providers: [{name: a, path: a, grants: {http: [{url: 'http://a', " + wrong + "}]}}]}"},
		{"plugins/providers/[]/grants/http/[]/headers/A", "plugins: {providers: [{name: a, path: a, grants: {http: [{url: 'http://a', headers: {A: {" + wrong + "}}}]}}]}"},
		{"packages/a", "packages: {a: {source: a, " + wrong + "}}"},
		{"packages/a/parameters", "packages: {a: {source: a, parameters: {" + wrong + "}}}"},
		{"policies/[]", "policies: [{path: a, " + wrong + "}]"},
		{"config/a", "config: {a: {type: string, " + wrong + "}}"},
		{"config/a/items", "config: {a: {type: array, items: {" + wrong + "}}}"},
		{"resources/a", "resources: {a: {type: 'pulumi:Stash', " + wrong + "}}"},
		{"resources/a/get", "resources: {a: {type: 'pulumi:Stash', get: {id: a, " + wrong + "}}}"},
		{"resources/a/options", "resources: {a: {type: 'pulumi:Stash', options: {" + wrong + "}}}"},
		{"resources/a/options/actions", "resources: {a: {type: 'pulumi:Stash', options: {actions: {" + wrong + "}}}}"},
		{"resources/a/options/aliases/[]", "resources: {a: {type: 'pulumi:Stash', options: {aliases: [{" + wrong + "}]}}}"},
		{"resources/a/options/customTimeouts", "resources: {a: {type: 'pulumi:Stash', options: {customTimeouts: {" + wrong + "}}}}"},
		{"actions/a", "actions: {a: {function: 'a:b', " + wrong + "}}"},
		{"components/a", "components: {a: {" + wrong + "}}"},
		{"components/a/inputs/b", "components: {a: {inputs: {b: {type: string, " + wrong + "}}}}"},
		{"components/a/resources/b", "components: {a: {resources: {b: {type: 'pulumi:Stash', " + wrong + "}}}}"},
		{"actions/a/options", "actions: {a: {function: 'a:b', options: {" + wrong + "}}}"},
		{"#invoke", "outputs: {a: {fn::invoke: {function: 'a:b', " + wrong + "}}}"},
		{"#invoke/options", "outputs: {a: {fn::invoke: {function: 'a:b', options: {" + wrong + "}}}}"},
	} {
		t.Run(c.path, func(t *testing.T) {
			p, ds := program.ReadProject(t.Context(), projectroot.New("/nowhere", projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"+c.text+"\n"))
			require.NotNil(t, p)
			found, err := yamlprogram.New(p, noSchemas{}).Validate(t.Context(), abi.RunContext{Project: "shop", Stack: "dev"}, nil)
			require.NoError(t, err)
			var want []string
			for _, d := range append(ds, found...) {
				if m := known.FindStringSubmatch(d.Detail); m != nil && strings.Contains(d.Summary, "qqqq") {
					want = strings.Split(m[1], ", ")
				}
			}
			require.NotEmpty(t, want, "%v %v", ds, found)
			root, path := projectschema.Root(), strings.Split(c.path, "/")
			if name, ok := strings.CutPrefix(path[0], "#"); ok {
				root, path = root.Definitions[name], path[1:]
			}
			if c.path == "" {
				path = nil
			}
			var got []string
			for name, n := range root.At(path...).Keys() {
				require.NotEmpty(t, n.Text(), "%s is described", name)
				if !n.IsDeprecated() {
					got = append(got, name)
				}
			}
			if i := slices.Index(want, "configuration"); i >= 0 { // the older name of config
				want = slices.Delete(want, i, i+1)
			}
			require.ElementsMatch(t, want, got)
		})
	}
}

type noSchemas struct{ yamlprogram.Schemas }

func (noSchemas) Package(context.Context, program.Package) (*schema.Package, error) { return nil, nil }

// Every function of programs is described, and no other.
func TestFunctions(t *testing.T) {
	keys := projectschema.Root().Definitions["functions"].Properties
	for name := range keys {
		p, err := program.ParseProject(t.Context(), projectroot.New("/nowhere", projectroot.Trusted), "Husk.yaml", []byte("name: a\noutputs: {x: {"+name+": a}}\n"))
		require.NoError(t, err)
		ds, err := yamlprogram.New(p, noSchemas{}).Validate(t.Context(), abi.RunContext{Project: "a", Stack: "dev"}, nil)
		require.NoError(t, err)
		require.NotContains(t, ds.Error(), "unknown function", name)
	}
	require.Len(t, keys, 24, "fn::invoke, and those of package expr")
}

const pets = `{
  "name": "pets", "version": "1.0.0",
  "resources": {
    "pets:index/dog:Dog": {
      "description": "A dog.", "aliases": [{"type": "pets:index:Hound"}], "requiredInputs": ["name"],
      "inputProperties": {
        "name": {"type": "string", "description": "What it is called."},
        "age": {"type": "integer"},
        "size": {"type": "string", "oneOf": [{"$ref": "#/types/pets:index:Size"}]},
        "friends": {"type": "array", "items": {"$ref": "#/types/pets:index:Friend"}}
      }
    }
  },
  "types": {
    "pets:index:Size": {"type": "string", "enum": [{"value": "small"}, {"value": "large"}]},
    "pets:index:Friend": {"type": "object", "properties": {"name": {"type": "string"}, "of": {"$ref": "#/types/pets:index:Friend"}}, "required": ["name"]}
  }
}`

// With packages, resources have the properties of their types, by each name of the type, and values may be computed.
func TestPackages(t *testing.T) {
	p, err := schemajson.Parse([]byte(pets))
	require.NoError(t, err)
	s := compiled(t, p)
	for text, ok := range map[string]bool{
		"{type: 'pets:Dog', properties: {name: Rex, age: 3}}":                                    true,
		"{type: 'pets:index:Dog', properties: {name: Rex}}":                                      true,
		"{type: 'pets:index/dog:Dog', properties: {name: Rex}}":                                  true,
		"{type: 'pets:index:Hound', properties: {name: Rex}}":                                    true,
		"{type: 'pets:Dog', properties: {name: '${a.name}', age: '${a.age}'}}":                   true,
		"{type: 'pets:Dog', properties: {name: {fn::toJSON: [1]}}}":                              true,
		"{type: 'pets:Dog', properties: {name: 1.10}}":                                           true,
		"{type: 'pets:Dog', properties: {name: a, friends: [{name: b, of: {name: c}}, '${x}']}}": true,
		"{type: 'pets:Dog', get: {id: a}}":                                                       true,
		"{type: 'pulumi:providers:pets'}":                                                        true,
		"{type: 'other:Thing', properties: {anything: 1}}":                                       true,
		"{type: 'pets:Dog'}":                                               false,
		"{type: 'pets:Dog', properties: {}}":                               false,
		"{type: 'pets:Dog', properties: {nam: Rex}}":                       false,
		"{type: 'pets:Dog', properties: {name: [Rex]}}":                    false,
		"{type: 'pets:Dog', properties: {name: Rex, friends: [{nam: b}]}}": false,
		"{type: 'pets:Cat', properties: {name: Rex}}":                      false,
		"{type: 'pulumi:providers:pets', properties: {x: 1}}":              false,
	} {
		err := validate(t, s, "name: shop\nresources:\n  a: "+text+"\n")
		require.Equal(t, ok, err == nil, "%s: %v", text, err)
	}
}
