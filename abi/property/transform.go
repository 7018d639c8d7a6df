package property

import "slices"

// Transform returns v with f applied to each part and then to v: f gets containers and wrappers with
// transformed parts. Assets and archives have no parts. Unchanged values are not copied.
func (v Value) Transform(f func(Value) Value) Value {
	t := transform{f: func(_ Path, v Value) (Value, error) { return f(v), nil }}
	out, _ := t.value(v)
	return out
}

// Transform returns m with f applied to each value and its parts, see Value.Transform.
func (m Map) Transform(f func(Value) Value) Map {
	t := transform{f: func(_ Path, v Value) (Value, error) { return f(v), nil }}
	out, _ := t.entries(m)
	return out
}

// TransformPaths is Transform for functions that need the path of a value, or that can fail; the
// first error ends it. A secret or output has the path of its contents. The path is valid during the
// call only.
func (v Value) TransformPaths(f func(Path, Value) (Value, error)) (Value, error) {
	t := transform{f: f}
	return t.value(v)
}

// TransformPaths is Value.TransformPaths for each value of m.
func (m Map) TransformPaths(f func(Path, Value) (Value, error)) (Map, error) {
	t := transform{f: f}
	return t.entries(m)
}

type transform struct {
	f    func(Path, Value) (Value, error)
	path Path
}

func (t *transform) value(v Value) (Value, error) {
	switch v.kind {
	case KindArray:
		elements := v.elements()
		changed, err := t.elements(elements)
		if err != nil {
			return Value{}, err
		}
		if changed != nil {
			v = Array(changed...)
		}
	case KindObject:
		m, err := t.entries(v.object())
		if err != nil {
			return Value{}, err
		}
		v = Object(m)
	case KindSecret:
		given := v.ref.(*Value)
		inner, err := t.value(*given)
		if err != nil {
			return Value{}, err
		}
		if !identical(&inner, given) {
			v = Secret(inner)
		}
	case KindOutput:
		o := *v.ref.(*Output)
		inner, err := t.value(o.Value)
		if err != nil {
			return Value{}, err
		}
		if !identical(&inner, &o.Value) {
			o.Value = inner
			v = OutputOf(o)
		}
	}
	return t.f(t.path, v)
}

// identical reports whether v is an unchanged w. Equal values in different places are not identical.
func identical(v, w *Value) bool {
	return v.kind == w.kind && v.num == w.num && v.ref == w.ref && v.str == w.str
}

// at applies the function to the part of a value that s leads to.
func (t *transform) at(s Segment, v Value) (Value, error) {
	t.path = append(t.path, s)
	v, err := t.value(v)
	t.path = t.path[:len(t.path)-1]
	return v, err
}

// elements returns the transformed elements, nil if nothing has changed.
func (t *transform) elements(elements []Value) (changed []Value, err error) {
	for i := range elements {
		v, err := t.at(Index(i), elements[i])
		if err != nil {
			return nil, err
		}
		if changed == nil && !identical(&v, &elements[i]) {
			changed = slices.Clone(elements)
		}
		if changed != nil {
			changed[i] = v
		}
	}
	return changed, nil
}

// entries returns the transformed map, m itself if nothing has changed.
func (t *transform) entries(m Map) (Map, error) {
	entries := m.Entries()
	var changed []Entry
	for i := range entries {
		v, err := t.at(Key(entries[i].Key), entries[i].Value)
		if err != nil {
			return Map{}, err
		}
		if changed == nil && !identical(&v, &entries[i].Value) {
			changed = slices.Clone(entries)
		}
		if changed != nil {
			changed[i].Value = v
		}
	}
	if changed == nil {
		return m, nil
	}
	return SortedMap(changed), nil
}

// Lower returns v for a receiver that does not understand values of these kinds: secrets, outputs,
// resource references, or unknowns. A secret becomes its contents, an output its value (as a secret
// if it is one), a reference its text, and an unknown null. If secrets are lowered, outputs lose
// that mark, too.
func (v Value) Lower(kinds ...Kind) Value {
	var lowered kindSet
	for _, k := range kinds {
		lowered |= 1 << k
	}
	if lowered == 0 || !v.contains(lowered.concerns) {
		return v
	}
	return v.Transform(lowered.lower)
}

// Lower is Value.Lower for the values of m.
func (m Map) Lower(kinds ...Kind) Map {
	lowered, _ := Object(m).Lower(kinds...).AsObject()
	return lowered
}

// kindSet has a bit for each kind.
type kindSet uint16

func (s kindSet) has(k Kind) bool { return s>>k&1 != 0 }

// concerns reports whether lowering changes v itself.
func (s kindSet) concerns(v Value) bool {
	return s.has(v.kind) || v.kind == KindOutput && s.has(KindSecret) && v.ref.(*Output).Secret
}

func (s kindSet) lower(v Value) Value {
	if !s.concerns(v) {
		return v
	}
	switch v.kind {
	case KindSecret:
		return *v.ref.(*Value)
	case KindResourceReference:
		return v.ref.(*ResourceReference).Text()
	case KindUnknown:
		return Null
	case KindOutput:
		o := *v.ref.(*Output)
		o.Secret = o.Secret && !s.has(KindSecret)
		switch {
		case !s.has(KindOutput):
			return OutputOf(o)
		case o.Secret:
			return Secret(o.Value)
		}
		return o.Value
	}
	return v
}
