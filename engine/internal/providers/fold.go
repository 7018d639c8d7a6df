package providers

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Fold replaces the outputs inside v by their values and adds their
// dependencies to deps. Providers and states know nothing of outputs.
func Fold(v property.Value, deps map[urn.URN]struct{}) property.Value {
	switch v.Kind() {
	case property.KindOutput:
		o, _ := v.AsOutput()
		for _, d := range o.Dependencies {
			deps[urn.URN(d)] = struct{}{}
		}
		inner := Fold(o.Value, deps)
		if o.Secret {
			inner = property.Secret(inner)
		}
		return inner
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return property.Secret(Fold(inner, deps))
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]property.Value, len(elements))
		for i, e := range elements {
			out[i] = Fold(e, deps)
		}
		return property.Array(out...)
	case property.KindObject:
		m, _ := v.AsObject()
		return property.Object(FoldMap(m, deps))
	default:
		return v
	}
}

// FoldMap is Fold for the values of a map.
func FoldMap(m property.Map, deps map[urn.URN]struct{}) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for k, v := range m.All() {
		entries = append(entries, property.Entry{Key: k, Value: Fold(v, deps)})
	}
	return property.NewMap(entries...)
}

// FoldInputs folds each input and merges the dependencies found inside with
// those that the program names. It returns the inputs, the dependencies by
// input, and the union of all with extra.
func FoldInputs(inputs property.Map, named []abi.PropertyDependency, extra []urn.URN) (
	property.Map, map[string][]urn.URN, []urn.URN,
) {
	byKey := make(map[string]map[urn.URN]struct{})
	of := func(key string) map[urn.URN]struct{} {
		if byKey[key] == nil {
			byKey[key] = make(map[urn.URN]struct{})
		}
		return byKey[key]
	}
	if inputs.ContainsOutputs() { // most have none
		entries := make([]property.Entry, 0, inputs.Len())
		for k, v := range inputs.All() {
			if v.ContainsOutputs() {
				v = Fold(v, of(k))
			}
			entries = append(entries, property.Entry{Key: k, Value: v})
		}
		inputs = property.NewMap(entries...)
	}
	for _, n := range named {
		deps := of(n.Key)
		for _, u := range n.URNs {
			deps[u] = struct{}{}
		}
	}
	propDep := make(map[string][]urn.URN, len(byKey))
	all := slices.Clone(extra)
	for k, deps := range byKey {
		if len(deps) > 0 {
			propDep[k] = slices.Sorted(maps.Keys(deps))
			all = append(all, propDep[k]...)
		}
	}
	slices.Sort(all)
	return inputs, propDep, slices.Compact(all)
}
