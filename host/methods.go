package host

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/internal/printable"
)

// Handshake asks the module who it is.
func (p *Provider) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, known := p.deferHandshake(ctx, request)
	if !known {
		var err error
		if response, err = establish(ctx, &p.sandbox, abi.MethodHandshake, true, request, (*canon.Guest).Handshake); err != nil {
			return response, err
		}
		if p.isItself() {
			p.module.answers.NoteHandshake(request, response)
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
	response, err := establish(ctx, &p.sandbox, abi.MethodParameterize, !request.Extension, request, (*canon.Guest).Parameterize)
	if err == nil {
		p.packages.become(response, request.Extension)
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
		if _, err := establish(ctx, &p.sandbox, abi.MethodConfigure, true, request, answerless((*canon.Guest).Configure)); err != nil {
			return err
		}
	}
	p.isConfigured.Store(true)
	return nil
}

// GetSchema returns the package's schema.
func (p *Provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if text := p.module.answers.Schema(); text != "" && p.isItself() && request == (abi.GetSchemaRequest{}) &&
		!p.lenient && p.mayAnswer(ctx) {
		return abi.GetSchemaResponse{Schema: text}, nil
	}
	return p.calls.GetSchema(ctx, request)
}

// serve makes a call: the schema answers it, or the guest does, whose answer is held to the
// contract. The methods in this file and those of streams are all that do anything else.
func (p *Provider) serve(ctx context.Context, c *abi.Call) error {
	var d declared
	if c.Method.About() != abi.AboutPackage && (c.HasProperties() || c.Method.Kind() == abi.KindAsks) {
		d = p.declaredOf(ctx, c.Method, c.Subject())
	}
	if p.answerBySchema(ctx, c, d) {
		return nil
	}
	if c.Method.Kind() == abi.KindChanges && !c.Subject().Preview {
		p.needWhole()
	}
	err := p.sandbox.serve(ctx, c.Method, func(ctx context.Context, guest *canon.Guest) error { return c.DoWith(ctx, guest) })
	if err = p.deletesFirst(c, d, err); err != nil {
		return p.checkFailed(c, d, err)
	}
	if failures := c.Failures(); failures != nil {
		*failures = printableFailures(*failures)
	}
	return p.breach(c.Method, p.violation(c, d))
}

// answerless makes a method without an answer into one with an empty answer.
func answerless[Q any](do func(*canon.Guest, context.Context, Q) error) func(*canon.Guest, context.Context, Q) (struct{}, error) {
	return func(guest *canon.Guest, ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, do(guest, ctx, request)
	}
}
