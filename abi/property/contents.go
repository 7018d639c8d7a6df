package property

import "slices"

// ContainsUnknowns reports whether v or a part of it, or the ID of a reference, is unknown.
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

// ContainsOutputs reports whether v or a part of it is an output.
func (v Value) ContainsOutputs() bool {
	return v.contains(func(x Value) bool { return x.kind == KindOutput })
}

// ContainsOutputs reports whether a property is an output in whole or part.
func (m Map) ContainsOutputs() bool { return Object(m).ContainsOutputs() }

// ContainsReferences reports whether v or a part of it is a reference to a resource.
func (v Value) ContainsReferences() bool {
	return v.contains(func(v Value) bool { return v.kind == KindResourceReference })
}

// Dependencies returns the sorted, distinct URNs of the resources that outputs in v come from.
func (v Value) Dependencies() []string {
	var urns []string
	var seen map[*string]int // the lengths of long lists, which many parts have in common
	v.contains(func(v Value) bool {
		if v.kind != KindOutput {
			return false
		}
		of := v.ref.(*Output).Dependencies
		if len(of) > fewDependencies {
			if seen[&of[0]] >= len(of) {
				return false
			}
			if seen == nil {
				seen = map[*string]int{}
			}
			seen[&of[0]] = len(of)
		}
		urns = append(urns, of...)
		return false
	})
	slices.Sort(urns)
	return slices.Compact(urns)
}

// fewDependencies are as many as are sorted faster than looked up.
const fewDependencies = 8

// Dependencies returns the sorted, distinct URNs of the resources that outputs in m come from.
func (m Map) Dependencies() []string { return Object(m).Dependencies() }

// Unwrap returns v with the contents of secrets and outputs in their place, in all parts. See Plain
// for the wrappers around v alone.
func (v Value) Unwrap() Value {
	return v.Lower(KindSecret, KindOutput)
}

// Unwrap is Value.Unwrap for all values of m.
func (m Map) Unwrap() Map { return m.Lower(KindSecret, KindOutput) }

func (v Value) isWrapper() bool { return v.kind == KindSecret || v.kind == KindOutput }

// Find returns the path to the first part of v for which match holds, v itself first and outer parts
// before inner ones. A secret or output has the path of its contents.
func (v Value) Find(match func(Value) bool) (path Path, found bool) {
	found = v.search(match, &path)
	return path, found
}

// contains reports whether match holds for v or a part of it.
func (v Value) contains(match func(Value) bool) bool { return v.search(match, nil) }

// search is Find. A nil path is not kept up.
func (v *Value) search(match func(Value) bool, path *Path) bool {
	if match(*v) {
		return true
	}
	switch v.kind {
	case KindArray:
		elements := v.elements()
		for i := range elements {
			if path != nil {
				*path = append(*path, Index(i))
			}
			if elements[i].search(match, path) {
				return true
			}
			path.leave()
		}
	case KindObject:
		entries := v.object().Entries()
		for i := range entries {
			if path != nil {
				*path = append(*path, Key(entries[i].Key))
			}
			if entries[i].Value.search(match, path) {
				return true
			}
			path.leave()
		}
	case KindSecret:
		return v.ref.(*Value).search(match, path)
	case KindOutput:
		return v.ref.(*Output).Value.search(match, path)
	}
	return false
}

// leave takes the last segment off.
func (p *Path) leave() {
	if p != nil {
		*p = (*p)[:len(*p)-1]
	}
}

// EachSecret calls visit for each value without parts that is secret or in a secret, once for each
// secret around it. The parts of an archive are its members.
func (m Map) EachSecret(visit func(Value)) {
	Object(m).contains(func(v Value) bool {
		if v.kind == KindSecret || v.kind == KindOutput && v.ref.(*Output).Secret {
			v.eachLeaf(visit)
		}
		return false
	})
}

func (v Value) eachLeaf(visit func(Value)) {
	v.contains(func(v Value) bool {
		switch v.kind {
		case KindArray, KindObject, KindSecret, KindOutput:
		case KindArchive:
			Object(v.ref.(*Archive).Assets).eachLeaf(visit)
		default:
			visit(v)
		}
		return false
	})
}
