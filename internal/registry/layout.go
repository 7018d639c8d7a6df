package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/lockedfile"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// An OCI layout is a directory with the blobs of artifacts, and an index that names them
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md). A name is REPOSITORY:TAG, or a tag alone, as
// other tools write it.

// indexLimit bounds the index of a layout, in bytes.
const indexLimit = 4 << 20

type layout struct {
	dir   string
	root  *projectroot.Root
	index ocispec.Index
}

// openLayout reads the index of a layout.
func openLayout(d Directory) (*layout, error) {
	dir := d.Path
	l := &layout{dir: dir, root: d.Root}
	raw, err := readFrom(d.Root, filepath.Join(dir, ocispec.ImageIndexFile), indexLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not an OCI layout: it has no index.json", dir)
	}
	if err != nil {
		return nil, err
	}
	if l.index, err = parseIndex(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ocispec.ImageIndexFile), err)
	}
	return l, nil
}

// layouts returns the layouts in which a source's modules may be, the source's own first. The layouts in the options need not
// exist yet: a project names its vendored directory before it is filled.
func (c *Client) layouts(s Source) (all []*layout, err error) {
	if s.Kind == Layout {
		l, err := openLayout(c.directory(s))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for _, dir := range c.options.Layouts {
		if _, err := dir.Root.Stat(filepath.Join(dir.Path, ocispec.ImageIndexFile)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l, err := openLayout(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// directory returns the layout that a source names.
func (c *Client) directory(s Source) Directory {
	if c.options.Root == nil {
		return Directory{Path: s.Dir, Root: projectroot.New(".", projectroot.Trusted)} // the user names it
	}
	return Directory{Path: s.Dir, Root: c.options.Root}
}

// parseIndex reads the index of a layout.
func parseIndex(raw []byte) (index ocispec.Index, err error) {
	if err := intake.AnswerJSON(raw, &index); err != nil {
		return index, fmt.Errorf("the index of an OCI layout cannot be read: %w", err)
	}
	for _, m := range index.Manifests {
		if err := checkDigest(m.Digest.String()); err != nil {
			return index, fmt.Errorf("the index of an OCI layout has %w", err)
		}
	}
	return index, nil
}

// readBounded reads a file of the cache.
func readBounded(path string, most int64) ([]byte, error) {
	return readFrom(projectroot.New(".", projectroot.Trusted), path, most)
}

func readFrom(root *projectroot.Root, path string, most int64) ([]byte, error) {
	raw, err := root.ReadFile(path, most)
	if _, large := errors.AsType[*projectroot.TooLargeError](err); large {
		err = &SizeError{path, -1, most}
	}
	return raw, err
}

// splitName returns the repository and the tag of an entry of the index.
func splitName(d ocispec.Descriptor) (repository, tag string) {
	name := d.Annotations[ocispec.AnnotationRefName]
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		return name[:at], name[at+1:]
	}
	return "", name
}

// of returns the entries of a repository. An empty one stands for the only one that there is.
func (l *layout) of(repository string) ([]ocispec.Descriptor, error) {
	var names []string
	var all []ocispec.Descriptor
	for _, d := range l.index.Manifests {
		name, tag := splitName(d)
		if tag == "" || repository != "" && name != repository {
			continue
		}
		all = append(all, d)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("%s has several repositories: name one as oci-layout:%s#REPOSITORY (%s)", l.dir, l.dir, strings.Join(names, ", "))
	}
	return all, nil
}

func (l *layout) tags(repository string) ([]string, error) {
	entries, err := l.of(repository)
	var tags []string
	for _, d := range entries {
		_, tag := splitName(d)
		tags = append(tags, tag)
	}
	return tags, err
}

// manifest returns the manifest with a tag or digest.
func (l *layout) manifest(repository, tag string) ([]byte, error) {
	entries, err := l.of(repository)
	if err != nil {
		return nil, err
	}
	for _, d := range entries {
		if _, has := splitName(d); has == tag || d.Digest.String() == tag {
			return l.blob(d.Digest.String())
		}
	}
	return nil, fmt.Errorf("%s has no %s: %w", l.dir, Reference{Source{Repository: repository}, tag}, ErrNotFound)
}

func (l *layout) blobPath(digest string) string {
	return filepath.Join(l.dir, ocispec.ImageBlobsDir, "sha256", strings.TrimPrefix(digest, digestPrefix))
}

// blob returns a manifest or a configuration.
func (l *layout) blob(digest string) ([]byte, error) {
	path := l.blobPath(digest)
	raw, err := readFrom(l.root, path, manifestLimit)
	if err != nil {
		return nil, err
	}
	if is := digestOf(raw); is != digest {
		return nil, &DigestError{path, digest, is}
	}
	return raw, nil
}

// Vendored is a module to put into a layout.
type Vendored struct {
	Source
	Release
	// Name is the provider's name, for modules that come without a manifest.
	Name string
}

// Vendor puts modules into the OCI layout in a directory, which is made if it is missing. Its other contents stay. The index,
// which names the modules, is written last.
func (c *Client) Vendor(ctx context.Context, dir string, modules []Vendored) error {
	dir, err := filepath.Abs(dir) // paths in a root begin in its directory
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, ocispec.ImageBlobsDir, "sha256"), 0o755); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, ".lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	l := &layout{dir: dir, root: projectroot.New(dir, projectroot.Trusted)}
	if _, err := os.Stat(filepath.Join(dir, ocispec.ImageIndexFile)); err == nil {
		if l, err = openLayout(Directory{Path: dir, Root: l.root}); err != nil {
			return err
		}
	}
	for _, m := range modules {
		if err := c.vendor(ctx, l, m); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, ocispec.ImageLayoutFile), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644); err != nil {
		return err
	}
	l.index.Versioned = specs.Versioned{SchemaVersion: 2}
	l.index.MediaType = ocispec.MediaTypeImageIndex
	sorted.By(l.index.Manifests, func(a, b ocispec.Descriptor) int {
		return strings.Compare(a.Annotations[ocispec.AnnotationRefName], b.Annotations[ocispec.AnnotationRefName])
	})
	index, err := json.MarshalIndent(l.index, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, ocispec.ImageIndexFile), append(index, '\n'), 0o644)
}

