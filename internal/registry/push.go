package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
)

// MovedError says that a tag of a version already has another module.
type MovedError struct {
	Reference string
	// Is is the digest of the tag's module, and Pushed the digest of the pushed one.
	Is, Pushed string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s is already another module: its digest is %s, and the one to push has %s", e.Reference, e.Is, e.Pushed)
}

// Push publishes a module under a tag. A tag that has another module is a [MovedError], unless move is set. sign, if it is
// not nil, is called when the registry has the module and before it has the tag, so that nobody sees the version without its
// signatures. Mirrors are not used.
func (c *Client) Push(ctx context.Context, to Reference, wasm []byte, labels Labels, move bool, sign func(Release) error) (Release, error) {
	if err := checkHead(to.String(), wasm[:min(len(wasm), 8)]); err != nil {
		return Release{}, err
	}
	made, err := newArtifact(wasm, labels)
	if err != nil {
		return Release{}, err
	}
	r, err := c.own(to)
	if err != nil {
		return Release{}, err
	}
	release := Release{Version: labels.Version, Digest: digestOf(wasm), Size: int64(len(wasm)), Manifest: made.descriptor.Digest.String()}
	if !move {
		is, raw, err := existing(ctx, r, to)
		if err != nil {
			return Release{}, err
		}
		if is == made.descriptor.Digest {
			if sign != nil {
				err = sign(release)
			}
			return release, err
		}
		if raw != nil {
			moved := &MovedError{to.String(), is.String(), release.Digest}
			if _, module, err := parseManifest(raw); err == nil {
				moved.Is = module.Digest.String()
			}
			return Release{}, moved
		}
	}
	report := c.reporter(ctx)
	defer report(Progress{Source: to.String(), Sent: true, Over: true})
	sending := context.WithValue(ctx, sentKey{}, func(sent, size int64) { report(Progress{Source: to.String(), Sent: true, Moved: sent, Size: size}) })
	for _, blob := range []struct {
		mediaType string
		content   []byte
	}{{moduleType, made.module}, {configType, made.config}} {
		if err := pushBlob(sending, r, blob.mediaType, blob.content); err != nil {
			return Release{}, explained("pushing to "+to.Repository, r.Reference.Registry, err)
		}
	}
	if sign != nil {
		if err := r.Manifests().Push(ctx, made.descriptor, bytes.NewReader(made.manifest)); err != nil {
			return Release{}, explained("pushing "+to.String(), r.Reference.Registry, err)
		}
		if err := sign(release); err != nil {
			return Release{}, fmt.Errorf("%s is not published, because it cannot be signed: %w", to, err)
		}
	}
	err = r.Manifests().PushReference(ctx, made.descriptor, bytes.NewReader(made.manifest), to.Tag)
	return release, explained("pushing "+to.String(), r.Reference.Registry, err)
}

// existing returns the digest of a tag with its manifest, nil if there is no such tag.
func existing(ctx context.Context, r *remote.Repository, at Reference) (is digest.Digest, raw []byte, err error) {
	desc, body, err := r.Manifests().FetchReference(ctx, at.Tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, explained(at.String(), r.Reference.Registry, err)
	}
	defer body.Close()
	raw, err = readManifest(at.String(), desc, body)
	return desc.Digest, raw, err
}

// Tag gives an artifact further tags.
func (c *Client) Tag(ctx context.Context, from Reference, tags []string) (Release, error) {
	r, err := c.own(from)
	if err != nil {
		return Release{}, err
	}
	is, raw, err := existing(ctx, r, from)
	if err != nil {
		return Release{}, err
	}
	if raw == nil {
		return Release{}, fmt.Errorf("%s: %w", from, ErrNotFound)
	}
	_, release, err := c.released(from.String(), raw)
	if err != nil {
		return Release{}, err
	}
	desc := ocispec.Descriptor{MediaType: mediaTypeOf(raw), Digest: is, Size: int64(len(raw))}
	for _, tag := range tags {
		to := Reference{from.Source, tag}
		if _, err := ParseReference(to.String()); err != nil || tag == "" {
			return Release{}, fmt.Errorf("%q is not a tag", tag)
		}
		if err := r.Manifests().PushReference(ctx, desc, bytes.NewReader(raw), tag); err != nil {
			return Release{}, explained("tagging "+to.String(), r.Reference.Registry, err)
		}
	}
	return release, nil
}

// mediaTypeOf returns the type of a manifest that was read before.
func mediaTypeOf(raw []byte) string {
	if m, _, err := parseManifest(raw); err == nil && m.MediaType != "" {
		return m.MediaType
	}
	return ocispec.MediaTypeImageManifest
}

// own returns the repository to publish to.
func (c *Client) own(to Reference) (*remote.Repository, error) {
	if c.options.Offline {
		return nil, fmt.Errorf("%s: %w", to, ErrOffline)
	}
	return c.repository(to.Repository)
}
