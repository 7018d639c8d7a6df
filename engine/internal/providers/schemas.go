package providers

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// Schemas holds the package schemas that previews needed. The zero Schemas is empty.
type Schemas struct {
	byPackage locked.Once[schemaKey, *schema.Package]
}

// schemaKey names a package; version is an extension's version, empty for others.
type schemaKey struct{ name, version string }

// Package returns the schema of a provider's package, or of an extension's, nil if it has
// none that can be read.
func (s *Schemas) Package(ctx context.Context, pkg string, extension state.Extension, provider abi.Provider) *schema.Package {
	p, _ := s.byPackage.Get(ctx, schemaKey{pkg, extension.Version}, func() (*schema.Package, error) {
		return readSchema(ctx, provider, abi.GetSchemaRequest{SubpackageName: extension.Name, SubpackageVersion: extension.Version})
	})
	return p
}

func readSchema(ctx context.Context, provider abi.Provider, request abi.GetSchemaRequest) (*schema.Package, error) {
	resp, err := provider.GetSchema(ctx, request)
	if err != nil {
		return nil, err
	}
	return schemajson.Parse([]byte(resp.Schema))
}
