package document

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

func (d *decoder) content() (openapi3.Content, error) {
	c := openapi3.Content{}
	err := d.object(func(name string) error {
		media := &openapi3.MediaType{}
		c[name] = media
		return d.object(func(name string) error {
			switch name {
			case "schema":
				s, err := d.schema()
				media.Schema = s
				return err
			case "encoding":
				media.Encoding = map[string]*openapi3.Encoding{}
				return d.object(func(name string) error {
					e, err := d.encoding()
					media.Encoding[name] = e
					return err
				})
			}
			return d.SkipValue()
		})
	})
	return c, err
}

func (d *decoder) encoding() (*openapi3.Encoding, error) {
	e := &openapi3.Encoding{}
	err := d.object(func(name string) error {
		switch name {
		case "style":
			return d.text(&e.Style)
		case "contentType":
			return d.text(&e.ContentType)
		case "explode":
			explode := false
			err := d.bool(&explode)
			e.Explode = &explode
			return err
		}
		return d.SkipValue()
	})
	return e, err
}

// contentOf returns the content that a schema of Swagger has in the forms that an operation knows.
func (d *decoder) contentOf(s *openapi3.SchemaRef, forms ...[]string) openapi3.Content {
	list := []string{"application/json"}
	for _, form := range forms {
		if len(form) > 0 {
			list = form
			break
		}
	}
	c := openapi3.Content{}
	for _, name := range list {
		if preference(name) < urlencoded {
			c[name] = &openapi3.MediaType{Schema: s}
		}
	}
	return c
}

func (d *decoder) requestBody() (*openapi3.RequestBodyRef, error) {
	ref := &openapi3.RequestBodyRef{}
	body := &openapi3.RequestBody{}
	err := d.object(func(name string) error {
		switch name {
		case "$ref":
			return d.text(&ref.Ref)
		case "required":
			return d.bool(&body.Required)
		case "content":
			c, err := d.content()
			body.Content = c
			return err
		}
		return d.SkipValue()
	})
	if ref.Ref != "" {
		ref.Ref = d.refersTo(ref.Ref, func() bool { return ref.Value != nil })
	} else {
		ref.Value = body
	}
	return ref, err
}

// responses reads the responses of an operation, or with nil the components.
func (d *decoder) responses(of *openapi3.Operation, produces ...[]string) error {
	if of == nil {
		d.spec.Components.Responses = openapi3.ResponseBodies{}
	}
	return d.object(func(name string) error {
		ref := &openapi3.ResponseRef{}
		response := &openapi3.Response{}
		err := d.object(func(name string) error {
			switch name {
			case "$ref":
				return d.text(&ref.Ref)
			case "content":
				c, err := d.content()
				response.Content = c
				return err
			case "schema":
				s, err := d.schema()
				response.Content = d.contentOf(s, append(produces, d.produces)...)
				return err
			}
			return d.SkipValue()
		})
		if ref.Ref != "" {
			ref.Ref = d.refersTo(ref.Ref, func() bool { return ref.Value != nil })
		} else {
			ref.Value = response
		}
		if of == nil {
			d.spec.Components.Responses[name] = ref
		} else {
			of.Responses.Set(name, ref)
		}
		return err
	})
}

// form returns the body of an operation of Swagger that takes the fields of a form.
func form(fields []*parameter, consumes ...[]string) *openapi3.RequestBodyRef {
	s := &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeObject}, Properties: openapi3.Schemas{}}
	encoding := map[string]*openapi3.Encoding{}
	for _, f := range fields {
		s.Properties[f.Name] = f.field
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
		if f.field.Value.Type.Is(openapi3.TypeArray) {
			encoding[f.Name] = &openapi3.Encoding{Style: f.Style, Explode: f.Explode}
		}
	}
	media := "application/x-www-form-urlencoded"
	for _, list := range consumes {
		if len(list) > 0 {
			if !slices.ContainsFunc(list, func(name string) bool { return preference(name) == urlencoded }) && slices.ContainsFunc(list, IsMultipart) {
				media = "multipart/form-data"
			}
			break
		}
	}
	return &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Content: openapi3.Content{
		media: {Schema: &openapi3.SchemaRef{Value: s}, Encoding: encoding},
	}}}
}
