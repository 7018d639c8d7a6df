package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
)

// monitor answers at once, and keeps nothing.
type monitor struct{ callback.Monitor }

func (monitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	response := abi.RegisterResourceResponse{URN: urn.New("dev", "grown", r.Parent, r.Type, r.Name), State: r.Inputs.Lower(property.KindOutput)}
	if r.Custom {
		response.ID = r.Name
	}
	return response, nil
}

func (monitor) ReadResource(_ context.Context, r abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return abi.ReadResourceResponse{URN: urn.New("dev", "grown", r.Parent, r.Type, r.Name), State: r.Properties}, nil
}

func (monitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }

func (monitor) RegisterPackage(_ context.Context, r abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return abi.RegisterPackageResponse{Name: r.Name, PackageRef: r.Name}, nil
}

func (monitor) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{Result: property.NewMap(property.Entry{Key: "id", Value: property.String("x")})}, nil
}

func (monitor) RegisterAction(callback.Action) error { return nil }

func (monitor) Foreign(_ context.Context, v property.Value, _ string) (property.Value, error) {
	return v, nil
}

// schemas has the package bare, without a schema, cloud, and those whose names begin with p.
type schemas struct{}

var cloud = func() *schema.Package {
	s, err := schemajson.Parse([]byte(`{
		"name": "cloud", "version": "1.0.0",
		"resources": {"cloud:index/server:Server": {
			"inputProperties": {
				"size": {"type": "integer"},
				"tags": {"type": "object", "additionalProperties": {"type": "string"}},
				"rules": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}
			},
			"requiredInputs": ["size"],
			"properties": {"size": {"type": "integer"}, "tags": {"type": "object", "additionalProperties": {"type": "string"}}}
		}},
		"functions": {"cloud:index/findImage:findImage": {
			"inputs": {"properties": {"name": {"type": "string"}}},
			"outputs": {"properties": {"id": {"type": "string"}}}
		}}
	}`))
	if err != nil {
		panic(err)
	}
	return s
}()

func (schemas) Package(_ context.Context, pkg program.Package) (*schema.Package, error) {
	switch {
	case pkg.Source == "bare", strings.HasPrefix(pkg.Source, "p"):
		return nil, nil
	case pkg.Source == "cloud":
		return cloud, nil
	}
	return nil, fmt.Errorf("%w %q", yamlprogram.ErrUnknownPackage, pkg.Source)
}
