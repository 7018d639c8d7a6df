package capability

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/husk-dev/husk/abi"
)

const (
	// MaxOpenAssets is how many assets and archives one call may be reading at once. Each
	// can hold a file open and an archive that is being made.
	MaxOpenAssets = 16

	// MaxAssetChunk bounds how much of an asset is passed at once, in bytes. It is copied
	// twice on its way; larger ones are not faster.
	MaxAssetChunk = 256 << 10

	// assetBytes and archiveBytes are the least memory that the host holds for an open asset, in bytes.
	assetBytes   = 32 << 10
	archiveBytes = 4 << 20
)

// Assets gives one call of a provider the contents of the assets that it was passed (see [abi.WithAssets]). Assets that the call
// leaves open are closed when it ends.
//
// The zero value has no assets.
type Assets struct {
	Opener abi.AssetOpener
	Ledger Ledger
	handles[abi.AssetsContents, openAsset]
}

// openAsset is an asset or archive that is being read, with its memory.
type openAsset struct {
	io.ReadCloser
	ledger Ledger
	files  int
	bytes  uint64
}

func (o openAsset) close() {
	_ = o.ReadCloser.Close() // nothing was written
	o.ledger.Abandon(o.files, o.bytes)
}

var (
	_ abi.Assets = (*Assets)(nil)
	_ Held       = (*Assets)(nil)
)

// Open begins to read an asset or archive.
func (a *Assets) Open(ctx context.Context, hash string, form abi.AssetsForm) (abi.AssetsContents, error) {
	if len(a.open) >= MaxOpenAssets {
		return 0, Failure(abi.ErrorKindUnavailable, fmt.Sprintf("%d assets of the call are open already: close one", MaxOpenAssets))
	}
	if a.Opener == nil {
		return 0, Failure(abi.ErrorKindNotFound, "the call was passed no assets")
	}
	opened := openAsset{ledger: a.Ledger, files: 1, bytes: assetBytes}
	if form != abi.AssetsFormBlob {
		opened.files, opened.bytes = 2, archiveBytes // a directory, and a file in it
	}
	if err := a.Ledger.Acquire("opening an asset", opened.files, opened.bytes); err != nil {
		return 0, err
	}
	var err error
	if opened.ReadCloser, err = a.Opener.OpenAsset(ctx, hash, form); err != nil {
		a.Ledger.Abandon(opened.files, opened.bytes)
		return 0, assetError(err)
	}
	return a.add(opened), nil
}

// Read returns a part of the contents, an empty one at their end.
func (a *Assets) Read(_ context.Context, handle abi.AssetsContents, most uint32) ([]byte, error) {
	r, err := a.get(handle, "there is no such asset: it was closed, or opened in another call")
	if err != nil {
		return nil, err
	}
	data := make([]byte, max(1, min(most, MaxAssetChunk)))
	if err := a.Ledger.Pass("reading an asset", uint64(len(data))); err != nil {
		return nil, err
	}
	n := 0
	for n < len(data) {
		more, err := r.Read(data[n:])
		n += more
		if err == io.EOF { // itself: an error that wraps it is not the end
			break
		}
		if err != nil {
			return nil, assetError(err)
		}
	}
	return data[:n], nil
}

// assetError is an error of reading for a guest.
func assetError(err error) error {
	if failure, ok := errors.AsType[*abi.Error](err); ok {
		return Failure(failure.Kind, failure.Message)
	}
	return Failure(abi.ErrorKindUnavailable, err.Error())
}
