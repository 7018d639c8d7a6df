package provider

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func (r *resource) message(o *operation, values []string, known property.Map) (message, error) {
	m := message{path: values, query: url.Values{}, header: http.Header{}}
	if o.takesKey() {
		key, ok := textOf(known.Get(keyInput))
		if !ok || o != r.create || !r.keyed {
			key = newKey()
		}
		m.header.Set(keyHeader, key)
	}
	for _, p := range r.asked {
		if o.parameter(p.In, p.Name) == nil {
			continue
		}
		text, ok := textOf(known.Get(p.Name))
		switch {
		case !ok:
			return m, guest.InvalidArgument(p.Name, o.method+" "+o.path+" needs it, and it is not known")
		case p.In == openapi3.ParameterInQuery:
			m.query.Set(p.Name, text)
		default:
			m.header.Set(p.Name, text)
		}
	}
	return m, nil
}

func (r *resource) body(names map[string]bool, inputs property.Map) (map[string]any, error) {
	body := map[string]any{}
	for name := range names {
		v := inputs.Get(name)
		if v.Plain().IsNull() {
			continue
		}
		value, err := jsonOf(v)
		if err != nil {
			return nil, guest.InvalidArgument(name, err.Error())
		}
		body[r.field(name)] = value
	}
	return body, nil
}

// pathValues returns the values in the path that a program gives.
func (r *resource) pathValues(inputs property.Map) ([]string, error) {
	names := r.parents
	if r.chosen != "" {
		names = append(names[:len(names):len(names)], r.chosen)
	}
	var values []string
	for _, name := range names {
		text, ok := textOf(inputs.Get(name))
		if !ok || text == "" {
			return nil, guest.InvalidArgument(name, "it is part of the path, and must not be empty")
		}
		values = append(values, text)
	}
	return values, nil
}

// lastValue returns the last value in the path of a new resource: from the response, the header
// Location, or the program; empty for none.
func (r *resource) lastValue(made *answer, inputs property.Map) string {
	if m, ok := r.open(made.body).AsObject(); ok && r.idField != "" {
		if text, ok := textOf(m.Get(r.idField)); ok && text != "" {
			return text
		}
	}
	if location, err := url.Parse(made.header.Get("Location")); err == nil && location.Path != "" {
		path := strings.TrimRight(location.EscapedPath(), "/")
		if text, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:]); err == nil && text != "" {
			return text
		}
	}
	text, _ := textOf(inputs.Get(r.idField))
	return text
}

// idOf returns the ID of the resource with values in its path. Several values are escaped as in a path.
func idOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = url.PathEscape(v)
	}
	return strings.Join(escaped, "/")
}

// valuesOf returns the values in the path of the resource with the ID.
func (r *resource) valuesOf(id string) ([]string, error) {
	if len(r.parents) == 0 {
		return []string{id}, nil
	}
	values := strings.Split(id, "/")
	names := make([]string, 0, len(r.parents)+1)
	for _, name := range r.parents {
		names = append(names, "<"+name+">")
	}
	names = append(names, "<"+r.last+">")
	if len(values) != len(names) {
		return nil, guest.InvalidArgument("", "the ID of a "+r.described.Token+" is "+strings.Join(names, "/")+", not \""+id+"\"")
	}
	for i := range values {
		text, err := url.PathUnescape(values[i])
		if err != nil {
			return nil, guest.InvalidArgument("", "the ID \""+id+"\": "+err.Error())
		}
		values[i] = text
	}
	return values, nil
}
