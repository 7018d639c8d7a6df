package deploy

import (
	"slices"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

// Out is a value of a deployment: an input or output of a resource, a component, or the stack. The value may exist only when a
// child is made, may be unknown in a preview, and carries its dependencies and whether it is secret. It is
// passed on to inputs of children and to outputs; [Field], [Concat], and [Apply] compute others from it. The
// zero Out is null.
//
// T is the type in the schema: one of the types of fields, see package guest.
// Out[property.Value] is a value of any type.
type Out[T any] struct {
	_    [0]*T
	cell *eventual.Cell
}

// Source is an [Out] or a [Child].
type Source interface{ source() *eventual.Cell }

func (o Out[T]) source() *eventual.Cell { return o.cell }

// Props are inputs, arguments, or an object in them, with values of [ValueOf]; null means no value.
type Props map[string]any

// Known returns a value that is known already. See [ValueOf] for the types.
func Known[T any](v T) Out[T] { return Out[T]{cell: cellOf(v)} }

// ValueOf returns a value of any type. v may be nil, a bool, string, int, float64, []string,
// map[string]string, []any, [Props], an [Out], a [Child] (for a reference to it), or a Value, Map,
// Asset, Archive, or ResourceReference of package property. Other types fail when the value is used.
func ValueOf(v any) Out[property.Value] { return Out[property.Value]{cell: cellOf(v)} }

// As returns the value as one of type T. Another type is an error when the value is used.
func As[T any](from Source) Out[T] { return Out[T]{cell: from.source()} }

// Secret returns the value as a secret.
func Secret[T any](o Out[T]) Out[T] {
	return Out[T]{cell: derived([]*eventual.Cell{o.cell}, func(values []property.Value) (*eventual.Cell, error) {
		return eventual.Of(property.Secret(values[0])), nil
	})}
}

// Field returns the part at a path, for example privateKeyPem or subjects[0].name, of a value or of a
// child's outputs with "id" and "urn". A missing part is null, or unknown if it is an output of a
// child in a preview.
func Field[T any](from Source, path string) Out[T] {
	p, err := property.ParsePath(path)
	if err != nil {
		return Out[T]{cell: eventual.Failed(call.InvalidArgument(path, err.Error()))}
	}
	if child, ok := from.(*Child); ok {
		return Out[T]{cell: child.field(p)}
	}
	return Out[T]{cell: derived([]*eventual.Cell{from.source()}, func(values []property.Value) (*eventual.Cell, error) {
		v, _ := p.Get(values[0])
		return eventual.Of(v), nil
	})}
}

// All returns the values as one array.
func All(values ...any) Out[[]property.Value] {
	return Out[[]property.Value]{cell: cellOf(values)}
}

// Concat returns the parts, which are strings, numbers, and bools, as one text.
func Concat(parts ...any) Out[string] {
	return Apply(All(parts...), func(values []property.Value) (string, error) {
		var text []byte
		for _, v := range values {
			v = v.Plain()
			switch v.Kind() {
			case property.KindNull:
			case property.KindString:
				s, _ := v.AsString()
				text = append(text, s...)
			case property.KindNumber:
				f, _ := v.AsNumber()
				text = strconv.AppendFloat(text, f, 'f', -1, 64)
			case property.KindBool:
				b, _ := v.AsBool()
				text = strconv.AppendBool(text, b)
			default:
				return "", call.InvalidArgument("", "text cannot be made of a value of kind "+v.Kind().String())
			}
		}
		return string(text), nil
	})
}

// Apply returns the result of f for the value. f is lazy, and may declare children. If the value is
// unknown, f is not called, and the result is unknown. The result has the dependencies of the value,
// and is secret if any part of the value is.
//
// A may be a string, bool, int, float64, []string, map[string]string, or a Value, Map, or []Value of
// package property. B may be any type of [ValueOf].
func Apply[A, B any](from Out[A], f func(A) (B, error)) Out[B] {
	return Out[B]{cell: eventual.Computed([]*eventual.Cell{from.cell}, func(values []property.Value) (*eventual.Cell, error) {
		v := values[0]
		if v.ContainsUnknowns() {
			return eventual.Of(marked(property.Unknown, v)), nil
		}
		var a A
		if err := decode(v, &a); err != nil {
			return nil, err
		}
		b, err := f(a)
		if err != nil {
			return nil, err
		}
		return derived([]*eventual.Cell{cellOf(b)}, func(results []property.Value) (*eventual.Cell, error) {
			return eventual.Of(marked(results[0], v)), nil
		}), nil
	})}
}

// derived is eventual.Computed, and computes at once from cells with values.
func derived(sources []*eventual.Cell, compute func([]property.Value) (*eventual.Cell, error)) *eventual.Cell {
	c := eventual.Computed(sources, compute)
	c.Get()
	return c
}

// marked returns v as a value computed from another: with its dependencies, and secret if any part of it is.
func marked(v, from property.Value) property.Value {
	secret, dependencies := from.ContainsSecrets(), from.Dependencies()
	if !secret && len(dependencies) == 0 {
		return v
	}
	if len(dependencies) == 0 {
		return property.Secret(v)
	}
	return property.OutputOf(property.Output{Value: v, Secret: secret, Dependencies: dependencies})
}

// cellOf returns an author's value as a cell.
func cellOf(v any) *eventual.Cell {
	switch v := v.(type) {
	case nil:
		return nil
	case *Child:
		return v.reference()
	case Source:
		return v.source()
	case Props:
		return object(v)
	case map[string]any:
		return object(v)
	case []any:
		return arrayOf(v)
	case []Out[property.Value]:
		return arrayOf(v)
	case []Out[string]:
		return arrayOf(v)
	}
	value, err := plainValue(v)
	if err != nil {
		return eventual.Failed(err)
	}
	return eventual.Of(value)
}

func plainValue(v any) (property.Value, error) {
	switch v := v.(type) {
	case bool:
		return property.Bool(v), nil
	case string:
		return property.String(v), nil
	case int:
		return property.Number(float64(v)), nil
	case float64:
		return property.Number(v), nil
	case []string:
		elements := make([]property.Value, len(v))
		for i, s := range v {
			elements[i] = property.String(s)
		}
		return property.Array(elements...), nil
	case map[string]string:
		entries := make([]property.Entry, 0, len(v))
		for name, s := range v {
			entries = append(entries, property.Entry{Key: name, Value: property.String(s)})
		}
		return property.Object(property.NewMap(entries...)), nil
	case property.Value:
		return v, nil
	case []property.Value:
		return property.Array(v...), nil
	case property.Map:
		return property.Object(v), nil
	case property.Asset:
		return property.AssetOf(v), nil
	case property.Archive:
		return property.ArchiveOf(v), nil
	case property.ResourceReference:
		return property.Reference(v), nil
	}
	return property.Null, abi.NewError(abi.ErrorKindInternal, "no value can have this type of Go; see deploy.ValueOf")
}

func arrayOf[T any](values []T) *eventual.Cell {
	cells := make([]*eventual.Cell, len(values))
	for i, v := range values {
		cells[i] = cellOf(v)
	}
	return derived(cells, func(values []property.Value) (*eventual.Cell, error) {
		return eventual.Of(property.Array(values...)), nil
	})
}

func object(props map[string]any) *eventual.Cell {
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	slices.Sort(names)
	cells := make([]*eventual.Cell, len(names))
	for i, name := range names {
		cells[i] = cellOf(props[name])
	}
	return derived(cells, func(values []property.Value) (*eventual.Cell, error) {
		entries := make([]property.Entry, 0, len(names))
		for i, name := range names {
			if !values[i].Plain().IsNull() {
				entries = append(entries, property.Entry{Key: name, Value: values[i]})
			}
		}
		return eventual.Of(property.Object(property.NewMap(entries...))), nil
	})
}

// decode sets the variable to the value. The documentation of Apply lists the types of variables. Null gives its zero.
func decode(v property.Value, target any) error {
	switch target := target.(type) {
	case *property.Value:
		*target = v
		return nil
	case *[]property.Value: // its elements keep their wrappers
		*target, _ = v.Plain().AsArray()
		return nil
	}
	v = v.Unwrap()
	if v.IsNull() {
		return nil
	}
	ok := false
	switch target := target.(type) {
	case *string:
		*target, ok = v.AsString()
	case *bool:
		*target, ok = v.AsBool()
	case *float64:
		*target, ok = v.AsNumber()
	case *int:
		f, _ := v.AsNumber()
		*target, ok = int(f), v.IsInteger()
	case *property.Map:
		*target, ok = v.AsObject()
	case *[]string:
		var elements []property.Value
		elements, ok = v.AsArray()
		for _, e := range elements {
			s, isString := e.AsString()
			*target, ok = append(*target, s), ok && isString
		}
	case *map[string]string:
		var m property.Map
		m, ok = v.AsObject()
		*target = make(map[string]string, m.Len())
		for name, e := range m.All() {
			s, isString := e.AsString()
			(*target)[name], ok = s, ok && isString
		}
	}
	if !ok {
		return abi.NewError(abi.ErrorKindInternal, "another type is expected than "+v.Kind().String())
	}
	return nil
}
