package engine

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/contents"
)

// WithContents returns a provider whose calls are those of a deployment as far as assets
// and archives are concerned: what is new in a request gets its hash, and can be read
// from the source during the call; of what is old there is the hash alone. It is for
// those who call a provider without a deployment, such as its tests. Whoever names a file in a
// request has it read, but for what an answer of the provider has named first: of that, the answer
// has only the hash.
//
// The provider is an [io.Closer], which closes p if that can be closed.
func WithContents(p abi.Provider, source contents.Source) abi.Provider {
	return &contentsProvider{&assetProvider{p, newAssets(source)}}
}

type contentsProvider struct{ *assetProvider }

// with calls a method with a request whose new values have their hashes.
func with[Q, R any](ctx context.Context, p *contentsProvider, news *property.Map, req *Q,
	method func(context.Context, Q) (R, error), answer func(*R) []*property.Map,
) (resp R, err error) {
	if *news, err = p.assets.admit(ctx, *news, true); err != nil {
		return resp, err
	}
	resp, err = method(ctx, *req)
	for _, m := range answer(&resp) {
		*m = p.assets.withhold(*m)
	}
	return resp, p.withholdFailure(err)
}

// withholdFailure is withhold for what a failed creation, update, or reading left behind.
func (p *contentsProvider) withholdFailure(err error) error {
	var failure *abi.Error
	if !errors.As(err, &failure) || failure.InitFailure == nil {
		return err
	}
	left := *failure.InitFailure
	left.State = p.assets.withhold(left.State)
	left.Inputs = p.withholdOptional(left.Inputs)
	withheld := *failure
	withheld.InitFailure = &left
	return &withheld
}

func (p *contentsProvider) withholdOptional(m *property.Map) *property.Map {
	if m == nil {
		return nil
	}
	withheld := p.assets.withhold(*m)
	return &withheld
}

// Check calls the provider.
func (p *contentsProvider) Check(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return with(ctx, p, &req.News, &req, p.assetProvider.Check, checkedInputs)
}

// CheckConfig calls the provider.
func (p *contentsProvider) CheckConfig(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return with(ctx, p, &req.News, &req, p.assetProvider.CheckConfig, checkedInputs)
}

func checkedInputs(r *abi.CheckResponse) []*property.Map { return []*property.Map{&r.Inputs} }

// Diff calls the provider.
func (p *contentsProvider) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	return with(ctx, p, &req.News, &req, p.assetProvider.Diff, func(*abi.DiffResponse) []*property.Map { return nil })
}

// Create calls the provider.
func (p *contentsProvider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	return with(ctx, p, &req.Inputs, &req, p.assetProvider.Create, func(r *abi.CreateResponse) []*property.Map { return []*property.Map{&r.State} })
}

// Read calls the provider.
func (p *contentsProvider) Read(ctx context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	resp, err := p.assetProvider.Read(ctx, req)
	resp.State, resp.Inputs = p.assets.withhold(resp.State), p.withholdOptional(resp.Inputs)
	return resp, p.withholdFailure(err)
}

// Update calls the provider.
func (p *contentsProvider) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	return with(ctx, p, &req.News, &req, p.assetProvider.Update, func(r *abi.UpdateResponse) []*property.Map { return []*property.Map{&r.State} })
}

// Invoke calls the provider.
func (p *contentsProvider) Invoke(ctx context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	return with(ctx, p, &req.Args, &req, p.assetProvider.Invoke, func(r *abi.InvokeResponse) []*property.Map { return []*property.Map{&r.Result} })
}

// StreamInvoke calls the provider.
func (p *contentsProvider) StreamInvoke(ctx context.Context, req abi.InvokeRequest) (abi.StreamHandle, error) {
	return with(ctx, p, &req.Args, &req, p.assetProvider.StreamInvoke, func(*abi.StreamHandle) []*property.Map { return nil })
}

// StreamNext calls the provider.
func (p *contentsProvider) StreamNext(ctx context.Context, stream abi.StreamHandle) (abi.StreamItem, error) {
	item, err := p.assetProvider.StreamNext(ctx, stream)
	item.Result = p.withholdOptional(item.Result)
	return item, err
}

// Call calls the provider.
func (p *contentsProvider) Call(ctx context.Context, req abi.CallRequest) (abi.CallResponse, error) {
	return with(ctx, p, &req.Args, &req, p.assetProvider.Call, func(r *abi.CallResponse) []*property.Map { return []*property.Map{&r.Result} })
}

// Construct calls the provider.
func (p *contentsProvider) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	return with(ctx, p, &req.Inputs, &req, p.assetProvider.Construct, func(r *abi.ConstructResponse) []*property.Map { return []*property.Map{&r.State} })
}
