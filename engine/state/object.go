package state

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi/property"
)

// object is the JSON form of a struct: one table both writes and reads it.
type object[T any] struct {
	// fields are in the order in which they are written.
	fields []field[T]
	byName map[string]int
	// unknown returns where members of other names are kept. If it is nil, they are skipped.
	unknown func(*T) *[]member
}

// field is one member of an object.
type field[T any] struct {
	name string
	// feature is the feature of the format to which the member belongs, see [Codec]; empty for none.
	feature string
	present func(*T) bool
	encode  func(*encoder, *T)
	decode  func(*decoder, *T) error
}

// form is the JSON form of the values of a field.
type form[V any] struct {
	// empty reports whether a value is left out; nil if none is.
	empty  func(*V) bool
	encode func(*encoder, *V)
	decode func(*decoder, *V) error
}

func newObject[T any](unknown func(*T) *[]member, fields ...field[T]) *object[T] {
	o := &object[T]{fields: fields, byName: make(map[string]int, len(fields)), unknown: unknown}
	for i, f := range fields {
		o.byName[f.name] = i
	}
	return o
}

func newField[T, V any](name string, at func(*T) *V, f form[V]) field[T] {
	return field[T]{
		name:    name,
		present: func(t *T) bool { return f.empty == nil || !f.empty(at(t)) },
		encode:  func(e *encoder, t *T) { f.encode(e, at(t)) },
		decode:  func(d *decoder, t *T) error { return f.decode(d, at(t)) },
	}
}

func (f field[T]) withFeature(feature string) field[T] {
	f.feature = feature
	return f
}

func (o *object[T]) encode(e *encoder, t *T) {
	e.open('{')
	for i := range o.fields {
		if f := &o.fields[i]; f.present(t) {
			e.push(property.Key(f.name))
			e.name(f.name)
			f.encode(e, t)
			e.pop()
		}
	}
	if o.unknown != nil {
		e.members(*o.unknown(t))
	}
	e.close('}')
}

func (o *object[T]) decode(d *decoder, t *T) error {
	err := d.object(func(name string) error {
		i, known := o.byName[name]
		switch {
		case !known && o.unknown == nil:
			return d.skip()
		case !known:
			return d.keep(name, o.unknown(t))
		}
		d.push(property.Key(name))
		err := o.fields[i].decode(d, t)
		d.pop()
		return err
	})
	if o.unknown != nil {
		sortMembers(*o.unknown(t))
	}
	return err
}

// always returns a form that leaves out no value.
func always[V any](f form[V]) form[V] {
	f.empty = nil
	return f
}

func reading[V any](read func(*decoder) (V, error)) func(*decoder, *V) error {
	return func(d *decoder, at *V) (err error) {
		*at, err = read(d)
		return err
	}
}

func text[S ~string]() form[S] {
	return form[S]{
		empty:  func(s *S) bool { return *s == "" },
		encode: func(e *encoder, s *S) { e.string(string(*s)) },
		decode: func(d *decoder, at *S) error {
			s, err := d.optionalString()
			*at = S(s)
			return err
		},
	}
}

func texts[S ~string]() form[[]S] {
	return form[[]S]{
		empty:  func(list *[]S) bool { return len(*list) == 0 },
		encode: func(e *encoder, list *[]S) { stringArray(&e.builder, *list) },
		decode: reading(func(d *decoder) ([]S, error) { return stringList[S](d.reader) }),
	}
}

func textsByKey[S ~string]() form[map[string][]S] {
	return form[map[string][]S]{
		empty: func(m *map[string][]S) bool { return len(*m) == 0 },
		encode: func(e *encoder, m *map[string][]S) {
			e.open('{')
			for _, key := range slices.Sorted(maps.Keys(*m)) {
				e.name(key)
				stringArray(&e.builder, (*m)[key])
			}
			e.close('}')
		},
		decode: func(d *decoder, at *map[string][]S) error {
			*at = map[string][]S{}
			return d.object(func(key string) (err error) {
				(*at)[key], err = stringList[S](d.reader)
				return err
			})
		},
	}
}

func list[T any](element *object[T]) form[[]T] {
	return form[[]T]{
		empty: func(list *[]T) bool { return len(*list) == 0 },
		encode: func(e *encoder, list *[]T) {
			e.open('[')
			for i := range *list {
				element.encode(e, &(*list)[i])
			}
			e.close(']')
		},
		decode: func(d *decoder, at *[]T) error {
			return d.array(func(int) error {
				var t T
				err := element.decode(d, &t)
				*at = append(*at, t)
				return err
			})
		},
	}
}

func optional[T comparable](value *object[T]) form[*T] {
	return form[*T]{
		empty: func(t **T) bool {
			var zero T
			return *t == nil || **t == zero
		},
		encode: func(e *encoder, t **T) { value.encode(e, *t) },
		decode: func(d *decoder, at **T) error {
			if d.null() {
				return nil
			}
			*at = new(T)
			return value.decode(d, *at)
		},
	}
}

var (
	flag = form[bool]{
		empty:  func(b *bool) bool { return !*b },
		encode: func(e *encoder, b *bool) { e.bool(*b) },
		decode: reading(func(d *decoder) (bool, error) { return d.optionalBool() }),
	}
	number = form[float64]{
		empty:  func(f *float64) bool { return *f == 0 },
		encode: func(e *encoder, f *float64) { e.number(*f) },
		decode: reading(func(d *decoder) (float64, error) { return d.number() }),
	}
	moment = form[time.Time]{
		empty:  func(t *time.Time) bool { return t.IsZero() },
		encode: func(e *encoder, t *time.Time) { e.string(t.Format(time.RFC3339Nano)) },
		decode: reading(func(d *decoder) (time.Time, error) { return d.time() }),
	}
	raw = form[json.RawMessage]{
		empty:  func(v *json.RawMessage) bool { return len(*v) == 0 },
		encode: func(e *encoder, v *json.RawMessage) { e.text(compact(string(*v))) },
		decode: reading(func(d *decoder) (json.RawMessage, error) { return d.raw() }),
	}
	properties = form[property.Map]{
		empty:  func(m *property.Map) bool { return m.Len() == 0 },
		encode: func(e *encoder, m *property.Map) { e.value(property.Object(*m)) },
		decode: reading(func(d *decoder) (property.Map, error) {
			m, signature, err := d.members()
			if err == nil && signature != "" {
				err = d.fail("the properties are a special value, not an object")
			}
			return m, err
		}),
	}
	propertyValue = form[property.Value]{
		empty:  func(v *property.Value) bool { return v.IsNull() },
		encode: func(e *encoder, v *property.Value) { e.value(*v) },
		decode: reading((*decoder).value),
	}
)
