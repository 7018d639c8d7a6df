package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/blocking"
)

// The cache has a file for each module, named by its digest. Files that are being received lie in the directory
// partial, each with a lock, so that a download that was interrupted goes on later, and two processes that want a
// module receive it once.

const (
	digestPrefix = "sha256:"
	moduleSuffix = ".wasm"
	partialDir   = "partial"
)

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil)), nil
}

// digest returns the digest of a file, which may be remembered.
func (c *Client) digest(path string) (string, error) {
	if c.options.Digest != nil {
		return c.options.Digest(path)
	}
	return fileDigest(path)
}

var errNoCache = errors.New("there is no cache directory to fetch it to: set HUSK_CACHE_DIR, or bring the module along with \"husk vendor\"")

// cached returns the file of a module in the cache or in a layout, empty if there is none. A file in the cache that is not
// the module is removed.
func (c *Client) cached(want Release, layouts []Directory) (string, error) {
	if err := checkDigest(want.Digest); err != nil {
		return "", fmt.Errorf("a module is wanted by %w", err)
	}
	if c.options.Cache != "" {
		path := c.modulePath(want.Digest)
		is, err := c.digest(path)
		switch {
		case err == nil && is == want.Digest:
			now := time.Now()
			_ = os.Chtimes(path, now, now) // the time of its last use, for pruning
			return path, checkFileSize(path, want.Size)
		case err == nil:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("the module %s in the cache has changed: %w", path, err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	for _, dir := range layouts {
		path := filepath.Join(dir.Path, "blobs", "sha256", strings.TrimPrefix(want.Digest, digestPrefix))
		switch info, err := dir.Root.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s: %w", path, projectroot.ErrNotRegular)
		}
		if !dir.Root.Trusted() {
			return c.copied(dir.Root, path, want)
		}
		is, err := c.digest(path)
		if err == nil && is != want.Digest {
			err = &DigestError{path, want.Digest, is}
		}
		if err == nil {
			err = errors.Join(checkFileSize(path, want.Size), checkMagic(path))
		}
		return path, err
	}
	return "", nil
}

// copied puts a module of a layout whose files a stranger can replace at any moment into the cache.
func (c *Client) copied(root *projectroot.Root, path string, want Release) (string, error) {
	if c.options.Cache == "" {
		return "", errNoCache
	}
	wasm, err := readFrom(root, path, c.options.MaxSize)
	if err != nil {
		return "", err
	}
	if is := digestOf(wasm); is != want.Digest {
		return "", &DigestError{path, want.Digest, is}
	}
	if err := checkHead(path, wasm[:min(len(wasm), len("\x00asm\x01\x00\x00\x00"))]); err != nil {
		return "", err
	}
	if _, err := c.Keep(wasm, want.Version); err != nil {
		return "", err
	}
	kept := c.modulePath(want.Digest)
	return kept, checkFileSize(kept, want.Size)
}

// checkFileSize returns an error if a file has another size than a lock or manifest says, 0 for any.
func checkFileSize(path string, size int64) error {
	info, err := os.Stat(path)
	if err == nil && size > 0 && info.Size() != size {
		err = fmt.Errorf("the module %s has %d bytes, and %d are wanted: husk.lock or the manifest was changed", path, info.Size(), size)
	}
	return err
}

func (c *Client) modulePath(digest string) string {
	return filepath.Join(c.options.Cache, strings.TrimPrefix(digest, digestPrefix)+moduleSuffix)
}

// checkMagic returns an error unless a file begins as WebAssembly does.
func checkMagic(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	return checkHead(path, head[:n])
}

func checkHead(what string, head []byte) error {
	if bytes.HasPrefix(head, []byte("\x00asm")) {
		return nil
	}
	for _, known := range []struct{ magic, name string }{
		{"PK", "a zip archive"}, {"\x1f\x8b", "compressed with gzip"}, {"\x28\xb5\x2f\xfd", "compressed with zstd"},
		{"<", "HTML or XML"}, {"{", "JSON"}, {"\x7fELF", "a program for Linux"},
	} {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return &NotModuleError{what, "it is " + known.name}
		}
	}
	return &NotModuleError{what, fmt.Sprintf("it begins with %q, and WebAssembly with \"\\x00asm\"", head)}
}

// lock excludes others that receive the same module.
func (c *Client) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(c.options.Cache, partialDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return blocking.Call(ctx, lockedfile.MutexAt(filepath.Join(dir, name+".lock")).Lock, func(unlock func()) { unlock() })
}

// Exclude excludes other processes that exclude the same path, such as processes that change a file. Without a cache it excludes
// nobody.
func (c *Client) Exclude(ctx context.Context, path string) (unlock func(), err error) {
	if c.options.Cache == "" {
		return func() {}, nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return c.lock(ctx, "file-"+strings.TrimPrefix(digestOf([]byte(whole)), digestPrefix))
}
