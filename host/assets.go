package host

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
)

// guestAssets gives one call of a provider the contents of the assets that it was passed
// (see [abi.WithAssets]). What the call leaves open is closed when it ends.
type guestAssets struct {
	opener abi.AssetOpener
	ledger *ledger
	last   abi.AssetsContents
	open   map[abi.AssetsContents]openAsset
}

// openAsset is an asset or archive that is being read, with what it takes.
type openAsset struct {
	io.ReadCloser
	files int
	bytes uint64
}

var _ abi.Assets = (*guestAssets)(nil)

// Open begins to read an asset or archive.
func (a *guestAssets) Open(ctx context.Context, hash string, form abi.AssetsForm) (abi.AssetsContents, error) {
	if len(a.open) >= MaxOpenAssets {
		return 0, hostError(abi.ErrorKindUnavailable, fmt.Sprintf("%d assets of the call are open already: close one", MaxOpenAssets))
	}
	if a.opener == nil {
		return 0, hostError(abi.ErrorKindNotFound, "the call was passed no assets")
	}
	opened := openAsset{files: 1, bytes: assetBytes}
	if form != abi.AssetsFormBlob {
		opened.files, opened.bytes = 2, archiveBytes // a directory, and a file in it
	}
	if err := a.ledger.acquire("opening an asset", opened.files, opened.bytes); err != nil {
		return 0, err
	}
	var err error
	if opened.ReadCloser, err = a.opener.OpenAsset(ctx, hash, form); err != nil {
		a.ledger.abandon(opened.files, opened.bytes)
		return 0, assetError(err)
	}
	if a.open == nil {
		a.open = make(map[abi.AssetsContents]openAsset)
	}
	a.last++
	a.open[a.last] = opened
	return a.last, nil
}

// Read answers a part of the contents, an empty one at their end.
func (a *guestAssets) Read(_ context.Context, handle abi.AssetsContents, most uint32) ([]byte, error) {
	r, ok := a.open[handle]
	if !ok {
		return nil, hostError(abi.ErrorKindNotFound, "there is no such asset: it was closed, or opened in another call")
	}
	data := make([]byte, max(1, min(most, MaxAssetChunk)))
	if err := a.ledger.pass(uint64(len(data))); err != nil {
		return nil, tooMuchHeld("reading an asset", err)
	}
	n := 0
	for n < len(data) {
		more, err := r.Read(data[n:])
		n += more
		if err == io.EOF { // itself: an error that has one in it is no end
			break
		}
		if err != nil {
			return nil, assetError(err)
		}
	}
	return data[:n], nil
}

// Close gives the contents up.
func (a *guestAssets) Close(_ context.Context, handle abi.AssetsContents) {
	if r, ok := a.open[handle]; ok {
		delete(a.open, handle)
		_ = r.Close() // nothing was written
		a.ledger.abandon(r.files, r.bytes)
	}
}

// closeAll ends what a call left open.
func (a *guestAssets) closeAll() {
	for handle := range a.open {
		a.Close(context.Background(), handle)
	}
}

// assetError is an error of reading for a guest.
func assetError(err error) error {
	if failure, ok := errors.AsType[*abi.Error](err); ok {
		return hostError(failure.Kind, failure.Message)
	}
	return hostError(abi.ErrorKindUnavailable, err.Error())
}
