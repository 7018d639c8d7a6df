package adapter

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

func (p *provider) CheckConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	pkg, err := p.describe(ctx)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	ctx, end := begin(ctx, request.URN, 0)
	defer end()
	inputs, failed := pkg.Config.CheckConfig(request.News)
	if len(failed) > 0 {
		return abi.CheckResponse{Inputs: request.News, Failures: failed}, nil
	}
	failed, err = validate(ctx, pkg.schemas.Provider.Attributes, inputs, func(config *tf.Value) (tf.Diagnostics, error) {
		return p.server.ValidateProvider(ctx, config)
	})
	return abi.CheckResponse{Inputs: inputs, Failures: failed}, err
}

func (p *provider) DiffConfig(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	pkg, err := p.describe(ctx)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	return pkg.Package.DiffConfig(request)
}

func (p *provider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	pkg, err := p.describe(ctx)
	if err != nil {
		return err
	}
	if missing := pkg.Config.Missing(request.Inputs); len(missing) > 0 {
		e := abi.NewError(abi.ErrorKindInvalidArgument, "the configuration of "+p.name+" is not complete")
		for _, property := range missing {
			e.MissingKeys = append(e.MissingKeys, abi.MissingKey{Name: property.Name, Description: property.Description})
		}
		return e
	}
	if request.Inputs.ContainsUnknowns() {
		p.undecided.Store(true)
		return nil
	}
	p.undecided.Store(false)
	ctx, end := begin(ctx, request.URN, 0)
	defer end()
	s := pkg.schemas.Provider.Attributes
	config, err := (&encoder{config: true}).object(s, request.Inputs)
	if err != nil {
		return err
	}
	v, err := encoded(config)
	if err != nil {
		return abi.AsError(err)
	}
	found, err := p.server.Configure(ctx, v, terraformVersion)
	return outcome(ctx, found, err, &located{s, config})
}
