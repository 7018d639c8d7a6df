package registry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// A lock, a vendored directory, and a bundle say where a module comes from, and whoever wrote them may lie. So the client records
// where it has seen a module: a repository whose manifest names it, a file on the web that it received, a commit that was built.
// The record is a file in the cache for each module and source, with a seal: a project may have brought the cache along. A module
// without one is of unknown origin, whatever else has it.

// witnessedDir is the directory of the records in the cache.
const witnessedDir = "witnessed"

// sourceAnnotation is the annotation of an entry in the index of a layout: the source in which the module was seen when it was
// vendored. It is empty if that is not known.
const sourceAnnotation = "dev.husk.source"

// UnknownOriginError says that a module was not seen in the source that it is said to come from.
type UnknownOriginError struct {
	Source, Digest string
	// Why says why the source does not show it now.
	Why error
}

func (e *UnknownOriginError) Error() string {
	return fmt.Sprintf("the module %s is of unknown origin: husk has not received it from %s on this machine, and cannot see it there now: %v\n"+
		"what husk.lock and directories of the project say is not believed: run husk install where %[2]s can be reached, or vendor the module yourself and name the directory in HUSK_VENDOR_DIR",
		e.Digest, e.Source, e.Why)
}

// Unwrap returns the reason.
func (e *UnknownOriginError) Unwrap() error { return e.Why }

// record returns the path and the content of the record of a module in a source, empty without a key.
func (c *Client) record(s Source, module string) (path, content string) {
	if c.options.Cache == "" || c.options.Seal == nil {
		return "", ""
	}
	key := c.options.Seal()
	if len(key) == 0 {
		return "", ""
	}
	what := module + " " + s.String()
	seal := hmac.New(sha256.New, key)
	seal.Write([]byte(what))
	return filepath.Join(c.options.Cache, witnessedDir, strings.TrimPrefix(digestOf([]byte(what)), digestPrefix)), what + "\n" + hex.EncodeToString(seal.Sum(nil)) + "\n"
}

// Witness records that a module was seen in a source: by who has received or built it from there, and nobody else.
func (c *Client) Witness(s Source, module string) error {
	path, content := c.record(s, module)
	if path == "" || c.isWitnessed(s, module) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(content), 0o600)
}

func (c *Client) isWitnessed(s Source, module string) bool {
	path, content := c.record(s, module)
	if path == "" {
		return false
	}
	raw, err := readBounded(path, int64(len(content)))
	return err == nil && hmac.Equal(raw, []byte(content))
}

// Confirm returns an [*UnknownOriginError] unless a module was seen in a source, is seen there now, or was vendored from there by
// the operator. With own, what the project has vendored counts as well: that is for the project's own rules.
func (c *Client) Confirm(ctx context.Context, s Source, of Release, own bool) error {
	if c.isWitnessed(s, of.Digest) {
		return nil
	}
	var found bool
	var err error
	if s.Kind == Layout {
		found, err = inLayout(c.directory(s), func(repository string, _ ocispec.Descriptor) bool {
			return s.Repository == "" || s.Repository == repository
		}, of.Digest)
		if err == nil && !found {
			err = fmt.Errorf("its index does not name the module: %w", ErrNotFound)
		}
	} else {
		for _, dir := range c.options.Layouts {
			if dir.Operator || own {
				if found, err = inLayout(dir, vendoredFrom(s), of.Digest); found || err != nil {
					break
				}
			}
		}
		if err == nil && !found {
			err = c.look(ctx, s, of)
		}
	}
	if err != nil && ctx.Err() == nil {
		return &UnknownOriginError{s.String(), of.Digest, err}
	}
	return err
}

// look has a source show a module, and records it.
func (c *Client) look(ctx context.Context, s Source, of Release) error {
	switch {
	case c.options.Offline:
		return ErrOffline
	case s.Kind == OCI && of.Manifest == "":
		return fmt.Errorf("husk.lock does not name its manifest: %w", ErrNotFound)
	case s.Kind == OCI:
		_, is, err := c.published(ctx, s, of.Manifest)
		if err == nil && is.Digest != of.Digest {
			err = &DigestError{"the manifest " + of.Manifest, of.Digest, is.Digest}
		}
		return err
	case s.Kind == Web && c.options.Cache != "":
		unlock, err := c.lock(ctx, strings.TrimPrefix(of.Digest, digestPrefix))
		if err != nil {
			return err
		}
		defer unlock()
		return c.receiveWeb(ctx, s, of)
	}
	return ErrNotFound
}

// vendoredFrom returns a predicate for the entries of a source in a vendored directory. Other tools, and earlier versions, write
// the repository alone.
func vendoredFrom(s Source) func(repository string, d ocispec.Descriptor) bool {
	return func(repository string, d ocispec.Descriptor) bool {
		if from, noted := d.Annotations[sourceAnnotation]; noted {
			return from == s.String()
		}
		return s.Kind == OCI && repository == s.Repository
	}
}

// inLayout reports whether a layout has an entry of a module. A layout that is not there has none.
func inLayout(d Directory, counts func(repository string, d ocispec.Descriptor) bool, module string) (bool, error) {
	if _, err := d.Root.Stat(filepath.Join(d.Path, ocispec.ImageIndexFile)); err != nil {
		return false, nil
	}
	l, err := openLayout(d)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(l.index.Manifests, func(d ocispec.Descriptor) bool {
		repository, tag := splitName(d)
		if tag == "" || !counts(repository, d) {
			return false
		}
		raw, err := l.blob(d.Digest.String())
		if err != nil {
			return false
		}
		_, layer, err := parseManifest(raw)
		return err == nil && layer.Digest.String() == module
	}), nil
}

// published returns the manifest that a repository has under a tag or digest, and records the module that it names.
func (c *Client) published(ctx context.Context, s Source, tag string) (raw []byte, release Release, err error) {
	err = c.at(ctx, s.Repository, func(endpoint string, r *remote.Repository) error {
		what := Reference{Source{Repository: endpoint}, tag}.String()
		desc, body, err := r.Manifests().FetchReference(ctx, tag)
		if err != nil {
			return explained(what, r.Reference.Registry, err)
		}
		defer body.Close()
		if raw, err = readManifest(what, desc, body); err == nil {
			_, release, err = c.released(what, raw)
		}
		return err
	})
	if err == nil && s.Kind == OCI {
		err = c.Witness(s, release.Digest)
	}
	return raw, release, err
}
