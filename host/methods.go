package host

import (
	"context"
	"errors"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/printable"
)

// Handshake asks the module who it is.
func (p *Provider) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, known := p.deferHandshake(ctx, request)
	if !known {
		var err error
		if response, err = establish(ctx, &p.sandbox, "handshake", true, request, (*canon.Guest).Handshake); err != nil {
			return response, err
		}
		if p.isItself() {
			p.module.answers.shook(request, response)
		}
	}
	response.Requests = slices.Clone(response.Requests)
	response.Name, response.Version, response.SDK = printable.Line(response.Name), printable.Line(response.Version), printable.Line(response.SDK)
	for i, r := range response.Requests {
		response.Requests[i] = abi.CapabilityRequest{
			Capability: printable.Line(r.Capability), Scope: printable.Line(r.Scope), Reason: printable.Line(r.Reason), Optional: r.Optional,
		}
	}
	if err := p.checkIdentity(response); err != nil {
		return abi.HandshakeResponse{}, err
	}
	p.knowsNoSecrets.Store(request.Features&^response.Features&abi.FeaturesSecrets != 0)
	if response.Name != "" {
		p.identity.Store(&identity{response.Name, response.Version})
	}
	return response, nil
}

// Parameterize makes the provider into another package, or extends it.
func (p *Provider) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	response, err := establish(ctx, &p.sandbox, "parameterize", !request.Extension, request, (*canon.Guest).Parameterize)
	if err == nil {
		p.declared.become(response, request.Extension)
	}
	if err == nil && !request.Extension && response.Name != "" {
		p.identity.Store(&identity{printable.Line(response.Name), printable.Line(response.Version)})
	}
	return response, err
}

// Configure configures all instances.
func (p *Provider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	p.resource.Store(&request.URN)
	if !p.deferConfigure(ctx, request) {
		if _, err := establish(ctx, &p.sandbox, "configure", true, request, answerless((*canon.Guest).Configure)); err != nil {
			return err
		}
	}
	p.isConfigured.Store(true)
	return nil
}

// GetSchema answers the package's schema.
func (p *Provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if text := p.module.answers.schema(); text != "" && p.isItself() && request == (abi.GetSchemaRequest{}) &&
		!p.lenient && p.mayAnswer(ctx) {
		return abi.GetSchemaResponse{Schema: text}, nil
	}
	return call(ctx, &p.sandbox, "get-schema", request, (*canon.Guest).GetSchema)
}

// GetMapping answers how names of another ecosystem map to this package's.
func (p *Provider) GetMapping(ctx context.Context, request abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	return call(ctx, &p.sandbox, "get-mapping", request, (*canon.Guest).GetMapping)
}

// GetMappings answers which source providers GetMapping knows.
func (p *Provider) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	return call(ctx, &p.sandbox, "get-mappings", request, (*canon.Guest).GetMappings)
}

// CheckConfig validates configuration.
func (p *Provider) CheckConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	pkg := p.declares(ctx, "")
	if response, ok := p.checkConfigBySchema(ctx, pkg, &request); ok {
		return response, nil
	}
	response, err := call(ctx, &p.sandbox, "check-config", request, (*canon.Guest).CheckConfig)
	response.Failures = printableFailures(response.Failures)
	if err != nil || pkg == nil {
		return response, err
	}
	return response, p.breach("check-config", p.checkInputs(pkg.Config.CheckConfig, request.News, &response))
}

// Check validates the inputs of a resource.
func (p *Provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	declared := p.declaredResource(ctx, request.Type, request.URN)
	if response, ok := p.checkBySchema(ctx, declared, &request); ok {
		return response, nil
	}
	response, err := call(ctx, &p.sandbox, "check", request, (*canon.Guest).Check)
	response.Failures = printableFailures(response.Failures)
	if err != nil || declared == nil {
		return response, err
	}
	return response, p.breach("check", p.checkInputs(declared.Inputs.Check, request.News, &response))
}

// DiffConfig tells whether a new configuration can manage what the old one made.
func (p *Provider) DiffConfig(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	pkg := p.declares(ctx, "")
	if response, ok := p.diffConfigBySchema(ctx, pkg, &request); ok {
		return response, nil
	}
	response, err := call(ctx, &p.sandbox, "diff-config", request, (*canon.Guest).DiffConfig)
	if err != nil || p.lenient {
		return response, err
	}
	var declared []*schema.Object
	if pkg != nil {
		declared = append(declared, &pkg.Config)
	}
	return response, p.breach("diff-config", checkDiff(response, declared...))
}

