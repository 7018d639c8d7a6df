package fakevalue

import (
	"iter"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// Shrink iterates over inputs with one property, element, or entry less.
func Shrink(o *schema.Object, inputs property.Map) iter.Seq[property.Map] {
	return func(yield func(property.Map) bool) {
		for _, name := range inputs.Keys() {
			if p := o.Property(name); p == nil || !p.Required || p.HasDefault() {
				if !yield(inputs.Without(name)) {
					return
				}
			}
		}
		for _, name := range inputs.Keys() {
			for v := range shrinkValue(o.Property(name), inputs.Get(name)) {
				if !yield(inputs.With(name, v)) {
					return
				}
			}
		}
	}
}

func shrinkValue(p *schema.Property, v property.Value) iter.Seq[property.Value] {
	return func(yield func(property.Value) bool) {
		wrap := func(v property.Value) property.Value { return v }
		if v.IsSecret() {
			wrap = property.Secret
		}
		if elements, ok := v.Plain().AsArray(); ok && len(elements) > 1 {
			yield(wrap(property.Array(elements[:1]...)))
			return
		}
		m, ok := v.Plain().AsObject()
		if !ok {
			return
		}
		for _, key := range m.Keys() {
			if p != nil && p.Type.Kind == schema.KindObject {
				if inner := p.Type.Object.Property(key); inner != nil && inner.Required {
					continue
				}
			}
			if !yield(wrap(property.Object(m.Without(key)))) {
				return
			}
		}
	}
}
