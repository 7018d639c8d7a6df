// Package provenance follows what values of a program were computed from: resources, and secrets.
package provenance

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
)

// Provenance is what a computed value inherits from what it was computed from.
type Provenance struct {
	Secret bool
	// URNs are the resources, neither sorted nor distinct.
	URNs []string
}

// Add adds resources.
func (p *Provenance) Add(urns ...string) { p.URNs = append(p.URNs, urns...) }

// Ephemeral reports whether the value was computed from an ephemeral one, so that it must not be recorded.
func (p *Provenance) Ephemeral() bool { return slices.ContainsFunc(p.URNs, ephemeral.IsMark) }

// Peel takes the wrappers off a value, but not off its parts.
func (p *Provenance) Peel(v property.Value) property.Value {
	for {
		switch v.Kind() {
		case property.KindSecret:
			p.Secret = true
			v, _ = v.AsSecret()
		case property.KindOutput:
			o, _ := v.AsOutput()
			p.Secret = p.Secret || o.Secret
			p.Add(o.Dependencies...)
			v = o.Value
		default:
			return v
		}
	}
}

// Flatten takes all wrappers off a value and its parts, and reports whether all of them are known.
func (p *Provenance) Flatten(v property.Value) (plain property.Value, known bool) {
	p.Secret = p.Secret || v.ContainsSecrets()
	p.Add(v.Dependencies()...)
	return v.Unwrap(), !v.ContainsUnknowns()
}

// Wrap gives a value the provenance.
func (p *Provenance) Wrap(v property.Value) property.Value {
	if len(p.URNs) > 0 {
		urns := slices.Clone(p.URNs)
		if len(urns) > 1 { // what is computed of it, over and over, depends on no more than this
			slices.Sort(urns)
			urns = slices.Compact(urns)
		}
		return property.OutputOf(property.Output{Value: v, Secret: p.Secret, Dependencies: urns})
	}
	if p.Secret {
		return property.Secret(v)
	}
	return v
}

// Distinct returns the resources, sorted.
func (p *Provenance) Distinct() []urn.URN {
	urns := make([]urn.URN, len(p.URNs))
	for i, u := range p.URNs {
		urns[i] = urn.URN(u)
	}
	slices.Sort(urns)
	return slices.Compact(urns)
}

// LowerContents lowers what has assets in it. A deployment takes those in outputs for foreign, and
// the evaluator has marked which are.
func LowerContents(m property.Map) property.Map {
	if !m.ContainsAssets() || !m.ContainsOutputs() {
		return m
	}
	for key, v := range m.All() {
		if v.ContainsAssets() && !slices.ContainsFunc(v.Dependencies(), ephemeral.IsMark) {
			m = m.With(key, v.Lower(property.KindOutput))
		}
	}
	return m
}
