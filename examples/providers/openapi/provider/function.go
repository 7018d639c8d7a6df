package provider

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type function struct {
	client    *client
	operation *operation
	described schema.Function
	// args maps the names of arguments to parameters.
	args map[string]*openapi3.Parameter
	// path are the arguments in the path, in its order.
	path []string
	// whole is the property that holds an answer that is not an object; empty for objects.
	whole string
	// list is how further pages of a list are asked for; nil if the answer is all.
	list *pagination
}

// deriveFunctions makes functions of the GET operations that do not read resources.
func (a *api) deriveFunctions(all *paths, read map[*operation]bool) {
	taken := names{}
	var operations []*operation
	for _, byMethod := range all.all {
		if o := byMethod[http.MethodGet]; o != nil && !read[o] && o.response != nil && o.response.Value != nil {
			operations = append(operations, o)
		}
	}
	slices.SortFunc(operations, func(a, b *operation) int { return strings.Compare(a.path, b.path) })
	for _, o := range operations {
		f := &function{client: a.client, operation: o, args: map[string]*openapi3.Parameter{}}
		name := lowerCamel(wordsOf(o.OperationID))
		if name == "" {
			name = "get" + upperCamel(wordsOf(o.path))
		}
		name = taken.take(name)
		hint := upperCamel(wordsOf(name)) + "Result"

		m := merge(o.response.Value)
		var result []schema.Property
		if m.isObject() && len(m.properties) > 0 {
			result = a.types.properties(m, answered, hint)
		} else {
			f.whole = "value"
			if m.isArray() {
				f.whole = "items"
			}
			result = []schema.Property{{Name: f.whole, Type: a.types.typ(o.response, answered, hint), Required: true}}
		}
		f.list = paginationOf(o, result)
		f.described = schema.Function{
			Token: a.name + ":index:" + name, Description: firstOf(o.Description, o.Summary),
			Args: schema.Object{Properties: a.arguments(f)}, Result: schema.Object{Properties: result},
		}
		if o.Deprecated {
			f.described.Deprecation = "the service deprecates it"
		}
		a.functions = append(a.functions, f)
	}
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// arguments returns the parameters of the operation, without those for pages.
func (a *api) arguments(f *function) []schema.Property {
	var list []schema.Property
	taken := names{}
	for _, q := range pathParameters(f.operation.path) {
		p := f.operation.parameter(openapi3.ParameterInPath, q.name)
		if p == nil {
			p = &openapi3.Parameter{Name: q.name, In: openapi3.ParameterInPath}
		}
		name := taken.take(q.name, q.before+upperCamel(wordsOf(q.name)))
		described := a.parameterProperty(name, p)
		described.Required = true
		list = append(list, described)
		f.args[name] = p
		f.path = append(f.path, name)
	}
	for _, p := range f.operation.parameters {
		if p.In == openapi3.ParameterInPath || ownHeader(p) || f.list.takes(p) {
			continue
		}
		name := taken.take(p.Name, p.In+upperCamel(wordsOf(p.Name)))
		described := a.parameterProperty(name, p)
		described.Required = p.Required && !described.HasDefault()
		list = append(list, described)
		f.args[name] = p
	}
	slices.SortFunc(list, func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (f *function) call(ctx context.Context, args property.Map) (property.Map, error) {
	m := message{query: url.Values{}, header: http.Header{}}
	for _, name := range f.path {
		text, ok := textOf(args.Get(name))
		if !ok {
			return property.Map{}, guest.InvalidArgument(name, "it is part of the path, and must not be empty")
		}
		m.path = append(m.path, text)
	}
	for name, p := range f.args {
		if err := m.set(name, p, args.Get(name)); err != nil {
			return property.Map{}, err
		}
	}
	if f.list != nil {
		return f.pages(ctx, m)
	}
	got, err := f.client.send(ctx, f.operation, m)
	if err != nil {
		return property.Map{}, err
	}
	return f.result(got.body), nil
}

func (f *function) result(body property.Value) property.Map {
	if f.whole != "" {
		body = property.Object(property.NewMap(property.Entry{Key: f.whole, Value: body}))
	}
	object := schema.Type{Kind: schema.KindObject, Object: &f.described.Result}
	m, _ := fit(&object, body).AsObject()
	return m
}

// set sets a parameter in a query or header. Lists are written as the parameter says.
func (m *message) set(name string, p *openapi3.Parameter, v property.Value) error {
	if v.Plain().IsNull() || p.In == openapi3.ParameterInPath {
		return nil
	}
	if p.Style == styleDeep && p.In == openapi3.ParameterInQuery {
		raw, err := jsonOf(v)
		if err != nil {
			return guest.InvalidArgument(name, err.Error())
		}
		for _, f := range deepFields(p.Name, raw) {
			m.query.Add(f.name, f.text)
		}
		return nil
	}
	elements, isList := v.Plain().AsArray()
	if !isList {
		elements = []property.Value{v}
	}
	var texts []string
	for _, e := range elements {
		text, ok := textOf(e)
		if !ok {
			return guest.InvalidArgument(name, "only text, numbers, bools, and lists of them can be sent in a "+p.In)
		}
		texts = append(texts, text)
	}
	switch {
	case p.In == openapi3.ParameterInHeader:
		m.header.Set(p.Name, strings.Join(texts, ","))
	case p.Explode == nil && (p.Style == "" || p.Style == "form") || p.Explode != nil && *p.Explode:
		m.query[p.Name] = texts
	default:
		m.query.Set(p.Name, strings.Join(texts, separatorOf(p.Style)))
	}
	return nil
}
