package document

import (
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func (d *decoder) schemas() error {
	d.spec.Components.Schemas = openapi3.Schemas{}
	return d.object(func(name string) error {
		s, err := d.schema()
		d.spec.Components.Schemas[name] = s
		return err
	})
}

// refersTo notes a reference, and returns it as it is in OpenAPI 3.
func (d *decoder) refersTo(ref string, found func() bool) string {
	d.references = append(d.references, reference{ref, d.place(), found})
	if d.swagger {
		for _, kind := range [][2]string{{"#/definitions/", "#/components/schemas/"}, {"#/parameters/", "#/components/parameters/"}, {"#/responses/", "#/components/responses/"}} {
			if rest, ok := strings.CutPrefix(ref, kind[0]); ok {
				return kind[1] + rest
			}
		}
	}
	return ref
}

func (d *decoder) schema() (*openapi3.SchemaRef, error) {
	ref := &openapi3.SchemaRef{}
	if kind := d.PeekKind(); kind == 't' || kind == 'f' { // of OpenAPI 3.1: everything, or nothing
		ref.Value = &openapi3.Schema{}
		return ref, d.SkipValue()
	}
	s := &openapi3.Schema{}
	err := d.object(func(name string) error {
		switch name {
		case "$ref":
			return d.text(&ref.Ref)
		case "type":
			return d.types(&s.Type)
		case "format":
			return d.text(&s.Format)
		case "description":
			return d.text(&s.Description)
		case "properties":
			s.Properties = openapi3.Schemas{}
			return d.object(func(name string) error {
				p, err := d.schema()
				s.Properties[name] = p
				return err
			})
		case "items":
			items, err := d.schema()
			s.Items = items
			return err
		case "required":
			if kind := d.PeekKind(); kind == 't' || kind == 'f' { // of a property, as in drafts
				return d.SkipValue()
			}
			return d.texts(&s.Required)
		case "additionalProperties":
			return d.additional(&s.AdditionalProperties)
		case "allOf":
			return d.parts(&s.AllOf)
		case "oneOf":
			return d.parts(&s.OneOf)
		case "anyOf":
			return d.parts(&s.AnyOf)
		case "enum":
			var v any
			err := d.any(&v)
			s.Enum, _ = v.([]any)
			return err
		case "const":
			return d.any(&s.Const)
		case "default":
			return d.any(&s.Default)
		case "minimum":
			return d.number(&s.Min)
		case "maximum":
			return d.number(&s.Max)
		case "readOnly":
			return d.bool(&s.ReadOnly)
		case "writeOnly":
			return d.bool(&s.WriteOnly)
		case "nullable":
			return d.bool(&s.Nullable)
		case "deprecated":
			return d.bool(&s.Deprecated)
		}
		return d.SkipValue()
	})
	if ref.Ref != "" {
		ref.Ref = d.refersTo(ref.Ref, func() bool { return ref.Value != nil })
	} else {
		ref.Value = s
	}
	return ref, err
}

// types reads a type, or the list of types that OpenAPI 3.1 allows.
func (d *decoder) types(to **openapi3.Types) error {
	var list []string
	var err error
	if d.PeekKind() == '[' {
		err = d.texts(&list)
	} else {
		token, tokenErr := d.ReadToken()
		switch {
		case tokenErr != nil:
			err = tokenErr
		case token.Kind() == '"':
			list = []string{token.String()}
		case token.Kind() != 'n':
			err = d.expected("a type", token.Kind())
		}
	}
	if len(list) > 0 {
		types := openapi3.Types(list)
		*to = &types
	}
	return err
}

func (d *decoder) additional(to *openapi3.AdditionalProperties) error {
	if kind := d.PeekKind(); kind == 't' || kind == 'f' || kind == 'n' {
		var has bool
		err := d.bool(&has)
		to.Has = &has
		return err
	}
	s, err := d.schema()
	to.Schema = s
	return err
}

func (d *decoder) parts(to *openapi3.SchemaRefs) error {
	return d.list(func() error {
		s, err := d.schema()
		*to = append(*to, s)
		return err
	})
}