func (c *Client) vendor(ctx context.Context, l *layout, m Vendored) error {
	path, err := c.Fetch(ctx, m.Source, m.Release)
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if is := digestOf(wasm); is != m.Digest {
		return &DigestError{path, m.Digest, is}
	}
	blobs := map[string][]byte{m.Digest: wasm}
	repository := m.Repository
	var manifest []byte
	if m.Manifest == "" { // a file on the web
		made, err := newArtifact(wasm, Labels{Title: m.Name, Version: m.Version, Source: m.URL})
		if err != nil {
			return err
		}
		repository, manifest = m.Name, made.manifest
		blobs[digestOf(made.config)] = made.config
	} else {
		raw, release, err := c.manifest(ctx, m.Source, m.Manifest)
		if err != nil {
			return err
		}
		if release.Digest != m.Digest {
			return &DigestError{"the manifest " + m.Manifest, m.Digest, release.Digest}
		}
		config, err := c.config(ctx, m.Source, raw)
		if err != nil {
			return err
		}
		manifest = raw
		blobs[digestOf(config)] = config
	}
	blobs[digestOf(manifest)] = manifest
	for is, content := range blobs {
		if err := l.write(is, content); err != nil {
			return err
		}
	}
	if repository == "" {
		repository = m.Name
	}
	name := repository + ":" + Tag(m.Version)
	from, err := c.vendoredFrom(ctx, l, name, m, digest.Digest(digestOf(manifest)))
	if err != nil {
		return err
	}
	l.index.Manifests = slices.DeleteFunc(l.index.Manifests, func(d ocispec.Descriptor) bool {
		return d.Annotations[ocispec.AnnotationRefName] == name
	})
	l.index.Manifests = append(l.index.Manifests, ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(digestOf(manifest)), Size: int64(len(manifest)),
		Annotations: map[string]string{ocispec.AnnotationRefName: name, sourceAnnotation: from},
	})
	return c.vendorSignatures(ctx, l, m, manifest)
}

// vendoredFrom returns the source of a module for the index: empty if the module was not seen there. An existing note of the same
// module stays.
func (c *Client) vendoredFrom(ctx context.Context, l *layout, name string, m Vendored, manifest digest.Digest) (string, error) {
	if m.Kind == Layout {
		return "", nil // only that layout shows its contents
	}
	for _, d := range l.index.Manifests {
		if d.Annotations[ocispec.AnnotationRefName] == name && d.Digest == manifest && d.Annotations[sourceAnnotation] == m.Source.String() {
			return m.Source.String(), nil
		}
	}
	err := c.Confirm(ctx, m.Source, m.Release, false)
	if _, unknown := errors.AsType[*UnknownOriginError](err); unknown {
		return "", nil
	}
	return m.Source.String(), err
}

// config returns the configuration of a manifest, which belongs to the artifact and is not used.
func (c *Client) config(ctx context.Context, s Source, manifest []byte) (raw []byte, err error) {
	m, _, err := parseManifest(manifest)
	if err != nil {
		return nil, err
	}
	want := m.Config
	if err := checkDigest(want.Digest.String()); err != nil {
		return nil, fmt.Errorf("the configuration of %s has %w", s, err)
	}
	if want.Size > manifestLimit {
		return nil, &SizeError{"the configuration of " + s.String(), want.Size, manifestLimit}
	}
	layouts := c.options.Layouts
	if s.Kind == Layout {
		layouts = []Directory{c.directory(s)}
	}
	for _, dir := range layouts {
		if raw, err := (&layout{dir: dir.Path, root: dir.Root}).blob(want.Digest.String()); err == nil || s.Kind == Layout {
			return raw, err
		}
	}
	err = c.at(ctx, s.Repository, func(endpoint string, r *remote.Repository) error {
		body, err := r.Blobs().Fetch(ctx, want)
		if err != nil {
			return explained("the configuration of "+endpoint, r.Reference.Registry, err)
		}
		defer body.Close()
		raw, err = readManifest(endpoint, want, body)
		return err
	})
	return raw, err
}
