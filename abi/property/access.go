package property

import "slices"

// Get returns the part of v that p locates. ok is false if there is none, or p has wildcards. A part
// of a secret is a secret, a part of an output an output, and a part of an unknown is unknown.
func (p Path) Get(v Value) (part Value, ok bool) {
	var around Output // the wrappers that the path led through
	wrapped := false
	for _, s := range p {
		switch v.kind {
		case KindSecret:
			v, around.Secret = *v.ref.(*Value), true
		case KindOutput:
			o := v.ref.(*Output)
			v, wrapped = o.Value, true
			around.Secret = around.Secret || o.Secret
			around.Dependencies = slices.Concat(around.Dependencies, o.Dependencies)
		}
		if v, ok = v.step(s); !ok {
			return Value{}, false
		}
	}
	switch {
	case wrapped:
		around.Value = v
		return OutputOf(around), true
	case around.Secret:
		return Secret(v), true
	default:
		return v, true
	}
}

// step returns the part of v that s leads to. v is not a wrapper.
func (v Value) step(s Segment) (part Value, ok bool) {
	switch {
	case v.kind == KindUnknown && s.kind != segmentWildcard:
		return Unknown, true
	case v.kind == KindObject && s.kind == segmentKey:
		return v.object().Lookup(s.key)
	case v.kind == KindArray && s.kind == segmentIndex:
		if elements := v.elements(); s.index >= 0 && s.index < len(elements) {
			return elements[s.index], true
		}
	}
	return Value{}, false
}

// Set returns a copy of v with part at p. ok is false if there is no such place. Missing objects and
// arrays on the way are made in place of nothing or null. An index one past the last appends.
// Secrets and outputs on the way stay.
func (p Path) Set(v, part Value) (changed Value, ok bool) {
	if len(p) == 0 {
		return part, true
	}
	if v.isWrapper() {
		return v.inside(func(v Value) (Value, bool) { return p.Set(v, part) })
	}
	s := p[0]
	switch {
	case s.kind == segmentKey && (v.kind == KindObject || v.kind == KindNull):
		m, _ := v.AsObject()
		child, ok := p[1:].Set(m.Get(s.key), part)
		if !ok {
			return Value{}, false
		}
		return Object(m.With(s.key, child)), true
	case s.kind == segmentIndex && (v.kind == KindArray || v.kind == KindNull):
		elements, _ := v.AsArray()
		if s.index < 0 || s.index > len(elements) {
			return Value{}, false
		}
		elements = slices.Clone(elements)
		if s.index == len(elements) {
			elements = append(elements, Null)
		}
		if elements[s.index], ok = p[1:].Set(elements[s.index], part); !ok {
			return Value{}, false
		}
		return Array(elements...), true
	}
	return Value{}, false
}

// Delete returns a copy of v without the part that p locates. ok is false if there is none. An
// element of an array becomes null, so the other elements keep their paths.
func (p Path) Delete(v Value) (changed Value, ok bool) {
	if len(p) == 0 {
		return Value{}, false
	}
	if v.isWrapper() {
		return v.inside(func(v Value) (Value, bool) { return p.Delete(v) })
	}
	s := p[0]
	if v.kind == KindUnknown {
		return Value{}, false
	}
	part, ok := v.step(s)
	if !ok {
		return Value{}, false
	}
	if len(p) > 1 {
		if part, ok = p[1:].Delete(part); !ok {
			return Value{}, false
		}
		return v.replace(s, part), true
	}
	if s.kind == segmentKey {
		return Object(v.object().Without(s.key)), true
	}
	return v.replace(s, Null), true
}

// replace returns a copy of the array or object v in which part is where s leads.
func (v Value) replace(s Segment, part Value) Value {
	if s.kind == segmentKey {
		return Object(v.object().With(s.key, part))
	}
	elements := slices.Clone(v.elements())
	elements[s.index] = part
	return Array(elements...)
}

// inside returns the secret or output v with its contents changed.
func (v Value) inside(change func(Value) (Value, bool)) (changed Value, ok bool) {
	if v.kind == KindSecret {
		inner, ok := change(*v.ref.(*Value))
		return Secret(inner), ok
	}
	o := *v.ref.(*Output)
	o.Value, ok = change(o.Value)
	return OutputOf(o), ok
}
