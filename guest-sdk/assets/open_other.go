//go:build !wasip1

package assets

import (
	"context"
	"io"

	"github.com/husk-dev/husk/abi"
)

// open asks who calls the provider, which is part of the same program.
func open(ctx context.Context, hash string, form abi.AssetsForm) (io.ReadCloser, error) {
	opener := abi.AssetsFrom(ctx)
	if opener == nil {
		return nil, abi.NewError(abi.ErrorKindNotFound, "the call was passed no assets")
	}
	return opener.OpenAsset(ctx, hash, form)
}
