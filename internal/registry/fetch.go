package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// attempts bounds how often a download goes on after it broke off. Attempts that receive something do not count.
const attempts = 3

// mostAttempts bounds all of them: a server may send a byte at a time.
const mostAttempts = 50

// A download may take as long as at a rate of slowest bytes a second, and slowStalls times as long as a server may send nothing.
const slowest, slowStalls = 32 << 10, 10

// Fetch returns the file of a module, which it receives if it is not there. The file has the digest and size of the
// release, and must not be changed.
func (c *Client) Fetch(ctx context.Context, s Source, want Release) (path string, err error) {
	layouts := c.options.Layouts
	if s.Kind == Layout {
		layouts = append([]Directory{c.directory(s)}, layouts...)
	}
	if path, err := c.cached(want, layouts); path != "" || err != nil {
		return path, err
	}
	switch {
	case s.Kind == Git:
		return "", fmt.Errorf("the module %s of %s is not built here yet: %w", want.Digest, s, ErrNotFound)
	case s.Kind == Layout:
		return "", fmt.Errorf("%s does not have the module %s: %w", s, want.Digest, ErrNotFound)
	case c.options.Offline:
		return "", fmt.Errorf("the module %s of %s is neither in the cache nor in a vendored directory: %w", want.Digest, s, ErrOffline)
	case c.options.Cache == "":
		return "", errNoCache
	case want.Size > c.options.MaxSize:
		return "", &SizeError{"the module of " + s.String(), want.Size, c.options.MaxSize}
	}
	unlock, err := c.lock(ctx, strings.TrimPrefix(want.Digest, digestPrefix))
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, err := c.cached(want, nil); path != "" || err != nil {
		return path, err // another process has received it
	}
	if s.Kind == Web {
		err = c.receiveWeb(ctx, s, want)
	} else {
		err = c.at(ctx, s.Repository, func(endpoint string, r *remote.Repository) error {
			return advised(r.Reference.Registry, c.receive(ctx, schemeOCI+endpoint, want, blobOf(r, want.Digest)))
		})
	}
	if err != nil {
		return "", err
	}
	return c.modulePath(want.Digest), nil
}

// receiveWeb receives a module from a file on the web, and records that. The caller holds its lock.
func (c *Client) receiveWeb(ctx context.Context, s Source, want Release) error {
	err := c.receive(ctx, s.String(), want, func(ctx context.Context, header http.Header) (*http.Response, error) {
		return send(ctx, c.web.Do, s.URL, header)
	})
	if err != nil {
		return err
	}
	return c.Witness(s, want.Digest)
}

// request asks for a module.
type request func(ctx context.Context, header http.Header) (*http.Response, error)

// blobOf asks a repository for a blob.
func blobOf(r *remote.Repository, digest string) request {
	scheme := "https"
	if r.PlainHTTP {
		scheme = "http"
	}
	url := fmt.Sprintf("%s://%s/v2/%s/blobs/%s", scheme, r.Reference.Host(), r.Reference.Repository, digest)
	return func(ctx context.Context, header http.Header) (*http.Response, error) {
		return send(auth.AppendRepositoryScope(ctx, r.Reference, auth.ActionPull), r.Client.Do, url, header)
	}
}

func send(ctx context.Context, do func(*http.Request) (*http.Response, error), url string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	return do(req)
}

// partial returns the file with the received part of a module from a source. Each source has its own file, so parts of different
// sources do not mix.
func (c *Client) partial(source, module string) string {
	of := strings.TrimPrefix(digestOf([]byte(source)), digestPrefix)[:16]
	return filepath.Join(c.options.Cache, partialDir, strings.TrimPrefix(module, digestPrefix)+"-"+of)
}

