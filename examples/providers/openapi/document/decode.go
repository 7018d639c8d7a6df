package document

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// decoder makes the library's form of a trimmed document that refers to nothing outside of itself, of OpenAPI 3 or Swagger 2. The
// library's own decoder takes ten times as long, because it does not leave parts out.
type decoder struct {
	*jsontext.Decoder
	spec *openapi3.T
	// swagger says that the document is Swagger 2.
	swagger bool
	// host, basePath, schemes, consumes, and produces come from a Swagger document.
	host, basePath     string
	schemes            []string
	consumes, produces []string
	// parameters are the parameters of a Swagger document by reference, and operations the ones that have some.
	parameters map[string]*parameter
	operations []pending
	// within is the place of a part that is read separately, empty for the rest.
	within string
	// references are the references, with a function that tells whether the target was found.
	references []reference
}

type reference struct {
	ref, at string
	found   func() bool
}

// pending is an operation of Swagger whose parameters are not known before all is read.
type pending struct {
	*openapi3.Operation
	parameters []*parameter
	consumes   []string
}

// decode decodes a document. Errors name the place.
func decode(ctx context.Context, text []byte) (*openapi3.T, error) {
	d := &decoder{
		Decoder:    jsontext.NewDecoder(bytes.NewBuffer(text), options...),
		spec:       &openapi3.T{Components: &openapi3.Components{}, Paths: openapi3.NewPaths()},
		parameters: map[string]*parameter{},
	}
	if err := d.document(); err != nil {
		return nil, err
	}
	d.finish()
	loader := openapi3.NewLoader()
	loader.Context = ctx
	if err := loader.ResolveRefsIn(d.spec, nil); err != nil {
		return nil, err
	}
	for _, r := range d.references {
		if !r.found() {
			return nil, errors.New("the $ref to " + r.ref + ", at " + r.at + ", leads only to itself: nothing is described there")
		}
	}
	return d.spec, nil
}

// place returns where the decoder is: paths./pets.get.
func (d *decoder) place() string { return d.within + place(d.Decoder) }

// object calls a function for the members of an object, whose value it must read.
func (d *decoder) object(member func(name string) error) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '{' {
		return d.expected("an object", token.Kind())
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

func (d *decoder) list(element func() error) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '[' {
		return d.expected("a list", token.Kind())
	}
	for d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

// expected returns the error of a value that was read and is another one.
func (d *decoder) expected(what string, kind jsontext.Kind) error {
	at := d.place()
	switch {
	case at == "":
		return errors.New("it is not an OpenAPI document: it is not an object")
	case kind == 'n':
		return errors.New("there is nothing at " + at + ", where " + what + " must be")
	}
	return errors.New("at " + at + " there must be " + what)
}

// text reads a text. A null is none.
func (d *decoder) text(to *string) error {
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return err
	case token.Kind() == '"', token.Kind() == '0': // the version 3.0, without quotes
		*to = token.String()
	case token.Kind() != 'n':
		return d.expected("text", token.Kind())
	}
	return nil
}

func (d *decoder) bool(to *bool) error {
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return err
	case token.Kind() == 't', token.Kind() == 'f':
		*to = token.Bool()
	case token.Kind() != 'n':
		return d.expected("true or false", token.Kind())
	}
	return nil
}

func (d *decoder) number(to **float64) error {
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return err
	case token.Kind() == '0':
		f, err := token.Float()
		*to = &f
		return err
	case token.Kind() != 'n':
		return d.expected("a number", token.Kind())
	}
	return nil
}

func (d *decoder) texts(to *[]string) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	return d.list(func() error {
		var text string
		err := d.text(&text)
		*to = append(*to, text)
		return err
	})
}

func (d *decoder) any(to *any) error {
	switch d.PeekKind() {
	case '{':
		m := map[string]any{}
		*to = m
		return d.object(func(name string) error {
			var v any
			err := d.any(&v)
			m[name] = v
			return err
		})
	case '[':
		var all []any
		err := d.list(func() error {
			var v any
			err := d.any(&v)
			all = append(all, v)
			return err
		})
		*to = all
		return err
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '"':
		*to = token.String()
	case '0':
		*to, err = token.Float()
	case 't', 'f':
		*to = token.Bool()
	}
	return err
}