// Diff compares state and inputs.
func (p *Provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	r := p.declaredResource(ctx, request.Type, request.URN)
	if response, ok := p.diffBySchema(ctx, r, &request); ok {
		return response, nil
	}
	response, err := call(ctx, &p.sandbox, "diff", request, (*canon.Guest).Diff)
	if identified := r != nil && len(r.Identity) > 0; identified && r.DeletesFirst(request) && !p.lenient {
		if errors.Is(err, abi.ErrUnimplemented) {
			response, err = abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
		}
		response.DeleteBeforeReplace = true
	}
	if err != nil || p.lenient {
		return response, err
	}
	var declared []*schema.Object
	if r != nil {
		declared = append(declared, &r.Inputs, &r.Outputs)
	}
	return response, p.breach("diff", checkDiff(response, declared...))
}

// Create makes a resource.
func (p *Provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	declared := p.declaredResource(ctx, request.Type, request.URN)
	if !request.Preview {
		p.needWhole()
	}
	response, err := call(ctx, &p.sandbox, "create", request, (*canon.Guest).Create)
	if err != nil {
		return response, p.checkFailed("create", "", property.Map{}, err, declared)
	}
	return response, p.breach("create", p.checkCreated(response, request.Preview, declared))
}

// Read answers a resource as it is now.
func (p *Provider) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	declared := p.declaredResource(ctx, request.Type, request.URN)
	response, err := call(ctx, &p.sandbox, "read", request, (*canon.Guest).Read)
	if err != nil {
		return response, p.checkFailed("read", request.ID, bagOf(request.State), err, declared)
	}
	return response, p.breach("read", p.checkRead(request, response, declared))
}

// Update changes a resource.
func (p *Provider) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	declared := p.declaredResource(ctx, request.Type, request.URN)
	response, err := call(ctx, &p.sandbox, "update", request, (*canon.Guest).Update)
	if err != nil {
		return response, p.checkFailed("update", request.ID, request.Olds, err, declared)
	}
	return response, p.breach("update", p.checkUpdated(request, response, declared))
}

// Delete removes a resource.
func (p *Provider) Delete(ctx context.Context, request abi.DeleteRequest) error {
	_, err := call(ctx, &p.sandbox, "delete", request, answerless((*canon.Guest).Delete))
	return err
}

// List answers one page of the existing resources of a type.
func (p *Provider) List(ctx context.Context, request abi.ListRequest) (abi.ListResponse, error) {
	response, err := call(ctx, &p.sandbox, "list", request, (*canon.Guest).List)
	if err != nil {
		return response, err
	}
	return response, p.breach("list", checkListed(response))
}

// Invoke calls a function.
func (p *Provider) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	declared := p.declaredFunction(ctx, request.Token)
	response, err := call(ctx, &p.sandbox, "invoke", request, (*canon.Guest).Invoke)
	response.Failures = printableFailures(response.Failures)
	if err != nil || len(response.Failures) > 0 {
		return response, err
	}
	return response, p.breach("invoke", p.check(result(response.Result, false, declared)))
}

// Call calls a method of a component.
func (p *Provider) Call(ctx context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	declared := p.declaredFunction(ctx, request.Token)
	response, err := call(ctx, &p.sandbox, "call", request, (*canon.Guest).Call)
	response.Failures = printableFailures(response.Failures)
	if err != nil || len(response.Failures) > 0 {
		return response, err
	}
	return response, p.breach("call", p.check(result(response.Result, request.Context.DryRun, declared)))
}

// Construct makes a component.
func (p *Provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	declared := p.declaredResource(ctx, request.Type, "")
	response, err := call(ctx, &p.sandbox, "construct", request, (*canon.Guest).Construct)
	if err != nil {
		return response, err
	}
	return response, p.breach("construct", p.check(state(response.State, property.Map{}, request.Context.DryRun, declared)))
}

// answerless makes a method without an answer into one with an empty answer.
func answerless[Q any](do func(*canon.Guest, context.Context, Q) error) func(*canon.Guest, context.Context, Q) (struct{}, error) {
	return func(guest *canon.Guest, ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, do(guest, ctx, request)
	}
}
