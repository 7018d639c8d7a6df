package yamlprogram

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// provenance is what a computed value inherits from what it was computed from.
type provenance struct {
	secret bool
	// urns are the resources, neither sorted nor distinct.
	urns []string
}

func (p *provenance) add(urns ...string) { p.urns = append(p.urns, urns...) }

// peel takes the wrappers off a value, but not off its parts.
func (p *provenance) peel(v property.Value) property.Value {
	for {
		switch v.Kind() {
		case property.KindSecret:
			p.secret = true
			v, _ = v.AsSecret()
		case property.KindOutput:
			o, _ := v.AsOutput()
			p.secret = p.secret || o.Secret
			p.add(o.Dependencies...)
			v = o.Value
		default:
			return v
		}
	}
}

// flatten takes all wrappers off a value and its parts. known says that no part
// is unknown.
func (p *provenance) flatten(v property.Value) (plain property.Value, known bool) {
	p.secret = p.secret || v.ContainsSecrets()
	p.add(v.Dependencies()...)
	return v.Unwrap(), !v.ContainsUnknowns()
}

// wrap gives a value the provenance.
func (p *provenance) wrap(v property.Value) property.Value {
	if len(p.urns) > 0 {
		urns := slices.Clone(p.urns)
		if len(urns) > 1 { // what is computed of it, over and over, depends on no more than this
			slices.Sort(urns)
			urns = slices.Compact(urns)
		}
		return property.OutputOf(property.Output{Value: v, Secret: p.secret, Dependencies: urns})
	}
	if p.secret {
		return property.Secret(v)
	}
	return v
}

// distinct returns the resources, sorted.
func (p *provenance) distinct() []urn.URN {
	urns := make([]urn.URN, len(p.urns))
	for i, u := range p.urns {
		urns[i] = urn.URN(u)
	}
	slices.Sort(urns)
	return slices.Compact(urns)
}

// lower turns outputs into secrets or plain values, for where dependencies have
// a place of their own, or none.
func lower(v property.Value) property.Value {
	return v.Transform(func(v property.Value) property.Value {
		o, ok := v.AsOutput()
		switch {
		case !ok:
			return v
		case o.Secret:
			return property.Secret(o.Value)
		}
		return o.Value
	})
}

func lowerMap(m property.Map) property.Map {
	lowered, _ := lower(property.Object(m)).AsObject()
	return lowered
}

// lowerContents lowers what has assets and archives in it. A deployment takes those in the output
// of a resource for foreign, and the evaluator has told it exactly which are.
func lowerContents(m property.Map) property.Map {
	if !m.ContainsAssets() || !m.ContainsOutputs() {
		return m
	}
	for key, v := range m.All() {
		if v.ContainsAssets() {
			m = m.With(key, lower(v))
		}
	}
	return m
}
