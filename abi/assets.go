package abi

import (
	"context"
	"io"
)

// AssetOpener opens the assets and archives that are inputs of one call of a provider,
// known by their hashes. An asset that is not there is the error [ErrNotFound].
type AssetOpener interface {
	// OpenAsset returns the contents in the form that is wanted. Reading them ends with an
	// error where they are no longer what the hash says. The caller must close them.
	OpenAsset(ctx context.Context, hash string, form AssetsForm) (io.ReadCloser, error)
}

type assetOpenerKey struct{}

// WithAssets returns a context whose calls of a provider may read what o opens. The
// engine sets it; a host hands it to the guest as its assets import.
func WithAssets(ctx context.Context, o AssetOpener) context.Context {
	return context.WithValue(ctx, assetOpenerKey{}, o)
}

// AssetsFrom returns the opener that WithAssets set, nil where there is none.
func AssetsFrom(ctx context.Context) AssetOpener {
	o, _ := ctx.Value(assetOpenerKey{}).(AssetOpener)
	return o
}
