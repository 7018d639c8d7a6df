package providers

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
)

// WriteOnly returns the places of write-only values in the inputs of a type.
func (s *Session) WriteOnly(ctx context.Context, typ string, inputs property.Map) ([]property.Path, error) {
	r, err := s.withWriteOnly(ctx, typ)
	if r == nil {
		return nil, err
	}
	return r.Inputs.WriteOnly(inputs), nil
}

// MissingWriteOnly returns the required write-only inputs of a type that the inputs do not have, and the failures
// of their check that are about others.
func (s *Session) MissingWriteOnly(ctx context.Context, typ string, inputs property.Map, failures []abi.CheckFailure) (missing []string, others []abi.CheckFailure, err error) {
	r, err := s.withWriteOnly(ctx, typ)
	if r == nil {
		return nil, failures, err
	}
	for _, f := range failures {
		if p := r.Inputs.Property(f.Path); p != nil && p.WriteOnly && !inputs.Has(p.Name) {
			missing = append(missing, p.Name)
		} else {
			others = append(others, f)
		}
	}
	return missing, others, nil
}

// recordable returns the properties that a provider returned for a resource, without the ones that must not be recorded. The type
// is nil if it has no write-only inputs.
func (s *Session) recordable(of abi.Subject, typ *schema.Resource, m property.Map) property.Map {
	m = s.withheld.Strip(of.URN, m)
	if typ != nil {
		m = ephemeral.Without(m, typ.Inputs.WriteOnly(m)...)
		m = ephemeral.Without(m, typ.Outputs.WriteOnly(m)...)
	}
	return m
}

// withWriteOnly returns a type of the provider that has write-only inputs, nil for others. It fails if the
// schema cannot be read, because the values would then be recorded.
func (s *Session) withWriteOnly(ctx context.Context, typ string) (*schema.Resource, error) {
	if typ == "" || IsType(typ) || !s.Understands(abi.FeaturesWriteOnly) {
		return nil, nil
	}
	name := PackageOf(typ)
	pkg, err := s.schemas.Get(ctx, name, func() (*schema.Package, error) {
		var request abi.GetSchemaRequest
		if version, extends := s.extensions.Lookup(name); extends {
			request = abi.GetSchemaRequest{SubpackageName: name, SubpackageVersion: version}
		}
		return readSchema(ctx, s, request)
	})
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of %s, which says what must not be recorded: %w", name, err)
	}
	if r := pkg.Resource(typ); r != nil && (r.Inputs.HasWriteOnly() || r.Outputs.HasWriteOnly()) {
		return r, nil
	}
	return nil, nil
}
