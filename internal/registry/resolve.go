package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/husk-dev/husk/internal/base/versionrange"
)

// Release is one version of a module.
type Release struct {
	// Version is the source's version of it, empty for a file on the web, which has none.
	Version string
	// Digest is the module's digest, and Size its size in bytes.
	Digest string
	Size   int64
	// Manifest is the digest of the artifact's manifest, empty for a file on the web.
	Manifest string
}

// Resolve returns the newest version of a source in a range. A file on the web is fetched for that.
func (c *Client) Resolve(ctx context.Context, s Source, r versionrange.Range) (Release, error) {
	if s.Kind == Web {
		return c.fetchUnknown(ctx, s)
	}
	versions, err := c.tags(ctx, s)
	if err != nil {
		return Release{}, err
	}
	var known []semver.Version
	for v := range versions {
		known = append(known, semver.MustParse(v))
	}
	semver.Sort(known)
	newest, ok := r.Newest(known)
	if !ok {
		return Release{}, noVersion(s, r, known)
	}
	_, release, err := c.manifest(ctx, s, versions[newest.String()])
	release.Version = newest.String()
	return release, err
}

// shownVersions is how many versions a message lists.
const shownVersions = 10

func noVersion(s Source, r versionrange.Range, known []semver.Version) error {
	var list []string
	for _, v := range slices.Backward(known) {
		if len(list) == shownVersions {
			list = append(list, "…")
			break
		}
		list = append(list, v.String())
	}
	switch {
	case len(list) == 0:
		return fmt.Errorf("%s has no versions: %w", s, ErrNotFound)
	case r.String() == "":
		return fmt.Errorf("%s has only versions before a release: name one as version (%s)", s, strings.Join(list, ", "))
	}
	return fmt.Errorf("%s has no version %s: it has %s", s, r, strings.Join(list, ", "))
}

// Versions returns the versions of a source, the newest first.
func (c *Client) Versions(ctx context.Context, s Source) ([]string, error) {
	tags, err := c.tags(ctx, s)
	var all []semver.Version
	for v := range tags {
		all = append(all, semver.MustParse(v))
	}
	semver.Sort(all)
	var list []string
	for _, v := range slices.Backward(all) {
		list = append(list, v.String())
	}
	return list, err
}

// tags returns the tags of the versions of a source.
func (c *Client) tags(ctx context.Context, s Source) (versions map[string]string, err error) {
	versions = make(map[string]string)
	add := func(tags []string) error {
		for _, tag := range tags {
			if v, ok := versionOf(tag); ok && (versions[v.String()] == "" || tag == Tag(v.String())) {
				versions[v.String()] = tag
			}
		}
		return nil
	}
	layouts, err := c.layouts(s)
	if err != nil {
		return nil, err
	}
	if s.Kind == Layout {
		tags, err := layouts[0].tags(s.Repository)
		if err != nil {
			return nil, err
		}
		return versions, add(tags)
	}
	for _, l := range layouts {
		if tags, err := l.tags(s.Repository); err == nil {
			_ = add(tags)
		}
	}
	if c.options.Offline && len(versions) > 0 {
		return versions, nil
	}
	err = c.at(ctx, s.Repository, func(endpoint string, r *remote.Repository) error {
		return explained(endpoint, r.Reference.Registry, r.Tags(ctx, "", add))
	})
	if err != nil {
		return nil, err
	}
	return versions, nil
}

// Find returns the release of a tag or digest of a repository.
func (c *Client) Find(ctx context.Context, r Reference) (Release, error) {
	_, release, err := c.manifest(ctx, r.Source, r.Tag)
	if v, ok := versionOf(r.Tag); ok {
		release.Version = v.String()
	}
	return release, err
}

// manifest returns the manifest of a tag or digest, and the module that it has.
func (c *Client) manifest(ctx context.Context, s Source, tag string) (raw []byte, release Release, err error) {
	layouts, err := c.layouts(s)
	if err != nil {
		return nil, release, err
	}
	what := Reference{s, tag}.String()
	for _, l := range layouts {
		raw, err = l.manifest(s.Repository, tag)
		if err == nil {
			return c.released(what, raw)
		}
		if !errors.Is(err, ErrNotFound) || s.Kind == Layout {
			return nil, release, err
		}
	}
	return c.published(ctx, s, tag)
}

func readManifest(what string, desc ocispec.Descriptor, body io.Reader) ([]byte, error) {
	if desc.Size > manifestLimit {
		return nil, &SizeError{"the manifest of " + what, desc.Size, manifestLimit}
	}
	raw, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, fmt.Errorf("the manifest of %s is not what its digest %s says: %w", what, desc.Digest, err)
	}
	return raw, nil
}

// released returns the module of a manifest.
func (c *Client) released(what string, raw []byte) ([]byte, Release, error) {
	_, module, err := parseManifest(raw)
	if err != nil {
		return nil, Release{}, &NotModuleError{what, err.Error()}
	}
	if module.Size > c.options.MaxSize {
		return nil, Release{}, &SizeError{"the module of " + what, module.Size, c.options.MaxSize}
	}
	return raw, Release{Digest: module.Digest.String(), Size: module.Size, Manifest: digestOf(raw)}, nil
}
