package providers

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
)

// WriteOnly returns the places of write-only values in the inputs of a type.
func (s *Session) WriteOnly(ctx context.Context, typ string, inputs property.Map) []property.Path {
	if r := s.withWriteOnly(ctx, typ); r != nil {
		return r.Inputs.WriteOnly(inputs)
	}
	return nil
}

// recordable returns the properties that a provider returned of a resource without those that must not be
// recorded.
func (s *Session) recordable(ctx context.Context, of abi.Subject, m property.Map) property.Map {
	m = s.withheld.Strip(of.URN, m)
	if r := s.withWriteOnly(ctx, of.Token); r != nil {
		m = ephemeral.Without(m, r.Inputs.WriteOnly(m)...)
		m = ephemeral.Without(m, r.Outputs.WriteOnly(m)...)
	}
	return m
}

// withWriteOnly returns a type of the provider that has write-only inputs, nil for others.
func (s *Session) withWriteOnly(ctx context.Context, typ string) *schema.Resource {
	if typ == "" || IsType(typ) || !s.Understands(abi.FeaturesWriteOnly) {
		return nil
	}
	name := PackageOf(typ)
	pkg, _ := s.schemas.Get(ctx, name, func() (*schema.Package, error) {
		var request abi.GetSchemaRequest
		if s.Name != "" && name != s.Name {
			request.SubpackageName = name
		}
		return readSchema(ctx, s, request)
	})
	if pkg == nil {
		return nil
	}
	if r := pkg.Resource(typ); r != nil && (r.Inputs.HasWriteOnly() || r.Outputs.HasWriteOnly()) {
		return r
	}
	return nil
}
