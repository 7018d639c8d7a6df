package schemachange_test

import (
	"fmt"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/internal/plugins/schemachange"
)

// pkg returns the package with a resource that has inputs and required ones, and outputs, all in JSON.
func pkg(t *testing.T, inputs, required, outputs, rest string) *schema.Package {
	t.Helper()
	text := fmt.Sprintf(`{"name": "lab", "version": "1.0.0", "resources": {"lab:index:Thing": {
		"inputProperties": {%s}, "requiredInputs": [%s], "properties": {%s}}%s}`, inputs, required, outputs, rest)
	p, err := schemajson.Parse([]byte(text))
	require.NoError(t, err, text)
	return p
}

func TestBetween(t *testing.T) {
	text, number := `{"type": "string"}`, `{"type": "integer"}`
	for name, c := range map[string]struct {
		before, after [4]string // inputs, required inputs, outputs, rest
		want          []string
	}{
		"nothing":            {[4]string{`"a": ` + text, `"a"`, `"b": ` + text, "}"}, [4]string{`"a": ` + text, `"a"`, `"b": ` + text, "}"}, nil},
		"an optional input":  {[4]string{3: "}"}, [4]string{`"a": ` + text, "", "", "}"}, []string{"lab:index:Thing input a is new"}},
		"a required input":   {[4]string{3: "}"}, [4]string{`"a": ` + text, `"a"`, "", "}"}, []string{"! lab:index:Thing input a is new, and must be given"}},
		"a required default": {[4]string{3: "}"}, [4]string{`"a": {"type": "string", "default": "x"}`, `"a"`, "", "}"}, []string{"lab:index:Thing input a is new"}},
		"no input":           {[4]string{`"a": ` + text, "", "", "}"}, [4]string{3: "}"}, []string{"! lab:index:Thing input a is gone"}},
		"required now":       {[4]string{`"a": ` + text, "", "", "}"}, [4]string{`"a": ` + text, `"a"`, "", "}"}, []string{"! lab:index:Thing input a must be given now"}},
		"not required":       {[4]string{`"a": ` + text, `"a"`, "", "}"}, [4]string{`"a": ` + text, "", "", "}"}, []string{"lab:index:Thing input a need not be given any more"}},
		"another type":       {[4]string{`"a": ` + text, "", "", "}"}, [4]string{`"a": ` + number, "", "", "}"}, []string{"! lab:index:Thing input a is integer now, and was string"}},
		"a wider input":      {[4]string{`"a": ` + number, "", "", "}"}, [4]string{`"a": {"type": "number"}`, "", "", "}"}, []string{"lab:index:Thing input a is number now, and was integer"}},
		"a wider output":     {[4]string{"", "", `"a": ` + number, "}"}, [4]string{"", "", `"a": {"type": "number"}`, "}"}, []string{"! lab:index:Thing output a is number now, and was integer"}},
		"a narrower output":  {[4]string{"", "", `"a": {"type": "number"}`, "}"}, [4]string{"", "", `"a": ` + number, "}"}, []string{"lab:index:Thing output a is integer now, and was number"}},
		"an alternative":     {[4]string{`"a": ` + text, "", "", "}"}, [4]string{`"a": {"oneOf": [` + text + `, ` + number + `]}`, "", "", "}"}, []string{"lab:index:Thing input a is string or integer now, and was string"}},
		"fewer alternatives": {[4]string{`"a": {"oneOf": [` + text + `, ` + number + `]}`, "", "", "}"}, [4]string{`"a": {"oneOf": [` + text + `, {"type": "boolean"}]}`, "", "", "}"}, []string{"! lab:index:Thing input a is string or bool now, and was string or integer"}},
		"an output":          {[4]string{3: "}"}, [4]string{"", "", `"b": ` + text, "}"}, []string{"lab:index:Thing output b is new"}},
		"elements":           {[4]string{`"a": {"type": "array", "items": ` + text + `}`, "", "", "}"}, [4]string{`"a": {"type": "array", "items": ` + number + `}`, "", "", "}"}, []string{"! lab:index:Thing input a is integer now, and was string"}},
		"a secret":           {[4]string{"", "", `"b": {"type": "string", "secret": true}`, "}"}, [4]string{"", "", `"b": ` + text, "}"}, []string{"! lab:index:Thing output b is not secret any more"}},
		"a secret now":       {[4]string{"", "", `"b": ` + text, "}"}, [4]string{"", "", `"b": {"type": "string", "secret": true}`, "}"}, []string{"lab:index:Thing output b is a secret now"}},
		"a replacement":      {[4]string{`"a": ` + text, "", "", "}"}, [4]string{`"a": {"type": "string", "willReplaceOnChanges": true}`, "", "", "}"}, []string{"! lab:index:Thing input a replaces the resource now if it changes"}},
		"another default":    {[4]string{`"a": {"type": "string", "default": "x"}`, "", "", "}"}, [4]string{`"a": {"type": "string", "default": "y"}`, "", "", "}"}, []string{"! lab:index:Thing input a has another default"}},
		"no resource":        {[4]string{3: `, "lab:index:Other": {}}`}, [4]string{3: "}"}, []string{"! lab:index:Other is gone"}},
		"a resource":         {[4]string{3: "}"}, [4]string{3: `, "lab:index:Other": {}}`}, []string{"lab:index:Other is new"}},
		"a component":        {[4]string{3: `, "lab:index:Other": {}}`}, [4]string{3: `, "lab:index:Other": {"isComponent": true}}`}, []string{"! lab:index:Other is a component now"}},
		"no alias":           {[4]string{3: `, "lab:index:Other": {"aliases": [{"type": "lab:index:Old"}]}}`}, [4]string{3: `, "lab:index:Other": {}}`}, []string{"! lab:index:Other has no alias lab:index:Old"}},
		"a function":         {[4]string{3: "}"}, [4]string{3: `}, "functions": {"lab:index:get": {}}`}, []string{"lab:index:get is new"}},
		"no function":        {[4]string{3: `}, "functions": {"lab:index:get": {}}`}, [4]string{3: "}"}, []string{"! lab:index:get is gone"}},
		"an argument": {[4]string{3: `}, "functions": {"lab:index:get": {"inputs": {"properties": {}}}}`},
			[4]string{3: `}, "functions": {"lab:index:get": {"inputs": {"properties": {"a": ` + text + `}, "required": ["a"]}}}`},
			[]string{"! lab:index:get input a is new, and must be given"}},
		"configuration": {[4]string{3: `}, "config": {"variables": {"a": ` + text + `}}`}, [4]string{3: "}"}, []string{"! configuration input a is gone"}},
		"a value of an enum": {
			[4]string{`"a": {"$ref": "#/types/lab:index:Size"}`, "", "", `}, "types": {"lab:index:Size": {"type": "string", "enum": [{"value": "s"}, {"value": "m"}]}}`},
			[4]string{`"a": {"$ref": "#/types/lab:index:Size"}`, "", "", `}, "types": {"lab:index:Size": {"type": "string", "enum": [{"value": "s"}, {"value": "l"}]}}`},
			[]string{`! lab:index:Thing input a does not take "m" any more`, `lab:index:Thing input a takes "l"`},
		},
		"a nested object that has itself": {
			[4]string{`"a": {"$ref": "#/types/lab:index:Node"}`, "", "", `}, "types": {"lab:index:Node": {"type": "object", "properties": {"next": {"$ref": "#/types/lab:index:Node"}, "x": ` + text + `}}}`},
			[4]string{`"a": {"$ref": "#/types/lab:index:Node"}`, "", "", `}, "types": {"lab:index:Node": {"type": "object", "properties": {"next": {"$ref": "#/types/lab:index:Node"}, "x": ` + number + `}}}`},
			[]string{"! lab:index:Thing input a.x is integer now, and was string"},
		},
	} {
		before, after := pkg(t, c.before[0], c.before[1], c.before[2], c.before[3]), pkg(t, c.after[0], c.after[1], c.after[2], c.after[3])
		var got []string
		for _, change := range schemachange.Between(before, after) {
			mark := ""
			if change.Breaking {
				mark = "! "
			}
			got = append(got, mark+change.String())
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestAllows(t *testing.T) {
	breaking, addition := []schemachange.Change{{}, {Breaking: true}}, []schemachange.Change{{}}
	for _, c := range []struct {
		before, after string
		changes       []schemachange.Change
		want          bool
	}{
		{"1.2.3", "1.2.4", nil, true},
		{"1.2.3", "1.2.3", nil, false},
		{"1.2.3", "1.2.2", nil, false},
		{"1.2.3", "1.2.4", addition, false},
		{"1.2.3", "1.3.0", addition, true},
		{"1.2.3", "1.3.0", breaking, false},
		{"1.2.3", "2.0.0", breaking, true},
		{"1.2.3", "2.0.0-rc.1", breaking, true},
		{"2.0.0-rc.1", "2.0.0", nil, true},
		{"0.2.3", "0.2.4", addition, true},
		{"0.2.3", "0.2.4", breaking, false},
		{"0.2.3", "0.3.0", breaking, true},
		{"0.2.3", "1.0.0", breaking, true},
	} {
		require.Equal(t, c.want, schemachange.Allows(semver.MustParse(c.before), semver.MustParse(c.after), c.changes), "%+v", c)
	}
	require.Equal(t, "2.0.0", schemachange.Least(semver.MustParse("1.2.3"), breaking).String())
}
