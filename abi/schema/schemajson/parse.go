// Package schemajson reads package schemas: JSON documents in the format of Pulumi's metaschema,
// which providers return from get-schema. It is for hosts only, because it uses encoding/json.
// Guests write their schema with [schema.Package.AppendJSON].
package schemajson

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// Parse reads a package schema. References to types of other packages become any value or any
// resource.
//
// Members without a place in the model are ignored. Most are settings of SDK generators (language,
// meta, isOverlay, plain, multiArgumentInputs) or for catalogues only. Three are ignored on purpose:
// defaultInfo, because a default from the environment would give a provider variables without a
// grant; the discriminator of a union, whose alternatives differ by their constants; and
// stateInputs, because a read may get the whole state.
func Parse(document []byte) (*schema.Package, error) {
	var spec packageSpec
	if err := intake.CheckJSON(document, &spec, intake.Allowance); err != nil {
		return nil, fmt.Errorf("package schema: %w", err)
	}
	if err := json.Unmarshal(document, &spec); err != nil {
		return nil, fmt.Errorf("package schema: %w", jsonerror.Explain(document, err))
	}
	if spec.Name == "" {
		return nil, errors.New("package schema: it has no name")
	}
	p := &parser{
		out: &schema.Package{
			Name: spec.Name, Version: spec.Version, DisplayName: spec.DisplayName,
			Description: spec.Description, Keywords: spec.Keywords, Homepage: spec.Homepage,
			License: spec.License, Repository: spec.Repository, Publisher: spec.Publisher,
			AllowedPackageNames: spec.AllowedPackageNames,
		},
		objects: map[string]*schema.Object{},
		enums:   map[string]*schema.Type{},
	}
	if b := spec.Parameterization; b != nil {
		p.out.Parameterization = &schema.Parameterization{
			Name: b.BaseProvider.Name, Version: b.BaseProvider.Version, Parameter: b.Parameter,
		}
	}
	if err := p.parse(&spec); err != nil {
		return nil, fmt.Errorf("package schema of %s: %w", spec.Name, err)
	}
	return p.out, nil
}

type parser struct {
	out     *schema.Package
	objects map[string]*schema.Object
	enums   map[string]*schema.Type
}

func (p *parser) parse(spec *packageSpec) error {
	if err := p.types(spec.Types); err != nil {
		return err
	}
	config, err := p.object(spec.Config.Variables, spec.Config.Defaults)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	// If the document describes the inputs of the provider resource, they are the configuration.
	if len(spec.Provider.InputProperties) > 0 {
		if config, err = p.object(spec.Provider.InputProperties, spec.Provider.RequiredInputs); err != nil {
			return fmt.Errorf("provider: %w", err)
		}
	}
	config.Description = spec.Provider.Description
	p.out.Config = config
	says := spec.Provider.Language.Husk
	p.out.SchemaCheckConfig, p.out.SchemaDiffConfig, p.out.SchemaConfigure = says.SchemaCheck, says.SchemaDiff, says.SchemaConfigure
	p.out.Deferred = says.Deferred

	for _, token := range slices.Sorted(maps.Keys(spec.Resources)) {
		r, err := p.resource(token, spec.Resources[token])
		if err != nil {
			return fmt.Errorf("resource %s: %w", token, err)
		}
		p.out.Resources = append(p.out.Resources, r)
	}
	for _, token := range slices.Sorted(maps.Keys(spec.Functions)) {
		f, err := p.function(token, spec.Functions[token])
		if err != nil {
			return fmt.Errorf("function %s: %w", token, err)
		}
		p.out.Functions = append(p.out.Functions, f)
	}
	return nil
}

// types declares all named types before it reads any, because they may be recursive.
func (p *parser) types(specs map[string]complexSpec) error {
	tokens := slices.Sorted(maps.Keys(specs))
	for _, token := range tokens {
		spec := specs[token]
		if len(spec.Enum) == 0 {
			o := &schema.Object{Token: token, Description: spec.Description}
			p.objects[token] = o
			p.out.Types = append(p.out.Types, o)
			continue
		}
		e := &schema.Type{Kind: schema.KindEnum, Token: token}
		for _, v := range spec.Enum {
			value, err := constant(v.Value)
			if err != nil {
				return fmt.Errorf("type %s: enum: %w", token, err)
			}
			e.Values = append(e.Values, value)
		}
		p.enums[token] = e
		p.out.Enums = append(p.out.Enums, e)
	}
	for _, o := range p.out.Types {
		object, err := p.object(specs[o.Token].Properties, specs[o.Token].Required)
		if err != nil {
			return fmt.Errorf("type %s: %w", o.Token, err)
		}
		o.Properties = object.Properties
	}
	return nil
}

