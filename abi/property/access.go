package property

import "slices"

// Get returns the part of v that p locates, and whether there is one. It looks
// through secrets and outputs, so the part of a secret is returned plain: who
// shows it must know that (see Path.Secret).
func (p Path) Get(v Value) (Value, bool) {
	for _, s := range p {
		var ok bool
		if v, ok = s.child(v.Plain()); !ok {
			return Value{}, false
		}
	}
	return v, true
}

// Secret reports whether v, or anything on the way from it to what p locates, is
// secret.
func (p Path) Secret(v Value) bool {
	for _, s := range p {
		if v.secretItself() {
			return true
		}
		var ok bool
		if v, ok = s.child(v.Plain()); !ok {
			return false
		}
	}
	return v.secretItself()
}

func (v Value) secretItself() bool {
	o, ok := v.AsOutput()
	return v.IsSecret() || ok && (o.Secret || o.Value.IsSecret())
}

// child returns the part of a plain value that a segment leads to.
func (s Segment) child(v Value) (Value, bool) {
	switch s.kind {
	case segmentKey:
		m, ok := v.AsObject()
		if !ok {
			return Value{}, false
		}
		return m.Lookup(s.key)
	case segmentIndex:
		a, ok := v.AsArray()
		if !ok || s.index >= len(a) {
			return Value{}, false
		}
		return a[s.index], true
	default:
		return Value{}, false
	}
}

// Set returns v with the part that p locates replaced by part, and whether there
// is room for it: an object takes any key; an array takes its indexes and the one
// after the last. Objects that are missing on the way are made, secrets stay secret.
func (p Path) Set(v, part Value) (Value, bool) {
	if len(p) == 0 {
		return part, true
	}
	return v.edit(func(inner Value) (Value, bool) {
		child, exists := p[0].child(inner)
		if !exists && len(p) > 1 {
			child = Object(Map{})
		}
		child, ok := p[1:].Set(child, part)
		if !ok {
			return Value{}, false
		}
		return p[0].with(inner, child)
	})
}

// Delete returns v without the part that p locates, and whether there was one.
func (p Path) Delete(v Value) (Value, bool) {
	if len(p) == 0 {
		return Value{}, false
	}
	return v.edit(func(inner Value) (Value, bool) {
		child, exists := p[0].child(inner)
		if !exists {
			return Value{}, false
		}
		if len(p) > 1 {
			child, ok := p[1:].Delete(child)
			if !ok {
				return Value{}, false
			}
			return p[0].with(inner, child)
		}
		if m, ok := inner.AsObject(); ok {
			return Object(m.Without(p[0].key)), true
		}
		a, _ := inner.AsArray()
		return Array(slices.Delete(slices.Clone(a), p[0].index, p[0].index+1)...), true
	})
}

// edit applies f to what v wraps and wraps the result alike.
func (v Value) edit(f func(Value) (Value, bool)) (Value, bool) {
	switch v.kind {
	case KindSecret:
		inner, ok := v.ref.(*Value).edit(f)
		return Secret(inner), ok
	case KindOutput:
		o := *v.ref.(*Output)
		var ok bool
		o.Value, ok = o.Value.edit(f)
		return OutputOf(o), ok
	default:
		return f(v)
	}
}

// with returns the object or array v with another child.
func (s Segment) with(v, child Value) (Value, bool) {
	switch s.kind {
	case segmentKey:
		m, ok := v.AsObject()
		if !ok && !v.IsNull() {
			return Value{}, false
		}
		return Object(m.With(s.key, child)), true
	case segmentIndex:
		a, ok := v.AsArray()
		switch {
		case !ok || s.index > len(a):
			return Value{}, false
		case s.index == len(a):
			return Array(append(slices.Clip(a), child)...), true
		}
		out := slices.Clone(a)
		out[s.index] = child
		return Array(out...), true
	default:
		return Value{}, false
	}
}

// Expand returns the paths of the parts of v that the pattern p stands for, in
// order. A pattern without wildcards stands for itself, whether or not v has it.
func (p Path) Expand(v Value) []Path {
	i := slices.IndexFunc(p, Segment.IsWildcard)
	if i < 0 {
		return []Path{p}
	}
	at, ok := p[:i].Get(v)
	if !ok {
		return nil
	}
	var out []Path
	at = at.Plain()
	if m, ok := at.AsObject(); ok {
		for _, k := range m.Keys() {
			out = append(out, slices.Concat(p[:i], Path{Key(k)}, p[i+1:]).Expand(v)...)
		}
	}
	if a, ok := at.AsArray(); ok {
		for j := range a {
			out = append(out, slices.Concat(p[:i], Path{Index(j)}, p[i+1:]).Expand(v)...)
		}
	}
	return out
}
