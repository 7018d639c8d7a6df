// Package conversion makes values of a program fit a schema as Pulumi YAML does: text may stand for a number or a truth
// value, and a number or a truth value for text.
package conversion

import (
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program/source"
)

// Properties returns the properties as the schema has them. Values that cannot be converted stay as they are, for a check to
// refuse.
func Properties(o *schema.Object, m property.Map) property.Map {
	var converted []property.Entry
	for i, e := range m.Entries() {
		if p := o.Property(e.Key); p != nil {
			if v, changed := value(p.Type, e.Value); changed {
				converted = with(converted, m, i, v)
			}
		}
	}
	if converted == nil {
		return m
	}
	return property.SortedMap(converted)
}

// with sets the value of an entry in a copy of a map's entries, which it makes on first use.
func with(copied []property.Entry, of property.Map, i int, v property.Value) []property.Entry {
	if copied == nil {
		copied = slices.Clone(of.Entries())
	}
	copied[i].Value = v
	return copied
}

// value converts a value and its parts. Secrets stay secret, and outputs keep their dependencies.
func value(t *schema.Type, v property.Value) (converted property.Value, changed bool) {
	if t == nil {
		return v, false
	}
	switch v.Kind() {
	case property.KindSecret:
		inner, _ := v.AsSecret()
		if inner, changed = value(t, inner); changed {
			return property.Secret(inner), true
		}
	case property.KindOutput:
		o, _ := v.AsOutput()
		if o.Value, changed = value(t, o.Value); changed {
			return property.OutputOf(o), true
		}
	case property.KindArray:
		if t.Kind == schema.KindArray {
			return elements(t.Element, v)
		}
	case property.KindObject:
		return object(t, v)
	case property.KindString, property.KindNumber, property.KindBool:
		return scalar(t, v)
	}
	return v, false
}

func elements(t *schema.Type, v property.Value) (converted property.Value, changed bool) {
	given, _ := v.AsArray()
	out := given
	for i := range given {
		e, different := value(t, given[i])
		if !different {
			continue
		}
		if !changed {
			out, changed = slices.Clone(given), true
		}
		out[i] = e
	}
	if !changed {
		return v, false
	}
	return property.Array(out...), true
}

func object(t *schema.Type, v property.Value) (converted property.Value, changed bool) {
	given, _ := v.AsObject()
	var out []property.Entry
	for i, entry := range given.Entries() {
		element := t.Element
		switch {
		case t.Kind == schema.KindObject && t.Object != nil:
			p := t.Object.Property(entry.Key)
			if p == nil {
				continue
			}
			element = p.Type
		case t.Kind != schema.KindMap:
			return v, false
		}
		if e, different := value(element, entry.Value); different {
			out = with(out, given, i, e)
		}
	}
	if out == nil {
		return v, false
	}
	return property.Object(property.SortedMap(out)), true
}

// scalar converts text, a number, or a truth value. One of a union stays if an alternative takes it as it is.
func scalar(t *schema.Type, v property.Value) (converted property.Value, changed bool) {
	switch t.Kind {
	case schema.KindUnion:
		if slices.ContainsFunc(t.OneOf, func(one *schema.Type) bool { return takes(one, v) }) {
			return v, false
		}
		for _, one := range t.OneOf {
			if converted, changed = scalar(one, v); changed {
				return converted, true
			}
		}
	case schema.KindEnum:
		for _, allowed := range t.Values {
			if allowed.Kind() == v.Kind() {
				return v, false
			}
		}
		for _, allowed := range t.Values {
			if text(allowed) == text(v) {
				return allowed, true
			}
		}
	case schema.KindString:
		if v.Kind() != property.KindString {
			return property.String(text(v)), true
		}
	case schema.KindBool:
		if s, ok := v.AsString(); ok && (s == "true" || s == "false") {
			return property.Bool(s == "true"), true
		}
	case schema.KindNumber, schema.KindInteger:
		if s, ok := v.AsString(); ok && strings.Trim(s, "0123456789+-.eE") == "" {
			f, err := strconv.ParseFloat(s, 64) // one that is too large for a number is an error
			if n := property.Number(f); err == nil && (t.Kind == schema.KindNumber || n.IsInteger()) {
				return n, true
			}
		}
	}
	return v, false
}

// takes reports whether a type takes a value as it is.
func takes(t *schema.Type, v property.Value) bool {
	switch t.Kind {
	case schema.KindAny:
		return true
	case schema.KindString:
		return v.Kind() == property.KindString
	case schema.KindBool:
		return v.Kind() == property.KindBool
	case schema.KindNumber, schema.KindInteger:
		return v.Kind() == property.KindNumber
	case schema.KindEnum:
		return slices.ContainsFunc(t.Values, func(allowed property.Value) bool { return allowed.Kind() == v.Kind() })
	case schema.KindUnion:
		return slices.ContainsFunc(t.OneOf, func(one *schema.Type) bool { return takes(one, v) })
	}
	return false
}

// text is a scalar as Pulumi writes it.
func text(v property.Value) string {
	switch v.Kind() {
	case property.KindNumber:
		f, _ := v.AsNumber()
		return source.FormatNumber(f)
	case property.KindBool:
		b, _ := v.AsBool()
		return strconv.FormatBool(b)
	}
	s, _ := v.AsString()
	return s
}
