package contents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/husk-dev/husk/abi/property"
)

// HashAsset returns the SHA-256 of an asset's contents in lower-case hex.
func (s Source) HashAsset(ctx context.Context, a property.Asset) (string, error) {
	r, err := s.OpenAsset(ctx, a)
	if err != nil {
		return "", err
	}
	return sum(ctx, r)
}

// HashArchive returns the SHA-256 of an archive in lower-case hex: for a tar, gzipped tar, or zip file it is the hash of the
// file, otherwise of the tar file that OpenArchive makes (EnsureHash in sdk/go/common/resource/archive of Pulumi).
func (s Source) HashArchive(ctx context.Context, a property.Archive) (string, error) {
	format, err := formatOf(a)
	if err != nil {
		return "", err
	}
	if format == notFile {
		format = Tar
	}
	r, _, err := s.OpenArchive(ctx, a, format)
	if err != nil {
		return "", err
	}
	return sum(ctx, r)
}

func sum(ctx context.Context, r io.ReadCloser) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, interruptible{ctx, r})
	if err = errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	return digest(h), nil
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// interruptible is a reader that ends with a context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// Verify returns r, but reading it to its end fails if the hash is another one.
func Verify(r io.ReadCloser, hash string) io.ReadCloser {
	return &verifier{ReadCloser: r, h: sha256.New(), want: hash}
}

type verifier struct {
	io.ReadCloser
	h    hash.Hash
	want string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.h.Write(p[:n])
	if errors.Is(err, io.EOF) && digest(v.h) != v.want {
		return n, Changed(v.want, digest(v.h))
	}
	return n, err
}

// Changed is the error of contents that are other than when their hash was made.
func Changed(before, now string) error {
	return fmt.Errorf("the contents have changed since the deployment began: their hash was %.8s and is %.8s", before, now)
}
