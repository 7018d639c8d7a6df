package abi

import (
	"context"
	"io"
)

// AssetOpener opens the assets and archives among the inputs of one call of a provider by their
// hashes. The error for an unknown asset is [ErrNotFound].
type AssetOpener interface {
	// OpenAsset returns the contents in a form. Reading fails at the end if they do not have the
	// hash any more. The caller must close them.
	OpenAsset(ctx context.Context, hash string, form AssetsForm) (io.ReadCloser, error)
}

type assetOpenerKey struct{}

// WithAssets returns a context for calls of a provider that may read from o. The engine sets it, and
// a host offers it to the guest as its assets import.
func WithAssets(ctx context.Context, o AssetOpener) context.Context {
	return context.WithValue(ctx, assetOpenerKey{}, o)
}

// AssetsFrom returns the opener of WithAssets, or nil.
func AssetsFrom(ctx context.Context) AssetOpener {
	o, _ := ctx.Value(assetOpenerKey{}).(AssetOpener)
	return o
}
