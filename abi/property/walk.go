package property

import "slices"

// ContainsUnknowns reports whether v or a part of it is unknown.
func (v Value) ContainsUnknowns() bool { return v.contains(KindUnknown) }

// ContainsSecrets reports whether v or a part of it is secret.
func (v Value) ContainsSecrets() bool { return v.contains(KindSecret) }

// ContainsUnknowns reports whether a property of m or a part of one is unknown.
func (m Map) ContainsUnknowns() bool { return m.contains(KindUnknown) }

// ContainsSecrets reports whether a property of m or a part of one is secret.
func (m Map) ContainsSecrets() bool { return m.contains(KindSecret) }

func (v Value) contains(kind Kind) bool {
	if v.kind == kind {
		return true
	}
	switch x := v.ref.(type) {
	case []Value:
		return slices.ContainsFunc(x, func(e Value) bool { return e.contains(kind) })
	case Map:
		return x.contains(kind)
	case *Value:
		return x.contains(kind)
	case *Output:
		return kind == KindSecret && x.Secret || x.Value.contains(kind)
	case *Archive:
		return x.Assets.contains(kind)
	default:
		return false
	}
}

func (m Map) contains(kind Kind) bool {
	return slices.ContainsFunc(m.entries, func(e Entry) bool { return e.Value.contains(kind) })
}

// Transform returns v with f applied to each of its parts, inner ones first, and
// then to what became of v itself. f sees the contents of a secret or output
// before the wrapper around them.
func (v Value) Transform(f func(Value) Value) Value {
	switch x := v.ref.(type) {
	case []Value:
		out := make([]Value, len(x))
		for i, e := range x {
			out[i] = e.Transform(f)
		}
		v = Value{kind: KindArray, ref: out}
	case Map:
		v = Value{kind: KindObject, ref: x.Transform(f)}
	case *Value:
		v = Secret(x.Transform(f))
	case *Output:
		o := *x
		o.Value = x.Value.Transform(f)
		v = OutputOf(o)
	case *Archive:
		if x.Source == SourceAssets {
			a := *x
			a.Assets = x.Assets.Transform(f)
			v = ArchiveOf(a)
		}
	}
	return f(v)
}

// Transform returns m with f applied to each part of each property, see
// Value.Transform.
func (m Map) Transform(f func(Value) Value) Map {
	out := make([]Entry, len(m.entries))
	for i, e := range m.entries {
		out[i] = Entry{e.Key, e.Value.Transform(f)}
	}
	return Map{entries: out}
}

// Unwrap returns v without the secrets and outputs in it: their contents are left.
func (v Value) Unwrap() Value { return v.Transform(Value.Plain) }

// Unwrap returns m without the secrets and outputs in it: their contents are left.
func (m Map) Unwrap() Map { return m.Transform(Value.Plain) }
