package providerdocs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/projectroot"
	local "github.com/husk-dev/husk/examples/providers/local/provider"
	postgresql "github.com/husk-dev/husk/examples/providers/postgresql/provider"
	random "github.com/husk-dev/husk/examples/providers/random/provider"
	site "github.com/husk-dev/husk/examples/providers/site/provider"
	tls "github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/workspace/validation"
)

// packages returns the schemas of the examples, and of one with every kind of type.
func packages(t *testing.T) map[string]*schema.Package {
	all := map[string]*schema.Package{"zoo": zoo()}
	for name, declared := range map[string]guest.Provider{
		"random": random.New(), "tls": tls.New(), "local": local.New(), "site": site.New(), "postgresql": postgresql.New(),
	} {
		p, err := guest.New(declared)
		require.NoError(t, err)
		response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
		require.NoError(t, err)
		all[name], err = schemajson.Parse([]byte(response.Schema))
		require.NoError(t, err)
	}
	return all
}

func zoo() *schema.Package {
	text := &schema.Type{Kind: schema.KindString}
	one, ten := 1.0, 10.0
	cage := &schema.Object{Token: "zoo:index:Cage", Description: "A cage.", Properties: []schema.Property{
		{Name: "bars", Type: &schema.Type{Kind: schema.KindInteger}, Required: true, Minimum: &one, Maximum: &ten},
		{Name: "inner", Type: &schema.Type{Kind: schema.KindMap, Element: text}, Required: true},
	}}
	cageType := &schema.Type{Kind: schema.KindObject, Object: cage}
	required := func(name string, t *schema.Type) schema.Property {
		return schema.Property{Name: name, Type: t, Required: true}
	}
	return &schema.Package{
		Name: "zoo", Version: "1.0.0", Types: []*schema.Object{cage},
		Description: "Animals | and\ncages.",
		Resources: []*schema.Resource{{Token: "zoo:index:Animal", Description: "An *animal*. <script>alert(1)</script>\n\nIt roars.", Inputs: schema.Object{Properties: []schema.Property{
			{Name: "always", Type: text, Required: true, Const: property.String("yes")},
			required("any", &schema.Type{}),
			required("archive", &schema.Type{Kind: schema.KindArchive}),
			required("asset", &schema.Type{Kind: schema.KindAsset}),
			required("cage", cageType),
			required("cages", &schema.Type{Kind: schema.KindArray, Element: cageType}),
			required("dangerous", &schema.Type{Kind: schema.KindBool}),
			{Name: "default", Type: text, Required: true, Default: property.String("x")},
			required("either", &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{text, {Kind: schema.KindNumber}}}),
			required("lists", &schema.Type{Kind: schema.KindArray, Element: &schema.Type{Kind: schema.KindArray, Element: text}}),
			required("maps", &schema.Type{Kind: schema.KindMap, Element: cageType}),
			{Name: "negative", Type: &schema.Type{Kind: schema.KindNumber}, Required: true, Maximum: ptr(-2.0)},
			{Name: "no", Type: text, Required: true, OneOf: []property.Value{property.String("on"), property.String("off")}},
			{Name: "secret", Type: text, Secret: true, Replace: true, Description: "Nobody | knows `it`."},
		}}}},
		Functions: []*schema.Function{{Token: "zoo:index:count", Result: schema.Object{Properties: []schema.Property{{Name: "n", Type: &schema.Type{Kind: schema.KindInteger}}}}}},
	}
}

func ptr(f float64) *float64 { return &f }

type schemas map[string]*schema.Package

func (s schemas) Package(_ context.Context, pkg program.Package) (*schema.Package, error) {
	return s[pkg.Name], nil
}

// Every example is a program that the checker accepts.
func TestExamplesAreValid(t *testing.T) {
	all := packages(t)
	for name, p := range all {
		var examples []string
		for _, r := range p.Resources {
			examples = append(examples, resourceExample(r))
		}
		for _, f := range functions(p) {
			examples = append(examples, functionExample(f))
		}
		for _, example := range examples {
			text := fmt.Sprintf("name: demo\nruntime: yaml\nplugins: {providers: [{name: %s, path: x.wasm}, {name: other, path: y.wasm}]}\n%s", name, example)
			project, err := program.ParseProject(t.Context(), projectroot.New(t.TempDir(), projectroot.Trusted), "Husk.yaml", []byte(text))
			require.NoError(t, err, text)
			ds, err := validation.Check(t.Context(), project, "dev", schemas(all), budget.Limits{})
			require.NoError(t, err, text)
			require.NoError(t, ds.Err(), text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	text := Markdown(zoo(), []string{"fs=x: to keep | files"})
	for _, want := range []string{
		"# zoo 1.0.0\n\nAnimals | and\ncages.\n",
		"- `fs=x: to keep \\| files`\n",
		"| [zoo:Animal](#zooanimal) | An *animal*.",
		"| `secret` | string | *secret; a change replaces the resource*. Nobody \\| knows `it`. |\n",
		"| `cage` | zoo:Cage | *required*. |\n",
		"### zoo:Cage\n\nA cage.\n",
		"| `bars` | integer | *required; at least 1; at most 10*. |",
	} {
		require.Contains(t, text, want)
	}
}

// An author's text stays in its place.
func TestTextsOfAuthors(t *testing.T) {
	for text, want := range map[string]string{
		"one\n# two\n===\n- three": "one\n\\# two\n\\===\n- three",
		"```go\n# code\n":          "```go\n# code\n\n```",
		"````\n```\n````\n# a":     "````\n```\n````\n\\# a",
		"~~~\n```":                 "~~~\n```\n~~~",
	} {
		require.Equal(t, want, contained(text))
	}
}

// Packages are for the tests of pages.
var Packages = packages

func TestTerminal(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		for name, p := range packages(t) {
			text := (&Terminal{Columns: columns}).Package(p, []string{"kv"})
			require.Contains(t, text, "It asks for\n  kv\n", name)
			for _, r := range p.Resources {
				shown, err := (&Terminal{Columns: columns}).Type(p, r.Token)
				require.NoError(t, err)
				require.Contains(t, shown, "\nExample\n  resources:\n")
				for line := range strings.Lines(shown) {
					if len(strings.Fields(line)) > 3 && columns >= 80 && !strings.Contains(line, "fn::") {
						require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), columns, line)
					}
				}
			}
		}
	}
	for _, name := range []string{"random:RandomPet", "RandomPet", "randompet", "random:index/randomPet:RandomPet"} {
		shown, err := (&Terminal{Columns: 80}).Type(packages(t)["random"], name)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(shown, "random:RandomPet  resource\n"), shown)
	}
	_, err := (&Terminal{Columns: 80}).Type(packages(t)["random"], "RandomPett")
	require.EqualError(t, err, "the package random has no resource type or function RandomPett; did you mean random:RandomPet?")
}
