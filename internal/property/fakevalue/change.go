package fakevalue

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// Change replaces a property's value by another that the schema allows, if there is one.
func Change(o *schema.Object, inputs property.Map, name string) (property.Map, bool) {
	p := o.Property(name)
	v, given := inputs.Lookup(name)
	if p == nil || !given || v.ContainsUnknowns() {
		return inputs, false
	}
	v, ok := changedProperty(p, v)
	return inputs.With(name, v), ok
}

func changedProperty(p *schema.Property, v property.Value) (property.Value, bool) {
	if !p.Const.IsNull() {
		return v, false
	}
	if len(p.OneOf) > 0 {
		return inWrapper(v, func(v property.Value) (property.Value, bool) { return nextOf(p.OneOf, v) })
	}
	return inWrapper(v, func(v property.Value) (property.Value, bool) {
		f, isNumber := v.AsNumber()
		switch {
		case !isNumber:
			return changedValue(p.Type, v)
		case p.Maximum == nil || f+1 <= *p.Maximum:
			return property.Number(f + 1), true
		case p.Minimum == nil || f-1 >= *p.Minimum:
			return property.Number(f - 1), true
		}
		return v, false
	})
}

// inWrapper changes the value inside of a secret or an output.
func inWrapper(v property.Value, change func(property.Value) (property.Value, bool)) (property.Value, bool) {
	if inner, ok := v.AsSecret(); ok {
		inner, ok = change(inner)
		return property.Secret(inner), ok
	}
	if o, ok := v.AsOutput(); ok {
		o.Value, ok = change(o.Value)
		return property.OutputOf(o), ok
	}
	return change(v)
}

// nextOf returns the value after v in a list. The first value follows the last.
func nextOf(list []property.Value, v property.Value) (property.Value, bool) {
	i := slices.IndexFunc(list, func(w property.Value) bool { return w.EqualContents(v) })
	if i < 0 || len(list) < 2 {
		return v, false
	}
	return list[(i+1)%len(list)], true
}

func changedValue(t *schema.Type, v property.Value) (property.Value, bool) {
	if t.Kind == schema.KindEnum {
		return nextOf(t.Values, v)
	}
	if t.Kind == schema.KindUnion {
		for _, alternative := range t.OneOf {
			if accepts(alternative, v) {
				return changedValue(alternative, v)
			}
		}
		return v, false
	}
	switch v.Kind() {
	case property.KindSecret, property.KindOutput:
		return inWrapper(v, func(v property.Value) (property.Value, bool) { return changedValue(t, v) })
	case property.KindBool:
		b, _ := v.AsBool()
		return property.Bool(!b), true
	case property.KindNumber:
		f, _ := v.AsNumber()
		return property.Number(f + 1), true
	case property.KindString:
		s, _ := v.AsString()
		return property.String(s + "x"), true
	case property.KindAsset:
		a, _ := v.AsAsset()
		return property.AssetOf(TextAsset(a.Text + "x")), a.Source == property.SourceText
	case property.KindArchive:
		return changedArchive(v)
	case property.KindArray:
		return changedArray(t, v)
	case property.KindObject:
		return changedObject(t, v)
	}
	return v, false
}

// changedArchive changes the first member of an archive that can be changed.
func changedArchive(v property.Value) (property.Value, bool) {
	a, _ := v.AsArchive()
	for name, member := range a.Assets.All() {
		if member, ok := changedValue(&schema.Type{Kind: schema.KindAny}, member); ok {
			return property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: a.Assets.With(name, member)}), true
		}
	}
	return v, false
}

func changedArray(t *schema.Type, v property.Value) (property.Value, bool) {
	elements, _ := v.AsArray()
	for i, e := range elements {
		if e, ok := changedValue(elementOf(t), e); ok {
			elements = slices.Clone(elements)
			elements[i] = e
			return property.Array(elements...), true
		}
	}
	return v, false
}

// changedObject changes the first property that can be changed.
func changedObject(t *schema.Type, v property.Value) (property.Value, bool) {
	m, _ := v.AsObject()
	for _, key := range m.Keys() {
		var e property.Value
		var ok bool
		if t.Kind == schema.KindObject {
			if p := t.Object.Property(key); p != nil {
				e, ok = changedProperty(p, m.Get(key))
			}
		} else {
			e, ok = changedValue(elementOf(t), m.Get(key))
		}
		if ok {
			return property.Object(m.With(key, e)), true
		}
	}
	return v, false
}

// elementOf returns the type of the elements of an array or map, or any if t has none.
func elementOf(t *schema.Type) *schema.Type {
	if t.Element != nil {
		return t.Element
	}
	return &schema.Type{}
}

// accepts reports whether a value fits a type.
func accepts(t *schema.Type, v property.Value) bool {
	o := schema.Object{Properties: []schema.Property{{Name: "value", Type: t}}}
	_, failures := o.Check(property.NewMap(property.Entry{Key: "value", Value: v}))
	return len(failures) == 0
}

// WrongFor returns a value that does not fit a type, and reports whether there is one. It is never
// text for a number or a number for text, because many providers convert these.
func WrongFor(t *schema.Type) (property.Value, bool) {
	list := property.Array(property.Bool(true))
	object := property.Object(property.NewMap(property.Entry{Key: "unheardOf", Value: list}))
	values := []property.Value{list, object, property.Bool(true)}
	if t.Kind == schema.KindArray || t.Kind == schema.KindMap || t.Kind == schema.KindObject {
		slices.Reverse(values)
	}
	for _, v := range values {
		if !accepts(t, v) {
			return v, true
		}
	}
	return property.Value{}, false
}

// OutOfRange returns a value of a property's type that its bounds or its list of values exclude.
func OutOfRange(p *schema.Property) (property.Value, bool) {
	t := p.Type
	switch {
	case p.Maximum != nil:
		return property.Number(*p.Maximum + 1), true
	case p.Minimum != nil:
		return property.Number(*p.Minimum - 1), true
	case len(p.OneOf) > 0:
		return notAmong(p.OneOf)
	case !p.Const.IsNull():
		return notAmong([]property.Value{p.Const})
	case t.Kind == schema.KindEnum:
		return notAmong(t.Values)
	}
	return property.Value{}, false
}

// notAmong returns a value of the listed values' kind that is not in the list.
func notAmong(list []property.Value) (property.Value, bool) {
	switch list[0].Kind() {
	case property.KindString:
		return property.String("none of the listed values"), true
	case property.KindNumber:
		most := 0.0
		for _, v := range list {
			f, _ := v.AsNumber()
			most = max(most, f)
		}
		return property.Number(most + 1), true
	}
	return property.Value{}, false
}
