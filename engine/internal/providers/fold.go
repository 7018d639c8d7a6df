package providers

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
)

// Fold replaces the outputs inside m by their values, and adds their dependencies to deps.
func Fold(m property.Map, deps map[urn.URN]struct{}) property.Map {
	for _, u := range m.Dependencies() {
		deps[urn.URN(u)] = struct{}{}
	}
	return m.Lower(property.KindOutput)
}

// FoldInputs folds each input. It returns the inputs, the dependencies by input, including the ones that the program names, and
// the union of all with extra.
func FoldInputs(inputs property.Map, named []abi.PropertyDependency, extra []urn.URN) (
	property.Map, map[string][]urn.URN, []urn.URN,
) {
	byKey := make(map[string]map[urn.URN]struct{})
	depsOf := func(key string) map[urn.URN]struct{} {
		if byKey[key] == nil {
			byKey[key] = make(map[urn.URN]struct{})
		}
		return byKey[key]
	}
	if inputs.ContainsOutputs() { // most have none
		for k, v := range inputs.All() {
			for _, u := range v.Dependencies() {
				if !ephemeral.IsMark(u) {
					depsOf(k)[urn.URN(u)] = struct{}{}
				}
			}
		}
		inputs = inputs.Lower(property.KindOutput)
	}
	for _, n := range named {
		deps := depsOf(n.Key)
		for _, u := range n.URNs {
			if !ephemeral.IsMark(string(u)) {
				deps[u] = struct{}{}
			}
		}
	}
	propDep := make(map[string][]urn.URN, len(byKey))
	all := ephemeral.WithoutMarks(slices.Clone(extra))
	for k, deps := range byKey {
		if len(deps) > 0 {
			propDep[k] = slices.Sorted(maps.Keys(deps))
			all = append(all, propDep[k]...)
		}
	}
	slices.Sort(all)
	return inputs, propDep, slices.Compact(all)
}
