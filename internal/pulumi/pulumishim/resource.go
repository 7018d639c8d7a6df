package pulumishim

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// engineKeys are properties of a provider that are for Pulumi's engine.
var engineKeys = []string{"version", "pluginDownloadURL"}

// own splits a configuration into the provider's own and the engine's settings. A module never sees it.
func own(config property.Map) (rest, engines property.Map) {
	for _, key := range engineKeys {
		if v, ok := config.Lookup(key); ok {
			config, engines = config.Without(key), engines.With(key, v)
		}
	}
	return config, engines
}

func (s *Shim) checkConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	s.begin()
	given, engines := own(request.News)
	request.News = s.nested(ctx, given)
	if request.Olds != nil {
		olds, _ := own(*request.Olds)
		request.Olds = &olds
	}
	response, err := s.provider.CheckConfig(ctx, request)
	if errors.Is(err, abi.ErrUnimplemented) {
		response, err = abi.CheckResponse{Inputs: request.News}, nil
	}
	for key, v := range engines.All() {
		response.Inputs = response.Inputs.With(key, v)
	}
	return response, err
}

func (s *Shim) diffConfig(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	s.begin()
	for _, m := range []*property.Map{&request.Olds, &request.News, &request.OldInputs} {
		given, _ := own(*m)
		*m = s.nested(ctx, given)
	}
	return s.provider.DiffConfig(ctx, request)
}

func (s *Shim) configure(ctx context.Context, request abi.ConfigureRequest) (struct{}, error) {
	s.begin()
	given, _ := own(request.Inputs)
	request.Inputs = s.nested(ctx, given)
	select {
	case s.configuring <- struct{}{}:
		defer func() { <-s.configuring }()
	case <-ctx.Done():
		return struct{}{}, ctx.Err()
	}
	switch {
	case s.configured == nil:
	case s.configured.Equal(request.Inputs):
		return struct{}{}, nil // Pulumi attaches to the same port again
	default:
		return struct{}{}, abi.NewError(abi.ErrorKindInvalidArgument, "the provider "+s.Name+" that is served at a port has another configuration already, "+
			"and it has one: start husk provider serve anew, or use husk provider shim: Pulumi starts one plugin for each configuration")
	}
	err := s.provider.Configure(ctx, request)
	if errors.Is(err, abi.ErrUnimplemented) {
		err = nil
	}
	if err == nil {
		s.configured = &request.Inputs
	}
	return struct{}{}, err
}

// writeConfigured answers engines of before the handshake.
func (s *Shim) writeConfigured(out pulumiwire.Message, _ struct{}) {
	out.Set("acceptSecrets", s.has(abi.FeaturesSecrets))
	out.Set("acceptResources", s.has(abi.FeaturesResourceReferences))
	out.Set("acceptOutputs", s.has(abi.FeaturesOutputs))
	out.Set("supports_autonaming_configuration", s.has(abi.FeaturesAutonaming))
	out.Set("supportsPreview", true) // see create
}

func (s *Shim) check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := s.provider.Check(ctx, request)
	if errors.Is(err, abi.ErrUnimplemented) {
		return abi.CheckResponse{Inputs: request.News}, nil
	}
	return response, err
}

// create answers the preview of a provider that has none with no outputs, which are unknown then.
func (s *Shim) create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if request.Preview && !s.has(abi.FeaturesPreview) {
		return abi.CreateResponse{}, nil
	}
	return s.provider.Create(ctx, request)
}

func (s *Shim) update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if request.Preview && !s.has(abi.FeaturesPreview) {
		return abi.UpdateResponse{}, nil
	}
	return s.provider.Update(ctx, request)
}

// read answers as Husk's engine takes it: what the provider cannot read stays as it is, if it does not know
// that the object is gone. An error is none of its answers, whatever kind it has.
func (s *Shim) read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := s.provider.Read(ctx, request)
	if !errors.Is(err, abi.ErrUnimplemented) || request.State == nil || request.Inputs == nil {
		return response, err
	}
	there, unknown := s.provider.Exists(ctx, abi.ExistsRequest{
		URN: request.URN, Name: request.Name, Type: request.Type, ID: request.ID, State: request.State, Timeout: request.Timeout,
	})
	switch {
	case unknown != nil && !errors.Is(unknown, abi.ErrUnimplemented):
		return response, unknown
	case unknown == nil && !there.Exists:
		return abi.ReadResponse{}, nil
	}
	return abi.ReadResponse{ID: request.ID, State: *request.State, Inputs: request.Inputs}, nil
}

func (s *Shim) delete(ctx context.Context, request abi.DeleteRequest) (struct{}, error) {
	return struct{}{}, s.provider.Delete(ctx, request)
}

// list streams one page, and where the next begins.
func (s *Shim) list(ctx context.Context, in pulumiwire.Message, send func(pulumiwire.Message) error) error {
	request, err := pulumiwire.ReadList(in)
	if err != nil {
		return abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	ctx, end := s.during(ctx)
	defer end()
	if request.Query.ContainsUnknowns() {
		m := pulumigrpc.NewMessage("pulumirpc.ListResponse")
		m.Make("computed")
		return send(m)
	}
	response, err := s.provider.List(ctx, request)
	if err != nil {
		return err
	}
	for _, found := range response.Resources {
		m := pulumigrpc.NewMessage("pulumirpc.ListResponse")
		result := m.Make("result")
		result.Set("id", found.ID)
		result.Set("name", found.Name)
		if err := send(m); err != nil {
			return err
		}
	}
	if response.ContinuationToken == "" {
		return nil
	}
	m := pulumigrpc.NewMessage("pulumirpc.ListResponse")
	m.Make("continuation").Set("continuation_token", response.ContinuationToken)
	return send(m)
}