func (d *decoder) document() error {
	return d.object(func(name string) error {
		switch name {
		case "openapi":
			return d.text(&d.spec.OpenAPI)
		case "swagger":
			d.swagger = true
			return d.text(&d.spec.OpenAPI)
		case "info":
			return d.info()
		case "servers":
			return d.servers()
		case "security":
			return d.security(&d.spec.Security)
		case "host":
			return d.text(&d.host)
		case "basePath":
			return d.text(&d.basePath)
		case "schemes":
			return d.texts(&d.schemes)
		case "consumes":
			return d.texts(&d.consumes)
		case "produces":
			return d.texts(&d.produces)
		case "securityDefinitions":
			return d.securitySchemes()
		case "paths":
			return d.object(d.path)
		case "definitions":
			return d.schemas()
		case "parameters":
			return d.object(func(name string) error {
				p, err := d.parameter()
				if err == nil {
					d.parameters["#/parameters/"+escape(name)] = p
				}
				return err
			})
		case "responses":
			return d.responses(nil)
		case "components":
			return d.object(d.component)
		}
		return d.SkipValue()
	})
}

func (d *decoder) info() error {
	d.spec.Info = &openapi3.Info{}
	return d.object(func(name string) error {
		switch name {
		case "title":
			return d.text(&d.spec.Info.Title)
		case "version":
			return d.text(&d.spec.Info.Version)
		case "description":
			return d.text(&d.spec.Info.Description)
		}
		return d.SkipValue()
	})
}

func (d *decoder) servers() error {
	return d.list(func() error {
		server := &openapi3.Server{Variables: map[string]*openapi3.ServerVariable{}}
		d.spec.Servers = append(d.spec.Servers, server)
		return d.object(func(name string) error {
			switch name {
			case "url":
				return d.text(&server.URL)
			case "variables":
				return d.object(func(variable string) error {
					v := &openapi3.ServerVariable{}
					server.Variables[variable] = v
					return d.object(func(name string) error {
						if name == "default" {
							return d.text(&v.Default)
						}
						return d.SkipValue()
					})
				})
			}
			return d.SkipValue()
		})
	})
}

func (d *decoder) security(to *openapi3.SecurityRequirements) error {
	all := openapi3.SecurityRequirements{}
	err := d.list(func() error {
		r := openapi3.SecurityRequirement{}
		all = append(all, r)
		return d.object(func(name string) error {
			scopes := []string{}
			err := d.texts(&scopes)
			r[name] = scopes
			return err
		})
	})
	*to = all
	return err
}

func (d *decoder) component(kind string) error {
	switch kind {
	case "schemas":
		return d.schemas()
	case "parameters":
		d.spec.Components.Parameters = openapi3.ParametersMap{}
		return d.object(func(name string) error {
			p, err := d.parameter()
			if err == nil {
				d.spec.Components.Parameters[name] = d.parameterRef(p)
			}
			return err
		})
	case "requestBodies":
		d.spec.Components.RequestBodies = openapi3.RequestBodies{}
		return d.object(func(name string) error {
			body, err := d.requestBody()
			d.spec.Components.RequestBodies[name] = body
			return err
		})
	case "responses":
		return d.responses(nil)
	case "securitySchemes":
		return d.securitySchemes()
	}
	return d.SkipValue()
}

func (d *decoder) securitySchemes() error {
	d.spec.Components.SecuritySchemes = openapi3.SecuritySchemes{}
	return d.object(func(name string) error {
		ref := &openapi3.SecuritySchemeRef{}
		d.spec.Components.SecuritySchemes[name] = ref
		s := &openapi3.SecurityScheme{}
		err := d.object(func(name string) error {
			switch name {
			case "$ref":
				return d.text(&ref.Ref)
			case "type":
				return d.text(&s.Type)
			case "scheme":
				return d.text(&s.Scheme)
			case "in":
				return d.text(&s.In)
			case "name":
				return d.text(&s.Name)
			case "description":
				return d.text(&s.Description)
			}
			return d.SkipValue()
		})
		if d.swagger && s.Type == "basic" {
			s.Type, s.Scheme = "http", "basic"
		}
		if ref.Ref != "" {
			ref.Ref = d.refersTo(ref.Ref, func() bool { return ref.Value != nil })
		} else {
			ref.Value = s
		}
		return err
	})
}

