package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
)

// fieldPath leads to a value in an answer or in inputs: metadata, name. A number is an index.
type fieldPath []string

func fieldPathOf(text string) fieldPath {
	if text == "" {
		return nil
	}
	return strings.Split(text, ".")
}

func (p fieldPath) String() string { return strings.Join(p, ".") }

// in returns the value at the path, null if there is none.
func (p fieldPath) in(v property.Value) property.Value {
	for _, name := range p {
		v = v.Plain()
		if m, ok := v.AsObject(); ok {
			v = m.Get(name)
			continue
		}
		list, ok := v.AsArray()
		i, err := strconv.Atoi(name)
		if !ok || err != nil || i < 0 || i >= len(list) {
			return property.Null
		}
		v = list[i]
	}
	return v
}

// text returns the scalar at the path, empty for none.
func (p fieldPath) text(v property.Value) string {
	if p == nil {
		return ""
	}
	text, _ := textOf(p.in(v))
	return text
}

// schema returns the schema at the path, nil if there is none.
func (p fieldPath) schema(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	for _, name := range p {
		if ref == nil || ref.Value == nil {
			return nil
		}
		m := merge(ref.Value)
		if inner := m.properties[name]; inner != nil {
			ref = inner
		} else if _, err := strconv.Atoi(name); err == nil && m.isArray() {
			ref = m.Items
		} else {
			ref = m.further
		}
	}
	return ref
}

// nesting are objects that hold the identity of a resource in some services.
var nesting = []string{"metadata", "meta"}

// idPath returns the path of a property with the value of a parameter: petId, id, or name for petName, or one of these in the metadata.
// It returns nil if the object has none.
func idPath(ref *openapi3.SchemaRef, parameter, resource string, last bool) fieldPath {
	if ref == nil || ref.Value == nil {
		return nil
	}
	m := merge(ref.Value)
	if name := idField(m, parameter, resource, last); name != "" {
		return fieldPath{name}
	}
	for _, outer := range nesting {
		if inner := m.properties[outer]; inner != nil && inner.Value != nil {
			if name := idField(merge(inner.Value), parameter, resource, last); name != "" {
				return fieldPath{outer, name}
			}
		}
	}
	return nil
}

func idField(m *merged, parameter, resource string, last bool) string {
	names := make([]string, 0, len(m.properties))
	for name, p := range m.properties {
		switch inner := merge(p.Value); {
		case inner.isObject(), inner.isArray():
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	words := wordsOf(resource)
	tests := []func(string) bool{
		func(name string) bool { return name == parameter },
		func(name string) bool { return sameName(name, parameter) },
	}
	if last {
		tests = append(tests,
			func(name string) bool { return len(words) > 0 && sameName(words[len(words)-1]+" "+name, parameter) },
			func(name string) bool { return strings.EqualFold(name, "id") },
			func(name string) bool { return len(words) > 0 && sameName(name, words[len(words)-1]+" id") },
		)
	}
	for _, same := range tests {
		if i := slices.IndexFunc(names, same); i >= 0 {
			return names[i]
		}
	}
	return ""
}

// stuck returns the paths in a wanted value where the service still has the former value.
func stuck(want, was, now property.Value, at string) []string {
	want, was, now = want.Plain(), was.Plain(), now.Plain()
	if m, ok := want.AsObject(); ok {
		before, wasObject := was.AsObject()
		after, isObject := now.AsObject()
		if wasObject && isObject {
			var list []string
			for name, part := range m.All() {
				list = append(list, stuck(part, before.Get(name), after.Get(name), at+"."+name)...)
			}
			slices.Sort(list)
			return list
		}
	}
	if want.IsNull() || now.EqualContents(want) || project(want, now).EqualContents(want) || !now.EqualContents(was) || now.IsNull() {
		return nil
	}
	return []string{at}
}

// filled returns the part of a value that a PUT sends: the given part, and in objects the service's choices for parts that were
// never given.
func filled(given, before, state property.Value) property.Value {
	if inner, ok := given.AsSecret(); ok {
		return property.Secret(filled(inner, before.Plain(), state.Plain()))
	}
	m, ok := given.AsObject()
	actual, isObject := state.Plain().AsObject()
	if !ok || !isObject {
		return given
	}
	old, _ := before.Plain().AsObject()
	for name, v := range actual.All() {
		switch {
		case m.Has(name):
			m = m.With(name, filled(m.Get(name), old.Get(name), v))
		case !old.Has(name):
			m = m.With(name, v)
		}
	}
	return property.Object(m)
}

// mergePatch returns the patch (RFC 7396) that turns one value into another: null for removed parts.
func mergePatch(now, before property.Value) property.Value {
	m, ok := now.Plain().AsObject()
	old, wasObject := before.Plain().AsObject()
	if !ok || !wasObject {
		return now
	}
	patch := property.Map{}
	for name, v := range m.All() {
		patch = patch.With(name, mergePatch(v, old.Get(name)))
	}
	for name := range old.All() {
		if !m.Has(name) {
			patch = patch.With(name, property.Null)
		}
	}
	return property.Object(patch)
}
