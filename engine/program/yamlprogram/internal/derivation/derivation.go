// Package derivation follows what values of a program were computed from: resources, and secrets.
package derivation

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
)

// Derivation is the secrecy and the dependencies that a computed value inherits from its operands.
type Derivation struct {
	Secret bool
	// URNs are the resources, neither sorted nor distinct. Nobody changes the elements.
	URNs []string
	// seen has the lengths of the lists that were added, by their begin: values computed from one value, over and over, depend on
	// one list.
	seen map[*string]int
}

// fewURNs are as many as are added faster than looked up.
const fewURNs = 8

// Add adds resources. Nobody may change the list any more.
func (p *Derivation) Add(urns ...string) {
	switch n := len(urns); {
	case n == 0:
		return
	case n <= fewURNs:
	case p.seen[&urns[0]] >= n:
		return
	default:
		if p.seen == nil {
			p.seen = map[*string]int{}
		}
		p.seen[&urns[0]] = n
	}
	if p.URNs == nil {
		p.URNs = slices.Clip(urns) // which is copied before anything is added to it
		return
	}
	p.URNs = append(p.URNs, urns...)
}

// Ephemeral reports whether the value was computed from an ephemeral one, so that it must not be recorded.
func (p *Derivation) Ephemeral() bool { return slices.ContainsFunc(p.URNs, ephemeral.IsMark) }

// Peel takes the wrappers off a value, but not off its parts.
func (p *Derivation) Peel(v property.Value) property.Value {
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
func (p *Derivation) Flatten(v property.Value) (plain property.Value, known bool) {
	p.Secret = p.Secret || v.ContainsSecrets()
	p.Add(v.Dependencies()...)
	return v.Unwrap(), !v.ContainsUnknowns()
}

// Wrap gives a value the derivation.
func (p *Derivation) Wrap(v property.Value) property.Value {
	if len(p.URNs) > 0 {
		// They become sorted and distinct, so that repeated computation adds no dependencies.
		return property.OutputOf(property.Output{Value: v, Secret: p.Secret, Dependencies: slices.Clip(p.URNs)})
	}
	if p.Secret {
		return property.Secret(v)
	}
	return v
}

// Distinct returns the resources, sorted.
func (p *Derivation) Distinct() []urn.URN {
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
	return Map(m, func(_ string, v property.Value) property.Value {
		if v.ContainsAssets() && !slices.ContainsFunc(v.Dependencies(), ephemeral.IsMark) {
			return v.Lower(property.KindOutput)
		}
		return v
	})
}

// Map returns the map with each value replaced by f's result.
func Map(m property.Map, f func(key string, v property.Value) property.Value) property.Map {
	entries := slices.Clone(m.Entries())
	for i := range entries {
		entries[i].Value = f(entries[i].Key, entries[i].Value)
	}
	return property.SortedMap(entries)
}
