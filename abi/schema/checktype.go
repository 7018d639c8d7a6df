package schema

import (
	"math"
	"slices"
	"strconv"

	"github.com/husk-dev/husk/abi/property"
)

// value checks a value of type t and keeps the wrappers around it.
func (c *checker) value(t *Type, v property.Value) (checked property.Value, same bool) {
	switch v.Kind() {
	case property.KindUnknown:
		return v, true
	case property.KindSecret:
		inner, _ := v.AsSecret()
		if inner, same = c.value(t, inner); same {
			return v, true
		}
		return property.Secret(inner), false
	case property.KindOutput:
		o, _ := v.AsOutput()
		if o.Value, same = c.value(t, o.Value); same {
			return v, true
		}
		return property.OutputOf(o), false
	}
	if c.fromProvider && v.IsNull() {
		return v, true
	}
	switch t.Kind {
	case KindBool, KindNumber, KindInteger:
		if c.coerce {
			if coerced := coerce(t, v); coerced.Kind() != v.Kind() {
				c.scalar(t, coerced)
				return coerced, false
			}
		}
	case KindString:
		if r, ok := v.AsReference(); ok && !c.fromProvider {
			return r.Text(), false
		}
	case KindArray:
		return c.array(t, v)
	case KindMap:
		return c.dictionary(t, v)
	case KindObject:
		m, ok := v.AsObject()
		if !ok {
			break
		}
		m, same = c.object(t.Object, m)
		if same {
			return v, true
		}
		return property.Object(m), false
	case KindUnion:
		return c.union(t, v)
	}
	c.scalar(t, v)
	return v, true
}

// scalar checks a value that is never changed.
func (c *checker) scalar(t *Type, v property.Value) {
	switch t.Kind {
	case KindBool:
		c.kind(t, v, property.KindBool)
	case KindNumber:
		c.kind(t, v, property.KindNumber)
	case KindString:
		c.kind(t, v, property.KindString)
	case KindInteger:
		if f, ok := v.AsNumber(); ok && !v.IsInteger() {
			c.fail("expected integer, got " + strconv.FormatFloat(f, 'g', -1, 64))
			return
		}
		c.kind(t, v, property.KindNumber)
	case KindObject:
		c.kind(t, v, property.KindObject)
	case KindEnum:
		if c.fromProvider && len(t.Values) > 0 {
			c.kind(t, v, t.Values[0].Kind())
			return
		}
		c.member(t.Values, v)
	case KindAsset:
		if v.Kind() != property.KindArchive {
			c.kind(t, v, property.KindAsset)
		}
	case KindArchive:
		c.kind(t, v, property.KindArchive)
	case KindResource:
		c.reference(t, v)
	}
}

func (c *checker) mismatch(t *Type, v property.Value) {
	if !c.full() {
		c.fail("expected " + t.String() + ", got " + v.Kind().String())
	}
}

func (c *checker) kind(t *Type, v property.Value, want property.Kind) {
	if v.Kind() != want {
		c.mismatch(t, v)
	}
}

func (c *checker) array(t *Type, v property.Value) (checked property.Value, same bool) {
	if t.Element.Kind == KindAny || v.Kind() != property.KindArray {
		c.kind(t, v, property.KindArray) // the elements are not looked at
		return v, true
	}
	elements, _ := v.AsArray()
	var changed []property.Value // nil while they are the given ones
	for i := range elements {
		c.enter(property.Index(i))
		element, same := c.value(t.Element, elements[i])
		c.leave()
		if same {
			continue
		}
		if changed == nil {
			changed = slices.Clone(elements)
		}
		changed[i] = element
	}
	if changed == nil {
		return v, true
	}
	return property.Array(changed...), false
}

