// Package ephemeral keeps values that must never be recorded: ephemeral ones, and values of write-only inputs.
//
// An ephemeral value is an output that depends on a mark in place of a resource, so that all that a program
// computes of it is ephemeral, too. The inputs of a resource lose such values before the resource is
// planned, recorded, or shown. Requests to its provider get them back.
package ephemeral

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// mark stands in dependencies for a resource. No resource has this URN.
const mark = "urn:husk:ephemeral"

// Mark marks what a function opened as secret, and as not to be recorded.
func Mark(opened property.Map) property.Map {
	dependencies := []string{mark}
	entries := make([]property.Entry, 0, opened.Len())
	for key, v := range opened.All() {
		entries = append(entries, property.Entry{Key: key, Value: property.OutputOf(property.Output{Value: v, Secret: true, Dependencies: dependencies})})
	}
	return property.NewMap(entries...)
}

// IsMark reports whether a dependency of a value stands for an ephemeral value.
func IsMark(dependency string) bool { return dependency == mark }

// IsIn reports whether one of the values is ephemeral.
func IsIn(m property.Map) bool { return slices.ContainsFunc(m.Dependencies(), IsMark) }

// Places returns the paths of the ephemeral values, none of them inside another.
func Places(m property.Map) []property.Path {
	if !m.ContainsOutputs() || !IsIn(m) {
		return nil
	}
	var places []property.Path
	_, _ = m.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
		if o, ok := v.AsOutput(); ok && slices.ContainsFunc(o.Dependencies, IsMark) {
			// The parts of a value come before it.
			places = slices.DeleteFunc(places, path.Contains)
			places = append(places, slices.Clone(path))
		}
		return v, nil
	})
	return places
}

// WithoutMarks returns the dependencies that are resources.
func WithoutMarks(dependencies []urn.URN) []urn.URN {
	return slices.DeleteFunc(dependencies, func(u urn.URN) bool { return IsMark(string(u)) })
}

// Values are the values of inputs that are not recorded, by resource. A nil Values has none. It is safe for
// concurrent use.
type Values struct {
	// any is set once there are some.
	any atomic.Bool

	mu         sync.Mutex
	byResource map[urn.URN][]value
}

type value struct {
	path  property.Path
	value property.Value
}

// Withhold keeps the values at the places, as secrets, and returns the inputs without them. An element of a list becomes
// null, so that the others keep their places. Values that were withheld of the resource before are
// forgotten.
func (v *Values) Withhold(u urn.URN, inputs property.Map, places []property.Path) property.Map {
	var withheld []value
	rest := property.Object(inputs)
	for _, path := range places {
		part, ok := path.Get(rest)
		if !ok {
			continue
		}
		without, ok := path.Delete(rest)
		if !ok {
			continue
		}
		withheld, rest = append(withheld, value{path, property.Secret(part)}), without
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byResource == nil {
		v.byResource = make(map[urn.URN][]value)
	}
	v.byResource[u] = withheld
	v.any.Store(true)
	out, _ := rest.AsObject()
	return out
}

func (v *Values) of(u urn.URN) []value {
	if v == nil || !v.any.Load() {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.byResource[u]
}

// Restore returns inputs of a resource with the values that were withheld of them.
func (v *Values) Restore(u urn.URN, inputs property.Map) property.Map {
	for _, withheld := range v.of(u) {
		if whole, ok := withheld.path.Set(property.Object(inputs), withheld.value); ok {
			inputs, _ = whole.AsObject()
		}
	}
	return inputs
}

// Strip returns properties of a resource, as its provider returned them, without the withheld values.
func (v *Values) Strip(u urn.URN, m property.Map) property.Map {
	for _, withheld := range v.of(u) {
		m = Without(m, withheld.path)
	}
	return m
}

// Without returns the properties without those at the paths.
func Without(m property.Map, paths ...property.Path) property.Map {
	for _, path := range paths {
		if without, ok := path.Delete(property.Object(m)); ok {
			m, _ = without.AsObject()
		}
	}
	return m
}
