package property

import "slices"

// ContainsUnknowns reports whether v or a part of it is unknown, or refers to a
// resource whose ID is unknown.
func (v Value) ContainsUnknowns() bool {
	return v.contains(func(v Value) bool {
		switch v.kind {
		case KindUnknown:
			return true
		case KindResourceReference:
			r := v.ref.(*ResourceReference)
			return r.HasID && r.ID == ""
		}
		return false
	})
}

// ContainsUnknowns reports whether a property is unknown in whole or part.
func (m Map) ContainsUnknowns() bool { return Object(m).ContainsUnknowns() }

// ContainsSecrets reports whether v or a part of it is a secret or a secret output.
func (v Value) ContainsSecrets() bool {
	return v.contains(func(v Value) bool {
		return v.kind == KindSecret || v.kind == KindOutput && v.ref.(*Output).Secret
	})
}

// ContainsSecrets reports whether a property is secret in whole or part.
func (m Map) ContainsSecrets() bool { return Object(m).ContainsSecrets() }

// ContainsAssets reports whether v or a part of it is an asset or archive.
func (v Value) ContainsAssets() bool {
	return v.contains(func(v Value) bool { return v.kind == KindAsset || v.kind == KindArchive })
}

// ContainsAssets reports whether a property is an asset or archive in whole or part.
func (m Map) ContainsAssets() bool { return Object(m).ContainsAssets() }

// ContainsOutputs reports whether the value is an output, or has one in it.
func (v Value) ContainsOutputs() bool {
	return v.contains(func(x Value) bool { return x.kind == KindOutput })
}

// ContainsOutputs reports whether a value of the map contains an output.
func (m Map) ContainsOutputs() bool { return Object(m).ContainsOutputs() }

// ContainsReferences reports whether v is a reference to a resource, or has one in it.
func (v Value) ContainsReferences() bool {
	return v.contains(func(v Value) bool { return v.kind == KindResourceReference })
}

// Dependencies returns the URNs of the resources that the outputs in v come from,
// sorted and without duplicates.
func (v Value) Dependencies() []string {
	var urns []string
	v.contains(func(v Value) bool {
		if v.kind == KindOutput {
			urns = append(urns, v.ref.(*Output).Dependencies...)
		}
		return false
	})
	slices.Sort(urns)
	return slices.Compact(urns)
}

// Dependencies returns the URNs of the resources that the outputs in m come from,
// sorted and without duplicates.
func (m Map) Dependencies() []string { return Object(m).Dependencies() }

// Unwrap returns v without the secrets and outputs around it and its parts: what
// they hold takes their place. See Plain for those around v alone.
func (v Value) Unwrap() Value {
	if !v.contains(isWrapper) {
		return v
	}
	return v.Transform(Value.Plain)
}

// Unwrap returns m without the secrets and outputs around its values and their parts.
func (m Map) Unwrap() Map {
	unwrapped, _ := Object(m).Unwrap().AsObject()
	return unwrapped
}

func isWrapper(v Value) bool { return v.kind == KindSecret || v.kind == KindOutput }

// contains reports whether match holds for v or a part of it, outside first.
func (v Value) contains(match func(Value) bool) bool {
	if match(v) {
		return true
	}
	switch v.kind {
	case KindArray:
		for _, e := range v.elements() {
			if e.contains(match) {
				return true
			}
		}
	case KindObject:
		for _, e := range v.object().Entries() {
			if e.Value.contains(match) {
				return true
			}
		}
	case KindSecret:
		return v.ref.(*Value).contains(match)
	case KindOutput:
		return v.ref.(*Output).Value.contains(match)
	}
	return false
}
