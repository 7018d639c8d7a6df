package document

import (
	"github.com/getkin/kin-openapi/openapi3"
)

// parameter is one of Swagger or OpenAPI.
type parameter struct {
	ref string
	*openapi3.Parameter
	// body is the schema of a parameter that is the body, and field the schema of a field of a form.
	body, field *openapi3.SchemaRef
	at          string
}

func (d *decoder) parameter() (*parameter, error) {
	p := &parameter{Parameter: &openapi3.Parameter{}}
	// Swagger has the members of a schema here.
	s := &openapi3.Schema{}
	var format string
	err := d.object(func(name string) error {
		switch name {
		case "$ref":
			return d.text(&p.ref)
		case "name":
			return d.text(&p.Name)
		case "in":
			return d.text(&p.In)
		case "description":
			return d.text(&p.Description)
		case "required":
			return d.bool(&p.Required)
		case "deprecated":
			return d.bool(&p.Deprecated)
		case "style":
			return d.text(&p.Style)
		case "explode":
			explode := false
			err := d.bool(&explode)
			p.Explode = &explode
			return err
		case "schema":
			schema, err := d.schema()
			p.Schema = schema
			return err
		case "content":
			c, err := d.content()
			p.Content = c
			return err
		case "type":
			return d.types(&s.Type)
		case "format":
			return d.text(&s.Format)
		case "items":
			items, err := d.schema()
			s.Items = items
			return err
		case "enum":
			var v any
			err := d.any(&v)
			s.Enum, _ = v.([]any)
			return err
		case "default":
			return d.any(&s.Default)
		case "minimum":
			return d.number(&s.Min)
		case "maximum":
			return d.number(&s.Max)
		case "collectionFormat":
			return d.text(&format)
		}
		return d.SkipValue()
	})
	p.at = d.place()
	switch {
	case !d.swagger:
	case p.In == "body":
		p.body, p.Schema = p.Schema, nil
	case p.In == "formData":
		s.Description = p.Description
		p.field = &openapi3.SchemaRef{Value: s}
		p.collect(format)
	default:
		p.Schema = &openapi3.SchemaRef{Value: s}
		p.collect(format)
	}
	return p, err
}

// collect sets how a list is written, by the collectionFormat of Swagger.
func (p *parameter) collect(format string) {
	explode := format == "multi"
	p.Explode = &explode
	p.Style = map[string]string{"ssv": "spaceDelimited", "pipes": "pipeDelimited"}[format]
}

// parameterRef returns a parameter as OpenAPI 3 has it.
func (d *decoder) parameterRef(p *parameter) *openapi3.ParameterRef {
	if p.ref == "" {
		return &openapi3.ParameterRef{Value: p.Parameter}
	}
	ref := &openapi3.ParameterRef{}
	ref.Ref = d.refersTo(p.ref, func() bool { return ref.Value != nil })
	d.references[len(d.references)-1].at = p.at
	return ref
}

func (d *decoder) parameterList() (list []*parameter, err error) {
	err = d.list(func() error {
		p, err := d.parameter()
		list = append(list, p)
		return err
	})
	return list, err
}