// receive receives a module into the cache. The caller holds its lock.
func (c *Client) receive(ctx context.Context, source string, want Release, ask request) error {
	path := c.partial(source, want.Digest)
	d := &download{client: c, source: source, size: want.Size, most: c.options.MaxSize, ask: ask}
	for fresh := false; ; fresh = true {
		is, err := d.to(ctx, path)
		if err != nil {
			if _, large := errors.AsType[*SizeError](err); large {
				err = errors.Join(err, os.Remove(path)) // going on would not help
			}
			return err
		}
		if is == want.Digest {
			break
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		if fresh || !d.resumed {
			return &DigestError{source, want.Digest, is}
		}
		// Perhaps the rest of an earlier download was wrong.
	}
	if err := checkMagic(path); err != nil {
		if not, ok := errors.AsType[*NotModuleError](err); ok {
			not.Artifact = source
		}
		return errors.Join(err, os.Remove(path))
	}
	return install(path, c.modulePath(want.Digest))
}

// Offline reports whether the network is not used.
func (c *Client) Offline() bool { return c.options.Offline }

// Keep puts a module that was built into the cache.
func (c *Client) Keep(wasm []byte, version string) (Release, error) {
	if c.options.Cache == "" {
		return Release{}, errNoCache
	}
	if err := os.MkdirAll(c.options.Cache, 0o700); err != nil {
		return Release{}, err
	}
	r := Release{Version: version, Digest: digestOf(wasm), Size: int64(len(wasm))}
	return r, atomicfile.Write(c.modulePath(r.Digest), wasm, 0o600)
}

// install moves a file that was verified to its place.
func install(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(to))
}

// fetchUnknown receives a file of unknown digest. If it breaks off, the received part is not kept: the next download could be
// another version.
func (c *Client) fetchUnknown(ctx context.Context, s Source) (Release, error) {
	switch {
	case c.options.Offline:
		return Release{}, fmt.Errorf("%s: %w", s, ErrOffline)
	case c.options.Cache == "":
		return Release{}, errNoCache
	}
	dir := filepath.Join(c.options.Cache, partialDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Release{}, err
	}
	f, err := os.CreateTemp(dir, atomicfile.Unfinished+"*")
	if err != nil {
		return Release{}, err
	}
	path := f.Name()
	defer os.Remove(path)
	if err := f.Close(); err != nil {
		return Release{}, err
	}
	d := &download{client: c, source: s.String(), most: c.options.MaxSize, ask: func(ctx context.Context, header http.Header) (*http.Response, error) {
		return send(ctx, c.web.Do, s.URL, header)
	}}
	is, err := d.to(ctx, path)
	if err != nil {
		return Release{}, err
	}
	if err := checkMagic(path); err != nil {
		if not, ok := errors.AsType[*NotModuleError](err); ok {
			not.Artifact = s.String()
		}
		return Release{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Release{}, err
	}
	if err := install(path, c.modulePath(is)); err != nil {
		return Release{}, err
	}
	return Release{Digest: is, Size: info.Size()}, c.Witness(s, is)
}

// download receives a file in one or several requests.
type download struct {
	client *Client
	source string
	// size is the size of the whole file, 0 if it is unknown, and most the limit.
	size, most int64
	ask        request
	// resumed is set if the file had a part of an earlier download.
	resumed bool
	// tag is the entity tag of the first answer, by which further ones are of the same file.
	tag string
}

// to appends to the file, and returns the digest of the whole.
func (d *download) to(ctx context.Context, path string) (digest string, err error) {
	defer d.client.reporter(ctx)(Progress{Source: d.source, Over: true})
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	received, err := io.Copy(h, io.LimitReader(f, d.most+1))
	if err != nil {
		return "", err
	}
	d.resumed = received > 0
	size := d.size
	if size == 0 {
		size = d.most
	}
	// Others wait for the same file until it is there, however slowly a server sends it.
	allowed := slowStalls*d.client.options.Stall + time.Duration(size/slowest)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, allowed, fmt.Errorf("%s did not send all of it within %v, and is too slow", d.source, allowed))
	defer cancel()
	failures := 0
	for attempt := 0; d.size == 0 || received < d.size || attempt == 0 && received > d.size; attempt++ {
		before := received
		received, err = d.once(ctx, f, h, received)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if !isBroken(err) {
			return "", err
		}
		if received > before {
			failures = 0
		}
		if failures++; failures >= attempts || attempt >= mostAttempts {
			return "", err
		}
	}
	if d.size > 0 && received != d.size {
		return "", fmt.Errorf("%s ended after %d of %d bytes", d.source, received, d.size)
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil)), f.Sync()
}

