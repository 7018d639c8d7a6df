package engine

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/state"
)

// ModuleOf returns the digest of the module that a provider resource was made with,
// empty where it names none.
func ModuleOf(provider *state.Resource) string { return digestOf(provider.Inputs) }

// WithModule returns the provider resource with another module. What it made is read,
// changed, and deleted by that one from then on.
func WithModule(provider *state.Resource, digest string) *state.Resource {
	out := *provider
	set := func(m property.Map) property.Map {
		internal, _ := m.Get(internalKey).Plain().AsObject()
		return m.With(internalKey, property.Object(internal.With(internalDigest, property.String(digest))))
	}
	out.Inputs, out.Outputs = set(provider.Inputs), set(provider.Outputs)
	return &out
}

// SpecOf returns which provider a provider resource wants, with the module that it was made with.
func SpecOf(provider *state.Resource) (PackageSpec, error) {
	return recordedSpec(provider.Type, provider.Inputs)
}
