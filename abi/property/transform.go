package property

// Transform returns v with f applied to it and each of its parts, from the inside
// out: f gets an array, object, secret, or output whose parts it has already seen.
// Assets and archives have no parts.
func (v Value) Transform(f func(Value) Value) Value {
	t := transform{f: func(_ Path, v Value) (Value, error) { return f(v), nil }}
	out, _ := t.value(v)
	return out
}

// Transform returns m with f applied to each value and its parts, see
// Value.Transform.
func (m Map) Transform(f func(Value) Value) Map {
	t := transform{f: func(_ Path, v Value) (Value, error) { return f(v), nil }}
	out, _ := t.entries(m)
	return out
}

// TransformPaths is Transform for functions that need to know where a value is, or
// that can fail; the first error ends it. A secret or output has the path of the
// value in it. The path is valid during the call: copy it to keep it.
func (v Value) TransformPaths(f func(Path, Value) (Value, error)) (Value, error) {
	t := transform{f: f}
	return t.value(v)
}

// TransformPaths is Transform for functions that need to know where a value is, or
// that can fail, see Value.TransformPaths.
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
		elements, err := t.elements(v.elements())
		if err != nil {
			return Value{}, err
		}
		v = Array(elements...)
	case KindObject:
		m, err := t.entries(v.object())
		if err != nil {
			return Value{}, err
		}
		v = Object(m)
	case KindSecret:
		inner, err := t.value(*v.ref.(*Value))
		if err != nil {
			return Value{}, err
		}
		v = Secret(inner)
	case KindOutput:
		o := *v.ref.(*Output)
		inner, err := t.value(o.Value)
		if err != nil {
			return Value{}, err
		}
		o.Value = inner
		v = OutputOf(o)
	}
	return t.f(t.path, v)
}

// at applies the function to the part of a value that s leads to.
func (t *transform) at(s Segment, v Value) (Value, error) {
	t.path = append(t.path, s)
	v, err := t.value(v)
	t.path = t.path[:len(t.path)-1]
	return v, err
}

func (t *transform) elements(elements []Value) ([]Value, error) {
	out := make([]Value, len(elements))
	for i, e := range elements {
		var err error
		if out[i], err = t.at(Index(i), e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *transform) entries(m Map) (Map, error) {
	entries := m.Entries()
	out := make([]Entry, len(entries))
	for i, e := range entries {
		v, err := t.at(Key(e.Key), e.Value)
		if err != nil {
			return Map{}, err
		}
		out[i] = Entry{e.Key, v}
	}
	return SortedMap(out), nil
}
