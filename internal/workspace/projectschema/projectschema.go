// Package projectschema has the JSON Schema of the project file (draft 7), also with the types of packages, for editors and
// other tools. Package lsp takes the keys of a project and their descriptions from it.
package projectschema

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
)

// compressed is project.json, which a test compresses.
//
//go:embed project.json.gz
var compressed []byte

// readBase reads project.json into a value.
func readBase(into any) error {
	text, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return fmt.Errorf("unpacking the schema of project files: %w", err)
	}
	if err := json.NewDecoder(text).Decode(into); err != nil {
		return fmt.Errorf("reading the schema of project files: %w", err)
	}
	return nil
}

// node is a JSON Schema.
type node = map[string]any

// With returns the schema of project files with the types of packages. Types of other packages may have any properties.
func With(packages []*schema.Package) ([]byte, error) {
	var document node
	if err := readBase(&document); err != nil {
		return nil, err
	}
	w := writer{definitions: document["definitions"].(node)}
	for _, p := range packages {
		w.pkg(p)
	}
	if len(w.cases) > 0 {
		resource := w.definitions["resource"].(node)
		resource["allOf"] = w.cases
		resource["properties"].(node)["type"] = node{
			"description": "The type of the resource.",
			"anyOf": []any{
				node{"enum": w.types},
				node{"type": "string", "not": node{"pattern": "^(" + strings.Join(w.names, "|") + "):"}},
			},
		}
	}
	text, err := json.MarshalIndent(document, "", "  ")
	return append(text, '\n'), err
}

// writer adds packages to a schema.
type writer struct {
	definitions node
	// types are the tokens that resources may have, and names the patterns of the packages.
	types, names []string
	// cases give each type its properties.
	cases []any
}

func (w *writer) pkg(p *schema.Package) {
	for _, name := range append([]string{p.Name}, p.AllowedPackageNames...) {
		w.names = append(w.names, quotePattern(name))
	}
	for _, r := range p.Resources {
		tokens := append(Forms(r.Token), r.Aliases...)
		w.resource(r.Token, tokens, r.Description, &r.Inputs)
	}
	provider := "pulumi:providers:" + p.Name
	w.resource(provider, []string{provider}, "The configuration of the provider "+p.Name+".", &p.Config)
}

// quotePattern quotes a package's name for a pattern of both Go and JavaScript.
func quotePattern(name string) string { return strings.NewReplacer(".", `\.`, "+", `\+`).Replace(name) }

func (w *writer) resource(token string, tokens []string, description string, inputs *schema.Object) {
	object := w.object(inputs)
	if description != "" {
		object["description"] = description
	}
	name := "inputs of " + token
	w.definitions[name] = object
	w.types = append(w.types, tokens...)
	w.cases = append(w.cases, node{
		"if": node{"properties": node{"type": node{"enum": tokens}}, "required": []string{"type"}},
		"then": node{
			"properties": node{"properties": node{"anyOf": []any{node{"$ref": reference(name)}, node{"$ref": reference("reference")}}}},
			"anyOf":      given(object),
		},
	})
}

// given has a resource with required inputs give them, unless it is read.
func given(object node) []any {
	if _, required := object["required"]; required {
		return []any{node{"required": []string{"properties"}}, node{"required": []string{"get"}}}
	}
	return []any{node{}}
}

// Forms returns the tokens that programs may write for a type or a function, the shortest first.
func Forms(token string) []string {
	forms := []string{schema.ShortToken(token)}
	if parts := strings.Split(token, ":"); len(parts) == 3 {
		module, _, _ := strings.Cut(parts[1], "/")
		forms = append(forms, parts[0]+":"+module+":"+parts[2])
	}
	forms = append(forms, token)
	slices.Sort(forms[1:])
	return slices.Compact(forms)
}

// reference returns a reference to a definition.
func reference(name string) string {
	return "#/definitions/" + strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", " ", "%20").Replace(name)
}

func (w *writer) object(o *schema.Object) node {
	properties, required := node{}, []string{}
	for i := range o.Properties {
		p := &o.Properties[i]
		properties[p.Name] = w.property(p)
		if p.Required && !p.HasDefault() && p.Const.IsNull() {
			required = append(required, p.Name)
		}
	}
	out := node{"type": "object", "properties": properties, "additionalProperties": false}
	if o.Description != "" {
		out["description"] = o.Description
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (w *writer) property(p *schema.Property) node {
	value := w.value(p.Type)
	switch {
	case !p.Const.IsNull():
		value = node{"enum": values([]property.Value{p.Const})}
	case len(p.OneOf) > 0:
		value = node{"enum": values(p.OneOf)}
	}
	if p.Minimum != nil {
		value["minimum"] = *p.Minimum
	}
	if p.Maximum != nil {
		value["maximum"] = *p.Maximum
	}
	out := node{"anyOf": []any{value, node{"$ref": "#/definitions/computed"}}}
	if p.Description != "" {
		out["description"] = p.Description
	}
	if p.Deprecation != "" {
		out["deprecated"], out["deprecationMessage"] = true, p.Deprecation
	}
	if p.HasDefault() {
		if known := values([]property.Value{p.Default}); len(known) > 0 {
			out["default"] = known[0]
		}
	}
	return out
}

// value returns the schema of values of a type. Text may be a number or a truth value, which the program then takes as text.
func (w *writer) value(t *schema.Type) node {
	if t == nil {
		return node{}
	}
	switch t.Kind {
	case schema.KindBool:
		return node{"type": []string{"boolean", "string"}}
	case schema.KindInteger, schema.KindNumber:
		return node{"type": []string{"number", "string"}}
	case schema.KindString:
		return node{"type": []string{"string", "number", "boolean"}}
	case schema.KindArray:
		return node{"type": "array", "items": w.element(t.Element)}
	case schema.KindMap:
		return node{"type": "object", "additionalProperties": w.element(t.Element)}
	case schema.KindEnum:
		return node{"enum": values(t.Values)}
	case schema.KindObject:
		return w.named(t.Object)
	case schema.KindAsset, schema.KindArchive, schema.KindResource:
		return node{"$ref": "#/definitions/computed"}
	case schema.KindUnion:
		var alternatives []any
		for _, alternative := range t.OneOf {
			alternatives = append(alternatives, w.value(alternative))
		}
		return node{"anyOf": alternatives}
	}
	return node{}
}

// element is value for an element, which may be computed.
func (w *writer) element(t *schema.Type) node {
	return node{"anyOf": []any{w.value(t), node{"$ref": "#/definitions/computed"}}}
}

// named returns the schema of an object. One with a token is a definition, because it may contain itself.
func (w *writer) named(o *schema.Object) node {
	if o == nil {
		return node{"type": "object"}
	}
	if o.Token == "" {
		return w.object(o)
	}
	name := "type " + o.Token
	if _, done := w.definitions[name]; !done {
		w.definitions[name] = node{}
		w.definitions[name] = w.object(o)
	}
	return node{"$ref": reference(name)}
}

// values returns constants as JSON has them. One that JSON cannot hold is left out.
func values(all []property.Value) []any {
	out := make([]any, 0, len(all))
	for _, v := range all {
		text, err := program.JSON(v)
		if err == nil {
			out = append(out, json.RawMessage(text))
		}
	}
	return out
}
