package builtin

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Invoke calls a function.
func (p *Provider) Invoke(ctx context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	f := p.schema.Function(req.Token)
	if f == nil {
		return abi.InvokeResponse{}, noSuch("function", req.Token, p.schema.NearestFunction(req.Token))
	}
	args, failures := f.Args.Check(req.Args)
	if len(failures) > 0 {
		return abi.InvokeResponse{Failures: failures}, nil
	}
	var result property.Map
	var err error
	switch req.Token {
	case GetResource:
		result, err = p.getResource(args)
	case ReadStackOutputs:
		result, err = p.readStackReference(ctx, args)
	case ReadStackResourceOutputs:
		result, err = p.readStackResourceOutputs(ctx, args)
	}
	return abi.InvokeResponse{Result: result}, err
}

// getResource returns the resource of a reference.
func (p *Provider) getResource(args property.Map) (property.Map, error) {
	u, err := text(args, "urn")
	if err != nil {
		return property.Map{}, err
	}
	res, ok := p.registered(urn.URN(u))
	if !ok {
		return property.Map{}, abi.NewError(abi.ErrorKindNotFound,
			"the program has neither registered nor read a resource with the URN "+u)
	}
	return property.NewMap(
		property.Entry{Key: "urn", Value: property.String(u)},
		property.Entry{Key: "id", Value: res.ID},
		property.Entry{Key: "provider", Value: property.String(res.Provider)},
		property.Entry{Key: "state", Value: property.Object(res.State)},
	), nil
}

func (p *Provider) readStackResourceOutputs(ctx context.Context, args property.Map) (property.Map, error) {
	name, err := text(args, "stackName")
	if err != nil {
		return property.Map{}, err
	}
	outputs, err := p.stacks.resourceOutputs(ctx, name)
	if err != nil {
		return property.Map{}, err
	}
	return property.NewMap(
		property.Entry{Key: "name", Value: args.Get("stackName")},
		property.Entry{Key: "outputs", Value: property.Object(outputs)},
	), nil
}
