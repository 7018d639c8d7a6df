package engine

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/state"
)

// schemas holds the package schemas that previews needed.
type schemas struct {
	mu        sync.Mutex
	byPackage map[schemaKey]*schema.Package
}

// schemaKey is a package; its version is that of an extension, empty for others.
type schemaKey struct{ name, version string }

// of returns the schema of a provider's package, or of an extension's, nil where it has
// none that can be read.
func (s *schemas) of(ctx context.Context, pkg string, extension state.Extension, provider abi.Provider) *schema.Package {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := schemaKey{pkg, extension.Version}
	if p, ok := s.byPackage[key]; ok {
		return p
	}
	if s.byPackage == nil {
		s.byPackage = make(map[schemaKey]*schema.Package)
	}
	var parsed *schema.Package
	if resp, err := provider.GetSchema(ctx, abi.GetSchemaRequest{SubpackageName: extension.Name, SubpackageVersion: extension.Version}); err == nil {
		if p, err := schemajson.Parse([]byte(resp.Schema)); err == nil {
			parsed = p
		}
	}
	s.byPackage[key] = parsed
	return parsed
}

// stableOutputs completes the outputs that a preview of an update computed by those that
// the provider is sure to leave as they are.
func stableOutputs(s *step, outputs property.Map) property.Map {
	if s.op != OpUpdate || s.old == nil {
		return outputs
	}
	for _, key := range s.diff.stable {
		if !outputs.Has(key) && s.old.Outputs.Has(key) {
			outputs = outputs.With(key, s.old.Outputs.Get(key))
		}
	}
	return outputs
}

// previewOutputs completes the outputs that a preview computed: a property of
// the schema that the provider left out is unknown, as the provider guide says.
// An optional input that was not given, or one that the resource did not have
// before, is taken to stay away.
func (r *runState) previewOutputs(ctx context.Context, n *state.Resource, outputs property.Map) property.Map {
	if isProviderType(n.Type) {
		return outputs
	}
	provider, err := r.providerOf(ctx, n)
	if err != nil {
		return outputs
	}
	res := r.describedBy(ctx, n, provider)
	if res == nil {
		return outputs
	}
	old := r.recorder.Lookup(n.URN)
	for _, p := range res.Outputs.Properties {
		if outputs.Has(p.Name) {
			continue
		}
		isInput := res.Inputs.Property(p.Name) != nil
		switch {
		case isInput && !n.Inputs.Has(p.Name):
		case n.ID != "" && old != nil && !old.Outputs.Has(p.Name):
		default:
			outputs = outputs.With(p.Name, property.Unknown)
		}
	}
	return outputs
}

// describedBy returns what a provider's schema says of the type of a resource, nil if it says
// nothing.
func (r *runState) describedBy(ctx context.Context, n *state.Resource, provider abi.Provider) *schema.Resource {
	var extension state.Extension
	if n.ExtensionRef != "" {
		var err error
		if extension, err = r.recorder.Extensions.Get(n.ExtensionRef); err != nil {
			return nil
		}
	}
	pkg := r.schemas.of(ctx, packageOf(n.Type), extension, provider)
	if pkg == nil {
		return nil
	}
	return pkg.Resource(n.Type)
}
