package assets

import (
	"context"
	"io"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// chunk is how much is read from the host at once, in bytes.
const chunk = 256 << 10

func open(ctx context.Context, hash string, form abi.AssetsForm) (io.ReadCloser, error) {
	handle, err := bindings.Assets().Open(ctx, hash, form)
	if err != nil {
		return nil, err
	}
	return &reader{ctx: ctx, handle: handle}, nil
}

// reader reads what the host has open.
type reader struct {
	ctx    context.Context
	handle abi.AssetsContents
	// rest was read from the host and not from here yet.
	rest []byte
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = bindings.Assets().Read(r.ctx, r.handle, chunk)
		if r.err == nil && len(r.rest) == 0 {
			r.err = io.EOF
		}
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *reader) Close() error {
	bindings.Assets().Close(r.ctx, r.handle)
	return nil
}
