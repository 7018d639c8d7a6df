package provider

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// message returns the message of an operation on the resource with values in its path; known are its inputs or its state,
// and latest is the last answer about it, null if it is not needed.
func (r *resource) message(o *operation, values []string, known property.Map, latest property.Value) (message, error) {
	m := message{query: url.Values{}, header: http.Header{}, gone: o.gone}
	for at, v := range r.path {
		if o != r.create && o.parameter(openapi3.ParameterInQuery, v.parameter) != nil {
			m.query.Set(v.parameter, values[at])
		}
		if o != r.create && r.inBody(o, v.parameter) {
			if m.body == nil {
				m.body = map[string]any{}
			}
			m.body[v.parameter] = values[at]
		}
	}
	for i, q := range pathParameters(o.path) {
		if at := r.indexOf(o, i, q.name); at >= 0 {
			m.path = append(m.path, values[at])
			continue
		}
		text, ok := textOf(known.Get(r.outside(q)))
		if !ok || text == "" {
			return m, guest.InvalidArgument(r.outside(q), o.name()+" needs it, and it is not known")
		}
		m.path = append(m.path, text)
	}
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
		v := known.Get(p.Name)
		if p.source != nil {
			v = p.source.in(latest)
		}
		text, ok := textOf(v)
		switch {
		case !ok && !p.Required:
		case !ok:
			return m, guest.InvalidArgument(p.Name, o.name()+" needs it, and it is not known")
		case p.In == openapi3.ParameterInQuery:
			m.query.Set(p.Name, text)
		default:
			m.header.Set(p.Name, text)
		}
	}
	return m, nil
}

// indexOf returns the value in the path of read that a parameter of an operation is: by its name, or because the paths are
// the same up to there but for names. It returns -1 for none.
func (r *resource) indexOf(o *operation, i int, name string) int {
	for at, p := range r.identifiers() {
		if p.name == name {
			return at
		}
	}
	all := pathParameters(r.read.path)
	if i < len(all) && pathShape(upTo(o.path, i)) == pathShape(upTo(r.read.path, i)) {
		return i
	}
	return -1
}

// inBody reports whether the body of an operation, and not its path, has the parameter that says which one it is about.
func (r *resource) inBody(o *operation, name string) bool {
	return hasBody(o) && merge(o.body.Value).properties[name] != nil &&
		!slices.ContainsFunc(pathParameters(o.path), func(q pathParameter) bool { return q.name == name }) &&
		slices.ContainsFunc(r.identifiers(), func(q pathParameter) bool { return q.name == name })
}

// upTo returns a path up to its i-th parameter.
func upTo(path string, i int) string {
	end := 0
	for ; i >= 0; i-- {
		end += strings.IndexByte(path[end:], '}') + 1
	}
	return path[:end]
}

// outside returns the property of a parameter that is not in the path of read.
func (r *resource) outside(q pathParameter) string {
	if reserved(q.name) {
		return q.before + upperCamel(wordsOf(q.name))
	}
	return q.name
}

// needsLatest reports whether an operation sends something that an answer before it has, such as a version.
func (r *resource) needsLatest(o *operation) bool {
	return slices.ContainsFunc(r.asked, func(p asked) bool { return p.source != nil && o.parameter(p.In, p.Name) != nil })
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

// given returns the values in the path that a program gives, "" for the others.
func (r *resource) given(inputs property.Map) ([]string, error) {
	values := make([]string, len(r.path))
	for i, v := range r.path {
		if v.input == nil {
			continue
		}
		text, ok := textOf(v.input.in(property.Object(inputs)))
		if !ok || text == "" {
			return nil, guest.InvalidArgument(v.input.String(), "it is part of the path, and must not be empty")
		}
		values[i] = text
	}
	return values, nil
}

// chosen reports whether the program chooses all of the path.
func (r *resource) chosen() bool {
	return !slices.ContainsFunc(r.path, func(v pathValue) bool { return v.input == nil })
}

// identify adds the values in the path that the service has chosen: from the answer, the header Location, or the inputs.
// It returns the parameter for which there is none, "" if there are all.
func (r *resource) identify(values []string, made *answer, inputs property.Map) (missing string) {
	answered := r.open(made.body)
	for i, v := range r.path {
		if values[i] != "" {
			continue
		}
		last := i == len(r.path)-1
		values[i] = v.made.text(answered)
		if values[i] == "" {
			values[i] = v.made.text(made.body)
		}
		if values[i] == "" {
			values[i] = v.found.text(answered)
		}
		if location, err := url.Parse(made.header.Get("Location")); values[i] == "" && last && err == nil && location.Path != "" {
			path, _ := cutExtension(location.EscapedPath())
			values[i], _ = url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
		}
		if values[i] == "" {
			values[i] = v.found.text(property.Object(inputs))
		}
		if values[i] == "" {
			return v.parameter
		}
	}
	return ""
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
	if len(r.path) == 1 {
		return []string{id}, nil
	}
	values := strings.Split(id, "/")
	names := make([]string, 0, len(r.path))
	for _, v := range r.path {
		name := v.parameter
		if v.property != "" {
			name = v.property
		}
		names = append(names, "<"+name+">")
	}
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
