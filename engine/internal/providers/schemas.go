package providers

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/state"
)

// Schemas holds the package schemas that previews needed. The zero Schemas is empty.
type Schemas struct {
	mu        sync.Mutex
	byPackage map[schemaKey]*schema.Package
}

// schemaKey is a package; its version is that of an extension, empty for others.
type schemaKey struct{ name, version string }

// Package returns the schema of a provider's package, or of an extension's, nil if it has
// none that can be read.
func (s *Schemas) Package(ctx context.Context, pkg string, extension state.Extension, provider abi.Provider) *schema.Package {
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
