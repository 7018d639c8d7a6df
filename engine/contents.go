package engine

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/contents"
)

// WithContents returns a provider whose calls are those of a deployment as far as assets
// and archives are concerned: what is new in a request gets its hash, and can be read
// from the source during the call; of what is old there is the hash alone. It is for
// those who call a provider without a deployment, such as its tests, and must not be
// given requests that a provider made: whoever names a file in one has it read.
//
// The provider is an [io.Closer], which closes p if that can be closed.
func WithContents(p abi.Provider, source contents.Source) abi.Provider {
	return &contentsProvider{&assetProvider{p, newAssets(source)}}
}

type contentsProvider struct{ *assetProvider }

// Check calls the provider.
func (p *contentsProvider) Check(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	var err error
	if req.News, err = p.assets.admit(ctx, req.News, true); err != nil {
		return abi.CheckResponse{}, err
	}
	return p.assetProvider.Check(ctx, req)
}

// CheckConfig calls the provider.
func (p *contentsProvider) CheckConfig(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	var err error
	if req.News, err = p.assets.admit(ctx, req.News, true); err != nil {
		return abi.CheckResponse{}, err
	}
	return p.assetProvider.CheckConfig(ctx, req)
}

// Diff calls the provider.
func (p *contentsProvider) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	var err error
	if req.News, err = p.assets.admit(ctx, req.News, true); err != nil {
		return abi.DiffResponse{}, err
	}
	return p.assetProvider.Diff(ctx, req)
}

// Create calls the provider.
func (p *contentsProvider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	var err error
	if req.Inputs, err = p.assets.admit(ctx, req.Inputs, true); err != nil {
		return abi.CreateResponse{}, err
	}
	return p.assetProvider.Create(ctx, req)
}

// Update calls the provider.
func (p *contentsProvider) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	var err error
	if req.News, err = p.assets.admit(ctx, req.News, true); err != nil {
		return abi.UpdateResponse{}, err
	}
	return p.assetProvider.Update(ctx, req)
}

// Invoke calls the provider.
func (p *contentsProvider) Invoke(ctx context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	var err error
	if req.Args, err = p.assets.admit(ctx, req.Args, true); err != nil {
		return abi.InvokeResponse{}, err
	}
	return p.assetProvider.Invoke(ctx, req)
}

// StreamInvoke calls the provider.
func (p *contentsProvider) StreamInvoke(ctx context.Context, req abi.InvokeRequest) (abi.StreamHandle, error) {
	var err error
	if req.Args, err = p.assets.admit(ctx, req.Args, true); err != nil {
		return 0, err
	}
	return p.assetProvider.StreamInvoke(ctx, req)
}

// Call calls the provider.
func (p *contentsProvider) Call(ctx context.Context, req abi.CallRequest) (abi.CallResponse, error) {
	var err error
	if req.Args, err = p.assets.admit(ctx, req.Args, true); err != nil {
		return abi.CallResponse{}, err
	}
	return p.assetProvider.Call(ctx, req)
}

// Construct calls the provider.
func (p *contentsProvider) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	var err error
	if req.Inputs, err = p.assets.admit(ctx, req.Inputs, true); err != nil {
		return abi.ConstructResponse{}, err
	}
	return p.assetProvider.Construct(ctx, req)
}
