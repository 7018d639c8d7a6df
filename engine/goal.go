package engine

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/state"
)

// goal is what a program wants of one resource: a registration with its
// defaults filled in and its outputs folded into plain values.
type goal struct {
	urn     urn.URN
	typ     string
	name    string
	parent  urn.URN
	custom  bool
	inputs  property.Map
	deps    []urn.URN            // all dependencies, sorted
	propDep map[string][]urn.URN // by top-level input
	// by is what manages the resource, zero for components.
	by       providerRef
	options  abi.ResourceOptions
	position string
}

// state returns the resource as it will be recorded, without ID and outputs.
func (g *goal) state(inputs property.Map) *state.Resource {
	o := g.options
	var hideDiff []property.Path
	for _, text := range o.HideDiffs {
		if path, err := property.ParsePath(text); err == nil {
			hideDiff = append(hideDiff, path)
		}
	}
	return &state.Resource{
		URN:                     g.urn,
		Custom:                  g.custom,
		Type:                    g.typ,
		Inputs:                  inputs,
		Parent:                  g.parent,
		Protect:                 g.protected(),
		Dependencies:            g.deps,
		PropertyDependencies:    g.propDep,
		Provider:                g.by.provider,
		ExtensionRef:            g.by.extension,
		AdditionalSecretOutputs: o.AdditionalSecretOutputs,
		CustomTimeouts:          timeoutsOf(o.CustomTimeouts),
		RetainOnDelete:          o.RetainOnDelete != nil && *o.RetainOnDelete,
		DeletedWith:             o.DeletedWith,
		ReplaceWith:             o.ReplaceWith,
		SourcePosition:          g.position,
		IgnoreChanges:           o.IgnoreChanges,
		ReplaceOnChanges:        o.ReplaceOnChanges,
		HideDiff:                hideDiff,
		ReplacementTrigger:      triggerOf(o),
		ResourceHooks:           recordedHooks(o.Hooks),
	}
}

// protected reports whether the program protects the resource.
func (g *goal) protected() bool { return g.options.Protect != nil && *g.options.Protect }

// dependsOn calls f with every resource that the goal's cannot exist without.
func (g *goal) dependsOn(f func(urn.URN)) {
	graph.Needs(&state.Resource{
		Provider: g.by.provider, Parent: g.parent, Dependencies: g.deps, PropertyDependencies: g.propDep,
		DeletedWith: g.options.DeletedWith, ReplaceWith: g.options.ReplaceWith,
	}, f)
}

func timeoutsOf(t abi.CustomTimeouts) *state.CustomTimeouts {
	if t == (abi.CustomTimeouts{}) {
		return nil
	}
	return &state.CustomTimeouts{Create: t.Create, Update: t.Update, Delete: t.Delete, Read: t.Read}
}

func triggerOf(o abi.ResourceOptions) property.Value {
	if o.ReplacementTrigger == nil {
		return property.Null
	}
	return fold(*o.ReplacementTrigger, make(map[urn.URN]struct{}))
}

// fold replaces the outputs inside v by their values and adds their
// dependencies to deps. Providers and states know nothing of outputs.
func fold(v property.Value, deps map[urn.URN]struct{}) property.Value {
	switch v.Kind() {
	case property.KindOutput:
		o, _ := v.AsOutput()
		for _, d := range o.Dependencies {
			deps[urn.URN(d)] = struct{}{}
		}
		inner := fold(o.Value, deps)
		if o.Secret {
			inner = property.Secret(inner)
		}
		return inner
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return property.Secret(fold(inner, deps))
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]property.Value, len(elements))
		for i, e := range elements {
			out[i] = fold(e, deps)
		}
		return property.Array(out...)
	case property.KindObject:
		m, _ := v.AsObject()
		return property.Object(foldMap(m, deps))
	default:
		return v
	}
}

func foldMap(m property.Map, deps map[urn.URN]struct{}) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for k, v := range m.All() {
		entries = append(entries, property.Entry{Key: k, Value: fold(v, deps)})
	}
	return property.NewMap(entries...)
}

// foldInputs folds each input and merges the dependencies found inside with
// those that the program names. It returns the inputs, the dependencies by
// input, and the union of all with extra.
func foldInputs(inputs property.Map, named []abi.PropertyDependency, extra []urn.URN) (
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
				v = fold(v, of(k))
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
