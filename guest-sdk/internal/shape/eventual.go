package shape

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// eventualType returns the T of a deploy.Out[T], a struct of a [0]*T and a cell; nil for other types.
func eventualType(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct || t.NumField() != 2 || t.Field(1).Type != reflect.TypeFor[*eventual.Cell]() {
		return nil
	}
	return t.Field(0).Type.Elem().Elem()
}

// output loads the contents of an output, whose parts have its dependencies, too.
func (l *loader) output(s *Shape, v property.Value, target unsafe.Pointer) {
	around := l.around
	if o, ok := v.AsOutput(); ok {
		l.around = slices.Concat(around, o.Dependencies)
	}
	switch {
	case s.kind != kindEventual:
		l.value(s, property.PlainIn(&v), target)
	case len(l.around) > 0:
		*(**eventual.Cell)(target) = eventual.Of(property.OutputOf(property.Output{Value: v, Dependencies: l.around}))
	default:
		*(**eventual.Cell)(target) = eventual.Of(v)
	}
	l.around = around
}

// eventual returns the value of a cell, or null if it has none yet. The outputs are stored again when all
// children exist.
func (st *storer) eventual(c *eventual.Cell) property.Value {
	v, _, err := c.Get()
	if err != nil && st.err == nil {
		e := *abi.AsError(err)
		if e.Path == "" {
			e.Path = st.path.String()
		}
		st.err = &e
	}
	return v
}

// Secret finds a secret in the properties that a variable of the shape cannot hold, because its field
// is of an ordinary type.
func (s *Shape) Secret(m property.Map) (path property.Path, found bool) {
	return s.opaque(m, isSecret, property.Value.ContainsSecrets)
}

// Unknown is Secret for parts that are unknown.
func (s *Shape) Unknown(m property.Map) (path property.Path, found bool) {
	return s.opaque(m, func(v property.Value) bool { return v.Plain().IsUnknown() }, property.Value.ContainsUnknowns)
}

func isSecret(v property.Value) bool {
	o, _ := v.AsOutput()
	return v.IsSecret() || o.Secret
}

func (s *Shape) opaque(m property.Map, is, contains func(property.Value) bool) (path property.Path, found bool) {
	o := opaque{is: is, contains: contains}
	found = o.value(s, property.Object(m))
	return o.path, found
}

// opaque searches a value and its parts, and leaves the path at what it found.
type opaque struct {
	path         property.Path
	is, contains func(property.Value) bool
}

func (o *opaque) value(s *Shape, v property.Value) bool {
	switch s.kind {
	case kindEventual, kindValue:
		return false
	case kindPointer:
		return o.value(s.element, v)
	}
	if o.is(v) {
		return true
	}
	plain := v.Plain()
	m, isObject := plain.AsObject()
	elements, isArray := plain.AsArray()
	switch {
	case isObject && s.kind == kindStruct:
		for i := range s.fields {
			f := &s.fields[i]
			if o.inside(f.shape, property.Key(f.name), m.Get(f.name)) {
				return true
			}
		}
		return false
	case isObject && s.kind == kindMap:
		for name, e := range m.All() {
			if o.inside(s.element, property.Key(name), e) {
				return true
			}
		}
		return false
	case isArray && s.kind == kindSlice:
		for i, e := range elements {
			if o.inside(s.element, property.Index(i), e) {
				return true
			}
		}
		return false
	}
	return o.contains(v)
}

func (o *opaque) inside(s *Shape, at property.Segment, v property.Value) bool {
	o.path = append(o.path, at)
	if o.value(s, v) {
		return true
	}
	o.path = o.path[:len(o.path)-1]
	return false
}