func (c *checker) dictionary(t *Type, v property.Value) (checked property.Value, same bool) {
	if t.Element.Kind == KindAny || v.Kind() != property.KindObject {
		c.kind(t, v, property.KindObject) // the elements are not looked at
		return v, true
	}
	m, _ := v.AsObject()
	entries := m.Entries()
	var changed []property.Entry // nil while they are the given ones
	for i := range entries {
		c.enter(property.Key(entries[i].Key))
		value, same := c.value(t.Element, entries[i].Value)
		c.leave()
		if same {
			continue
		}
		if changed == nil {
			changed = slices.Clone(entries)
		}
		changed[i].Value = value
	}
	if changed == nil {
		return v, true
	}
	return property.Object(property.SortedMap(changed)), false
}

// union takes the first alternative that the value fits. A reference is a resource before it is the text of its ID. If none fits,
// it returns the failures of the alternative that was plainly meant.
func (c *checker) union(t *Type, v property.Value) (checked property.Value, same bool) {
	if v.Kind() == property.KindResourceReference && slices.ContainsFunc(t.OneOf, func(u *Type) bool { return acceptsReference(u, v) }) {
		return v, true
	}
	for _, alternative := range t.OneOf {
		if c.trials++; c.trials > maxTrials {
			c.fail("it has too many unions within unions to be checked")
			return v, true
		}
		trial := checker{path: slices.Clone(c.path), coerce: c.coerce, fromProvider: c.fromProvider, trials: c.trials}
		checked, same := trial.value(alternative, v)
		c.trials = trial.trials
		if len(trial.failures) == 0 {
			return checked, same
		}
	}
	if alternative := t.intended(v); alternative != nil {
		return c.value(alternative, v)
	}
	c.mismatch(t, v)
	return v, true
}

// intended returns the only alternative of a union that is an object, for an object. Of several, it is
// the one whose constants the value has.
func (t *Type) intended(v property.Value) *Type {
	m, ok := v.AsObject()
	if !ok {
		return nil
	}
	var objects, constant []*Type
	for _, alternative := range t.OneOf {
		if alternative.Kind == KindObject {
			objects = append(objects, alternative)
			if alternative.Object.constantsIn(m) {
				constant = append(constant, alternative)
			}
		}
	}
	switch {
	case len(objects) == 1:
		return objects[0]
	case len(constant) == 1:
		return constant[0]
	}
	return nil
}

// constantsIn reports whether o has constants, and m has all of them.
func (o *Object) constantsIn(m property.Map) bool {
	found := false
	for i := range o.Properties {
		if p := &o.Properties[i]; !p.Const.IsNull() {
			if v := m.Get(p.Name).Plain(); !sameScalar(&p.Const, &v) {
				return false
			}
			found = true
		}
	}
	return found
}

func (c *checker) member(allowed []property.Value, v property.Value) {
	for i := range allowed {
		if sameScalar(&allowed[i], &v) {
			return
		}
	}
	if !c.full() {
		c.fail("must be one of " + values(allowed))
	}
}

// coerce converts text to the bool or number that it stands for.
func coerce(t *Type, v property.Value) property.Value {
	s, ok := v.AsString()
	if !ok {
		return v
	}
	switch t.Kind {
	case KindBool:
		switch s {
		case "true":
			return property.Bool(true)
		case "false":
			return property.Bool(false)
		}
	case KindInteger, KindNumber:
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return property.Number(f)
		}
	}
	return v
}

func sameScalar(a, b *property.Value) bool {
	if property.KindIn(a) != property.KindIn(b) {
		return false
	}
	switch property.KindIn(a) {
	case property.KindBool:
		x, _ := property.BoolIn(a)
		y, _ := property.BoolIn(b)
		return x == y
	case property.KindNumber:
		x, _ := property.NumberIn(a)
		y, _ := property.NumberIn(b)
		return x == y
	case property.KindString:
		x, _ := property.StringIn(a)
		y, _ := property.StringIn(b)
		return property.EqualText(x, y)
	}
	return false
}

// values lists constants for a message.
func values(list []property.Value) string {
	var w writer
	for i, v := range list {
		if i > 0 {
			w.buf = append(w.buf, ", "...)
		}
		w.comma = false
		w.value(v)
	}
	return string(w.buf)
}
