package engine

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// countedProvider counts what the calls of a provider cost: those that deployments make.
type countedProvider struct {
	abi.Provider
	costs *costs
}

func counted[Q, R any](ctx context.Context, p *countedProvider, method string, do func(context.Context, Q) (R, error), request Q) (response R, err error) {
	p.costs.count(ctx, method, func() error {
		response, err = do(ctx, request)
		return err
	})
	return response, err
}

// answerless is a call without an answer as one with one.
func answerless[Q any](do func(context.Context, Q) error) func(context.Context, Q) (struct{}, error) {
	return func(ctx context.Context, request Q) (struct{}, error) { return struct{}{}, do(ctx, request) }
}

// Configure applies a configuration.
func (p *countedProvider) Configure(ctx context.Context, r abi.ConfigureRequest) error {
	p.costs.mu.Lock()
	p.costs.urn = r.URN
	p.costs.mu.Unlock()
	_, err := counted(ctx, p, "configure", answerless(p.Provider.Configure), r)
	return err
}

// Delete deletes a resource.
func (p *countedProvider) Delete(ctx context.Context, r abi.DeleteRequest) error {
	_, err := counted(ctx, p, "delete", answerless(p.Provider.Delete), r)
	return err
}

// Handshake calls the provider.
func (p *countedProvider) Handshake(ctx context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return counted(ctx, p, "handshake", p.Provider.Handshake, r)
}

// Parameterize calls the provider.
func (p *countedProvider) Parameterize(ctx context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	return counted(ctx, p, "parameterize", p.Provider.Parameterize, r)
}

// GetSchema calls the provider.
func (p *countedProvider) GetSchema(ctx context.Context, r abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return counted(ctx, p, "get-schema", p.Provider.GetSchema, r)
}

// CheckConfig calls the provider.
func (p *countedProvider) CheckConfig(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return counted(ctx, p, "check-config", p.Provider.CheckConfig, r)
}

// DiffConfig calls the provider.
func (p *countedProvider) DiffConfig(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	return counted(ctx, p, "diff-config", p.Provider.DiffConfig, r)
}

// Check calls the provider.
func (p *countedProvider) Check(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return counted(ctx, p, "check", p.Provider.Check, r)
}

// Diff calls the provider.
func (p *countedProvider) Diff(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	return counted(ctx, p, "diff", p.Provider.Diff, r)
}

// Create calls the provider.
func (p *countedProvider) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	return counted(ctx, p, "create", p.Provider.Create, r)
}

// Read calls the provider.
func (p *countedProvider) Read(ctx context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	return counted(ctx, p, "read", p.Provider.Read, r)
}

// Update calls the provider.
func (p *countedProvider) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	return counted(ctx, p, "update", p.Provider.Update, r)
}

// Invoke calls the provider.
func (p *countedProvider) Invoke(ctx context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	return counted(ctx, p, "invoke", p.Provider.Invoke, r)
}

// Call calls the provider.
func (p *countedProvider) Call(ctx context.Context, r abi.CallRequest) (abi.CallResponse, error) {
	return counted(ctx, p, "call", p.Provider.Call, r)
}

// Construct calls the provider.
func (p *countedProvider) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	return counted(ctx, p, "construct", p.Provider.Construct, r)
}
