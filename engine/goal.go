package engine

import (
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

// needs visits every resource that the goal's cannot exist without.
func (g *goal) needs(yield func(urn.URN) bool) {
	on := true
	graph.Needs(&state.Resource{
		Provider: g.by.provider, Parent: g.parent, Dependencies: g.deps, PropertyDependencies: g.propDep,
		DeletedWith: g.options.DeletedWith, ReplaceWith: g.options.ReplaceWith,
	}, func(u urn.URN) { on = on && yield(u) })
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
	return o.ReplacementTrigger.Lower(property.KindOutput)
}