func (p *parser) resource(token string, spec resourceSpec) (*schema.Resource, error) {
	inputs, err := p.object(spec.InputProperties, spec.RequiredInputs)
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	outputs, err := p.object(spec.Properties, spec.Required)
	if err != nil {
		return nil, fmt.Errorf("outputs: %w", err)
	}
	r := &schema.Resource{
		Token: token, Description: spec.Description, Deprecation: spec.DeprecationMessage,
		Inputs: inputs, Outputs: outputs, Component: spec.IsComponent,
		DeleteBeforeReplace: spec.Language.Husk.DeleteBeforeReplace,
		SchemaCheck:         spec.Language.Husk.SchemaCheck,
		SchemaDiff:          spec.Language.Husk.SchemaDiff,
	}
	for _, name := range slices.Sorted(slices.Values(spec.Language.Husk.Identity)) {
		if r.Inputs.Property(name) == nil {
			return nil, fmt.Errorf("identity: there is no input %q", name)
		}
		r.Identity = append(r.Identity, name)
	}
	for _, alias := range spec.Aliases {
		if alias.Type != "" {
			r.Aliases = append(r.Aliases, alias.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Methods)) {
		if name == "" || spec.Methods[name] == "" {
			return nil, fmt.Errorf("methods: %q: a method has a name and the token of its function", name)
		}
		r.Methods = append(r.Methods, schema.Method{Name: name, Function: spec.Methods[name]})
	}
	return r, nil
}

func (p *parser) function(token string, spec *functionSpec) (*schema.Function, error) {
	f := &schema.Function{Token: token}
	if spec == nil {
		return f, nil
	}
	f.Description, f.Deprecation = spec.Description, spec.DeprecationMessage
	is := spec.Language.Husk
	f.Streams, f.Ephemeral, f.Action, f.SchemaCheck = is.Streams, is.Ephemeral, is.Action, is.SchemaCheck
	var err error
	if spec.Inputs != nil {
		if f.Args, err = p.object(spec.Inputs.Properties, spec.Inputs.Required); err != nil {
			return nil, fmt.Errorf("inputs: %w", err)
		}
	}
	outputs := spec.Outputs
	if outputs == nil {
		outputs = spec.ReturnType
	}
	switch {
	case outputs == nil:
	case outputs.isObject():
		f.Result, err = p.object(outputs.Properties, outputs.Required)
	default:
		f.Returns, err = p.typ(&outputs.typeSpec)
	}
	if err != nil {
		return nil, fmt.Errorf("outputs: %w", err)
	}
	return f, nil
}

// isObject reports whether the result has named properties, or an empty list of them.
func (s *resultSpec) isObject() bool {
	return (s.Type == "" || s.Type == "object") && s.Ref == "" && len(s.OneOf) == 0 && s.AdditionalProperties == nil
}

func (p *parser) object(specs map[string]propertySpec, required []string) (schema.Object, error) {
	var o schema.Object
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		spec := specs[name]
		prop, err := p.property(name, &spec)
		if err != nil {
			return schema.Object{}, fmt.Errorf("property %q: %w", name, err)
		}
		prop.Required = slices.Contains(required, name)
		o.Properties = append(o.Properties, prop)
	}
	for _, name := range required {
		if _, ok := specs[name]; !ok {
			return schema.Object{}, fmt.Errorf("property %q is required but not declared", name)
		}
	}
	return o, nil
}

func (p *parser) property(name string, spec *propertySpec) (prop schema.Property, err error) {
	husk := &spec.Language.Husk
	prop = schema.Property{
		Name: name, Description: spec.Description, Deprecation: spec.DeprecationMessage,
		Secret: spec.Secret, Replace: spec.ReplaceOnChanges || spec.WillReplaceOnChanges, ReplaceOnChanges: spec.ReplaceOnChanges,
		Computed: husk.Computed, Stable: husk.Stable, WriteOnly: husk.WriteOnly, Minimum: husk.Minimum, Maximum: husk.Maximum,
	}
	if prop.Type, err = p.typ(&spec.typeSpec); err != nil {
		return prop, err
	}
	if prop.Default, err = constant(spec.Default); err != nil {
		return prop, fmt.Errorf("default: %w", err)
	}
	if prop.Const, err = constant(spec.Const); err != nil {
		return prop, fmt.Errorf("const: %w", err)
	}
	for _, raw := range husk.OneOf {
		value, err := constant(raw)
		if err != nil {
			return prop, fmt.Errorf("oneOf: %w", err)
		}
		prop.OneOf = append(prop.OneOf, value)
	}
	return prop, nil
}