// brokenError is an answer that ended too early.
type brokenError struct{ error }

func (e brokenError) Unwrap() error { return e.error }

func isBroken(err error) bool {
	_, ok := errors.AsType[brokenError](err)
	return ok
}

// once sends one request for the missing part, and returns how many bytes the file has then.
func (d *download) once(ctx context.Context, f *os.File, h hash.Hash, received int64) (int64, error) {
	restart := func() error {
		received = 0
		h.Reset()
		if err := f.Truncate(0); err != nil {
			return err
		}
		_, err := f.Seek(0, io.SeekStart)
		return err
	}
	if d.size > 0 && received > d.size || d.size == 0 && d.tag == "" && received > 0 {
		if err := restart(); err != nil {
			return received, err
		}
	}
	header := http.Header{}
	if received > 0 {
		end := ""
		if d.size > 0 {
			end = fmt.Sprint(d.size - 1)
		}
		header.Set("Range", fmt.Sprintf("bytes=%d-%s", received, end))
		if d.tag != "" {
			header.Set("If-Range", d.tag)
		}
	}
	response, err := d.ask(ctx, header)
	if err != nil {
		return received, fmt.Errorf("%s: %w", d.source, err)
	}
	defer response.Body.Close()
	switch {
	case received > 0 && response.StatusCode == http.StatusPartialContent && startsAt(response, received):
	case received > 0 && (response.StatusCode == http.StatusPartialContent || response.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		d.tag = ""
		if err := restart(); err != nil {
			return received, err
		}
		return received, brokenError{fmt.Errorf("%s did not continue at the byte that was asked for", d.source)}
	case response.StatusCode == http.StatusOK:
		if err := restart(); err != nil {
			return received, err
		}
		if tag := response.Header.Get("Etag"); !strings.HasPrefix(tag, "W/") {
			d.tag = tag
		}
	default:
		return received, &statusError{response.Request.URL.Redacted(), response.StatusCode}
	}
	total := d.size
	if total == 0 && response.ContentLength > 0 {
		total = received + response.ContentLength
	}
	if total > d.most {
		return received, &SizeError{d.source, total, d.most}
	}
	most := d.most
	if d.size > 0 {
		most = d.size
	}
	report := d.client.reporter(ctx)
	buffer := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(buffer)
		if received+int64(n) > most {
			if d.size > 0 {
				return received, &SizeError{d.source, -1, most}
			}
			return received, &SizeError{d.source, -1, d.most}
		}
		if n > 0 {
			if _, err := f.Write(buffer[:n]); err != nil {
				return received, fmt.Errorf("writing to the cache: %w", err)
			}
			h.Write(buffer[:n])
			received += int64(n)
			report(Progress{Source: d.source, Moved: received, Size: total})
		}
		switch {
		case errors.Is(err, io.EOF) && (total == 0 || received == total):
			return received, nil
		case errors.Is(err, io.EOF):
			return received, brokenError{fmt.Errorf("%s ended after %d of %d bytes", d.source, received, total)}
		case err != nil:
			return received, brokenError{fmt.Errorf("%s broke off after %d bytes: %w", d.source, received, err)}
		}
	}
}

// startsAt reports whether a partial answer starts at an offset.
func startsAt(r *http.Response, offset int64) bool {
	var start int64
	_, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-", &start)
	return err == nil && start == offset
}