func (d *decoder) path(path string) error {
	item := &openapi3.PathItem{}
	d.spec.Paths.Set(path, item)
	var shared []*parameter
	first := len(d.operations)
	err := d.object(func(name string) error {
		switch name {
		case "$ref":
			err := d.text(&item.Ref)
			d.references = append(d.references, reference{item.Ref, d.place(), func() bool { return len(item.Operations())+len(item.Parameters) > 0 }})
			return err
		case "parameters":
			list, err := d.parameterList()
			shared = list
			return err
		}
		if slices.Contains(methods, name) {
			o, err := d.operation()
			item.SetOperation(strings.ToUpper(name), o)
			return err
		}
		return d.SkipValue()
	})
	for _, p := range shared {
		if d.swagger {
			// One of them may be the body of all.
			for i := first; i < len(d.operations); i++ {
				d.operations[i].parameters = append([]*parameter{p}, d.operations[i].parameters...)
			}
		} else {
			item.Parameters = append(item.Parameters, d.parameterRef(p))
		}
	}
	return err
}

func (d *decoder) operation() (*openapi3.Operation, error) {
	o := &openapi3.Operation{Responses: openapi3.NewResponsesWithCapacity(1)}
	var consumes, produces []string
	var list []*parameter
	// The forms may come after the responses.
	var answers []byte
	err := d.object(func(name string) error {
		switch name {
		case "operationId":
			return d.text(&o.OperationID)
		case "summary":
			return d.text(&o.Summary)
		case "description":
			return d.text(&o.Description)
		case "deprecated":
			return d.bool(&o.Deprecated)
		case "security":
			o.Security = &openapi3.SecurityRequirements{}
			return d.security(o.Security)
		case "consumes":
			return d.texts(&consumes)
		case "produces":
			return d.texts(&produces)
		case "parameters":
			var err error
			list, err = d.parameterList()
			return err
		case "requestBody":
			body, err := d.requestBody()
			o.RequestBody = body
			return err
		case "responses":
			if !d.swagger {
				return d.responses(o)
			}
			value, err := d.ReadValue()
			answers = bytes.Clone(value)
			return err
		case KubernetesKind:
			var about any
			err := d.any(&about)
			o.Extensions = map[string]any{KubernetesKind: about}
			return err
		}
		return d.SkipValue()
	})
	if err != nil {
		return o, err
	}
	if !d.swagger {
		for _, p := range list {
			o.Parameters = append(o.Parameters, d.parameterRef(p))
		}
		return o, nil
	}
	d.operations = append(d.operations, pending{o, list, consumes})
	if answers != nil {
		rest, at := d.Decoder, d.place()+".responses."
		d.Decoder, d.within = jsontext.NewDecoder(bytes.NewBuffer(answers), options...), at
		err = d.responses(o, produces)
		d.Decoder, d.within = rest, ""
	}
	return o, err
}

// finish makes the operations of a Swagger document whole.
func (d *decoder) finish() {
	if !d.swagger {
		return
	}
	for ref, p := range d.parameters {
		if p.body == nil && p.field == nil {
			if d.spec.Components.Parameters == nil {
				d.spec.Components.Parameters = openapi3.ParametersMap{}
			}
			d.spec.Components.Parameters[unescape(strings.TrimPrefix(ref, "#/parameters/"))] = d.parameterRef(p)
		}
	}
	for _, o := range d.operations {
		var fields []*parameter
		for _, p := range o.parameters {
			described := p
			for range 10 { // a parameter may refer to another
				if next := d.parameters[described.ref]; next != nil {
					described = next
				}
			}
			switch {
			case described.field != nil:
				fields = append(fields, described)
			case described.body != nil:
				o.RequestBody = &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{
					Required: described.Required, Content: d.contentOf(described.body, o.consumes, d.consumes),
				}}
			default:
				o.Parameters = append(o.Parameters, d.parameterRef(p))
			}
		}
		if len(fields) > 0 {
			o.RequestBody = form(fields, o.consumes, d.consumes)
		}
	}
	if d.host != "" || d.basePath != "" {
		u := url.URL{Path: d.basePath}
		if d.host != "" {
			u.Scheme, u.Host = "https", d.host
			if len(d.schemes) > 0 && !slices.Contains(d.schemes, "https") {
				u.Scheme = d.schemes[0]
			}
		}
		d.spec.Servers = openapi3.Servers{{URL: u.String()}}
	}
}