func (p *parser) typ(spec *typeSpec) (*schema.Type, error) {
	switch {
	case spec == nil:
		return &schema.Type{}, nil
	case spec.Ref != "":
		return p.reference(spec.Ref)
	case len(spec.OneOf) > 0:
		union := &schema.Type{Kind: schema.KindUnion}
		for i := range spec.OneOf {
			alternative, err := p.typ(&spec.OneOf[i])
			if err != nil {
				return nil, err
			}
			union.OneOf = append(union.OneOf, alternative)
		}
		return union, nil
	}
	switch spec.Type {
	case "boolean":
		return &schema.Type{Kind: schema.KindBool}, nil
	case "integer":
		return &schema.Type{Kind: schema.KindInteger}, nil
	case "number":
		return &schema.Type{Kind: schema.KindNumber}, nil
	case "string":
		return &schema.Type{Kind: schema.KindString}, nil
	case "array":
		return p.container(schema.KindArray, spec.Items)
	case "object":
		if spec.AdditionalProperties == nil {
			// The metaschema's default: a map of strings.
			return &schema.Type{Kind: schema.KindMap, Element: &schema.Type{Kind: schema.KindString}}, nil
		}
		return p.container(schema.KindMap, spec.AdditionalProperties)
	case "":
		return nil, errors.New("it has no type")
	}
	return nil, fmt.Errorf("unknown type %q", spec.Type)
}

func (p *parser) container(kind schema.Kind, spec *typeSpec) (*schema.Type, error) {
	element, err := p.typ(spec)
	if err != nil {
		return nil, err
	}
	return &schema.Type{Kind: kind, Element: element}, nil
}

func (p *parser) reference(ref string) (*schema.Type, error) {
	document, fragment, _ := strings.Cut(ref, "#")
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if document == "pulumi.json" {
		switch fragment {
		case "/Archive":
			return &schema.Type{Kind: schema.KindArchive}, nil
		case "/Asset":
			return &schema.Type{Kind: schema.KindAsset}, nil
		case "/Any", "/Json":
			return &schema.Type{}, nil
		}
		return nil, fmt.Errorf("unknown type %q", ref)
	}
	kind, token, _ := strings.Cut(strings.TrimPrefix(fragment, "/"), "/")
	switch {
	case kind == "resources" && document == "":
		return &schema.Type{Kind: schema.KindResource, Token: token}, nil
	case kind == "provider" && document == "":
		return &schema.Type{Kind: schema.KindResource}, nil
	case kind == "resources" || kind == "provider":
		return &schema.Type{Kind: schema.KindResource, Token: ref}, nil
	case kind == "types" && document != "":
		return &schema.Type{}, nil
	case kind == "types":
		if o, ok := p.objects[token]; ok {
			return &schema.Type{Kind: schema.KindObject, Object: o}, nil
		}
		if e, ok := p.enums[token]; ok {
			return e, nil
		}
	}
	return nil, fmt.Errorf("reference to %q, which the schema does not declare", ref)
}

// constant reads a value of a schema. A missing one is null.
func constant(raw json.RawMessage) (property.Value, error) {
	if len(raw) == 0 {
		return property.Null, nil
	}
	return Value(raw)
}

// Value reads a JSON text as a value.
func Value(text []byte) (property.Value, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return property.Null, err
	}
	return toValue(v), nil
}

func toValue(v any) property.Value {
	switch v := v.(type) {
	case bool:
		return property.Bool(v)
	case float64:
		return property.Number(v)
	case string:
		return property.String(v)
	case []any:
		elements := make([]property.Value, len(v))
		for i, e := range v {
			elements[i] = toValue(e)
		}
		return property.Array(elements...)
	case map[string]any:
		m := make(map[string]property.Value, len(v))
		for k, e := range v {
			m[k] = toValue(e)
		}
		return property.Object(property.MapOf(m))
	}
	return property.Null
}
