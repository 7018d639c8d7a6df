package engine

import (
	"context"
	"errors"
	"io"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// assetLoader makes providers that can read the assets of their calls.
type assetLoader struct {
	Loader
	assets *assets
}

func (l assetLoader) Load(ctx context.Context, spec PackageSpec) (abi.Provider, error) {
	p, err := l.Loader.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	a := &assetProvider{p, l.assets}
	if d, ok := p.(Digester); ok {
		return digestedAssetProvider{a, d}, nil
	}
	return a, nil
}

// assetProvider lets a provider read the assets that are inputs of its calls. Of old
// values it gets hashes only: their files may be gone. Where an answer has such a hash
// again, the contents are put back, so that they are not lost from the state.
type assetProvider struct {
	abi.Provider
	assets *assets
}

type digestedAssetProvider struct {
	*assetProvider
	Digester
}

// Close closes the provider, if it can be.
func (p *assetProvider) Close() error {
	if c, ok := p.Provider.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// offer returns a context in which the assets in news can be read, and no others.
func (p *assetProvider) offer(ctx context.Context, news ...property.Map) context.Context {
	for _, m := range news {
		if m.ContainsAssets() {
			return abi.WithAssets(ctx, requestAssets{p.assets, news})
		}
	}
	if abi.AssetsFrom(ctx) != nil { // those of the call of a component in which this one is made
		return abi.WithAssets(ctx, nil)
	}
	return ctx
}

// elide leaves of the assets in old values only the hashes.
func elide(m property.Map) property.Map {
	if !m.ContainsAssets() {
		return m
	}
	return m.Transform(func(v property.Value) property.Value {
		if a, ok := v.AsAsset(); ok && a.Hash != "" {
			return elided(v)
		}
		if a, ok := v.AsArchive(); ok && a.Hash != "" {
			return elided(v)
		}
		return v
	})
}

func elideOptional(m *property.Map) *property.Map {
	if m == nil {
		return nil
	}
	e := elide(*m)
	return &e
}

// restore gives the assets of an answer that are elided the contents that they had in
// the request.
func restore(answer property.Map, request ...property.Map) property.Map {
	if !answer.ContainsAssets() {
		return answer
	}
	return answer.Transform(func(v property.Value) property.Value {
		asset, isAsset := v.AsAsset()
		archive, isArchive := v.AsArchive()
		if isAsset && asset.Source != property.SourceNone || isArchive && archive.Source != property.SourceNone {
			return v
		}
		for _, m := range request {
			if found, ok := findHash(property.Object(m), asset.Hash+archive.Hash, isArchive); ok {
				return found
			}
		}
		return v
	})
}

// restoreFailure is restore for what a failed creation, update, or reading left behind.
func restoreFailure(err error, request ...property.Map) error {
	var failure *abi.Error
	if !errors.As(err, &failure) || failure.InitFailure == nil {
		return err
	}
	left := *failure.InitFailure
	left.State = restore(left.State, request...)
	if left.Inputs != nil {
		inputs := restore(*left.Inputs, request...)
		left.Inputs = &inputs
	}
	restored := *failure
	restored.InitFailure = &left
	return &restored
}

func given(optional ...*property.Map) []property.Map {
	var maps []property.Map
	for _, m := range optional {
		if m != nil {
			maps = append(maps, *m)
		}
	}
	return maps
}

// Check calls the provider.
func (p *assetProvider) Check(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return p.check(ctx, req, p.Provider.Check)
}

// CheckConfig calls the provider.
func (p *assetProvider) CheckConfig(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return p.check(ctx, req, p.Provider.CheckConfig)
}

func (p *assetProvider) check(ctx context.Context, req abi.CheckRequest,
	method func(context.Context, abi.CheckRequest) (abi.CheckResponse, error),
) (abi.CheckResponse, error) {
	request := given(&req.News, req.Olds)
	req.Olds = elideOptional(req.Olds)
	resp, err := method(p.offer(ctx, req.News), req)
	resp.Inputs = restore(resp.Inputs, request...)
	return resp, err
}

// Diff calls the provider.
func (p *assetProvider) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	req.Olds, req.OldInputs = elide(req.Olds), elide(req.OldInputs)
	return p.Provider.Diff(p.offer(ctx, req.News), req)
}

// DiffConfig calls the provider.
func (p *assetProvider) DiffConfig(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	req.Olds, req.OldInputs = elide(req.Olds), elide(req.OldInputs)
	return p.Provider.DiffConfig(p.offer(ctx, req.News), req)
}

// Configure calls the provider.
func (p *assetProvider) Configure(ctx context.Context, req abi.ConfigureRequest) error {
	return p.Provider.Configure(p.offer(ctx, req.Inputs), req)
}

// Create calls the provider.
func (p *assetProvider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	resp, err := p.Provider.Create(p.offer(ctx, req.Inputs), req)
	resp.State = restore(resp.State, req.Inputs)
	return resp, restoreFailure(err, req.Inputs)
}

// Read calls the provider.
func (p *assetProvider) Read(ctx context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	request := given(req.Inputs, req.State)
	req.State, req.Inputs = elideOptional(req.State), elideOptional(req.Inputs)
	resp, err := p.Provider.Read(p.offer(ctx), req)
	resp.State = restore(resp.State, request...)
	if resp.Inputs != nil {
		inputs := restore(*resp.Inputs, request...)
		resp.Inputs = &inputs
	}
	return resp, restoreFailure(err, request...)
}

// Update calls the provider.
func (p *assetProvider) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	request := []property.Map{req.News, req.Olds, req.OldInputs}
	req.Olds, req.OldInputs = elide(req.Olds), elide(req.OldInputs)
	resp, err := p.Provider.Update(p.offer(ctx, req.News), req)
	resp.State = restore(resp.State, request...)
	return resp, restoreFailure(err, request...)
}

// Delete calls the provider.
func (p *assetProvider) Delete(ctx context.Context, req abi.DeleteRequest) error {
	req.State, req.OldInputs = elide(req.State), elide(req.OldInputs)
	return p.Provider.Delete(p.offer(ctx), req)
}

// Invoke calls the provider.
func (p *assetProvider) Invoke(ctx context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	resp, err := p.Provider.Invoke(p.offer(ctx, req.Args), req)
	resp.Result = restore(resp.Result, req.Args)
	return resp, err
}

// StreamInvoke calls the provider.
func (p *assetProvider) StreamInvoke(ctx context.Context, req abi.InvokeRequest) (abi.StreamHandle, error) {
	return p.Provider.StreamInvoke(p.offer(ctx, req.Args), req)
}

// Call calls the provider.
func (p *assetProvider) Call(ctx context.Context, req abi.CallRequest) (abi.CallResponse, error) {
	return p.Provider.Call(p.offer(ctx, req.Args), req)
}

// Construct calls the provider.
func (p *assetProvider) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	return p.Provider.Construct(p.offer(ctx, req.Inputs), req)
}
