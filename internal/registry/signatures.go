package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Signatures are artifacts that refer to a module's artifact, as cosign lays them out: of the type of a sigstore bundle, with the
// bundle as the only layer. Those of a file on the web, or of any file, are beside it. Whoever can write to the repository can
// add some, so that each may be wrong without others being so.

// The limits on a module's signatures.
const (
	signatureCount = 64
	signaturesSize = 16 << 20
)

// signatureSuffix ends the name of a file with the signatures of another.
const signatureSuffix = ".sigstore.json"

// ReadSignatures reads the bundles in a file, one behind the other. It is not an error if there are none, or if the file does not
// exist.
func ReadSignatures(root *projectroot.Root, path string) ([][]byte, error) {
	raw, err := readFrom(root, path, signaturesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := splitBundles(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func splitBundles(raw []byte) (all [][]byte, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		var one json.RawMessage
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("the signatures cannot be read: %w", err)
		case len(all) == signatureCount:
			return nil, fmt.Errorf("there are more than %d signatures", signatureCount)
		}
		all = append(all, one)
	}
}

// keptSignatures returns the path of the signatures of a module that were verified.
func (c *Client) keptSignatures(module string) string {
	return strings.TrimSuffix(c.modulePath(module), moduleSuffix) + signatureSuffix
}

// Kept are signatures of a module that were verified, for when there is no network.
type Kept struct {
	// Manifest is the manifest that the module came with, which signatures may be about; nil for none.
	Manifest []byte            `json:"manifest,omitempty"`
	Bundles  []json.RawMessage `json:"bundles"`
}

// ManifestOf returns the digest of the manifest if it is one of a module, empty otherwise: a cache proves nothing.
func (k Kept) ManifestOf(module string) string {
	_, layer, err := parseManifest(k.Manifest)
	if err != nil || layer.Digest.String() != module {
		return ""
	}
	return digestOf(k.Manifest)
}

// KeptSignatures returns the signatures of a module that [Client.KeepSignatures] has kept.
func (c *Client) KeptSignatures(module string) (kept Kept, err error) {
	if c.options.Cache == "" {
		return kept, nil
	}
	if err := checkDigest(module); err != nil {
		return kept, fmt.Errorf("a module has %w", err)
	}
	raw, err := readBounded(c.keptSignatures(module), 2*signaturesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = intake.AnswerJSON(raw, &kept)
	}
	if err != nil { // they can be fetched again
		return Kept{}, os.Remove(c.keptSignatures(module))
	}
	return kept, nil
}

// KeepSignatures keeps signatures of a module.
func (c *Client) KeepSignatures(module string, kept Kept) error {
	if c.options.Cache == "" {
		return nil
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.options.Cache, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(c.keptSignatures(module), raw, 0o644)
}

// VendoredSignatures returns the bundles that refer to a module in the layouts, which may be wrong. It needs no network.
func (c *Client) VendoredSignatures(_ context.Context, s Source, of Release) (all [][]byte, err error) {
	layouts, err := c.layouts(s)
	if err != nil {
		return nil, err
	}
	for _, l := range layouts {
		manifests := []string{of.Manifest}
		if s.Kind == Web { // it has a manifest of its own in each layout
			manifests = nil
			for _, m := range l.index.Manifests {
				manifests = append(manifests, m.Digest.String())
			}
		}
		for _, manifest := range manifests {
			found, err := l.signatures(manifest)
			if err != nil {
				return nil, err
			}
			if all = append(all, found...); len(all) > signatureCount {
				return nil, fmt.Errorf("%s has more than %d signatures", l.dir, signatureCount)
			}
		}
	}
	return all, nil
}

// Signatures returns the bundles that refer to a module at its source and in the layouts, which may be wrong.
func (c *Client) Signatures(ctx context.Context, s Source, of Release) ([][]byte, error) {
	all, err := c.VendoredSignatures(ctx, s, of)
	if err != nil {
		return nil, err
	}
	published, err := c.PublishedSignatures(ctx, s, of)
	if len(all) > 0 && ctx.Err() == nil {
		err = nil // the source may be away where its copy is not
	}
	return append(all, published...), err
}

// PublishedSignatures returns the bundles that refer to a module at its source, which may be wrong.
func (c *Client) PublishedSignatures(ctx context.Context, s Source, of Release) (all [][]byte, err error) {
	if s.Kind == Layout || s.Kind == Git || c.options.Offline {
		return nil, nil // who trusts a commit says so with its hash
	}
	if s.Kind == Web {
		return c.besides(ctx, s)
	}
	// A mirror may have the module without its signatures, and the registry may be away where its mirrors are not.
	var failures []error
	for _, endpoint := range c.endpoints(s.Repository) {
		r, err := c.repository(endpoint)
		var found [][]byte
		if err == nil {
			found, err = referring(ctx, endpoint, r, of.Manifest)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			failures = append(failures, err)
		}
		all = append(all, found...)
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, errors.Join(failures...)
}

// besides returns the bundles in the file beside a file on the web.
func (c *Client) besides(ctx context.Context, s Source) ([][]byte, error) {
	response, err := send(ctx, c.web.Do, s.URL+signatureSuffix, http.Header{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL+signatureSuffix, err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound:
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, &statusError{response.Request.URL.Redacted(), response.StatusCode}
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, signaturesSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL+signatureSuffix, err)
	}
	if len(raw) > signaturesSize {
		return nil, &SizeError{s.URL + signatureSuffix, -1, signaturesSize}
	}
	found, err := splitBundles(raw)
	if err != nil {
		return nil, nil // some servers have a page for whatever is not there
	}
	return found, nil
}

// referring returns the bundles of a repository that refer to a manifest.
func referring(ctx context.Context, endpoint string, r *remote.Repository, manifest string) (all [][]byte, err error) {
	var found []ocispec.Descriptor
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(manifest)}
	err = r.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			// Some registries give the type of the configuration in place of the artifact's.
			if trust.IsBundleType(d.ArtifactType) || d.ArtifactType == "" || d.ArtifactType == ocispec.MediaTypeEmptyJSON {
				found = append(found, d)
			}
		}
		if len(found) > signatureCount {
			return fmt.Errorf("%s has more than %d signatures of %s", endpoint, signatureCount, manifest)
		}
		return nil
	})
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, explained("the signatures at "+endpoint, r.Reference.Registry, err)
	}
	size := 0
	for _, d := range found {
		raw, err := bounded(ctx, r.Manifests(), d, manifestLimit)
		if err != nil {
			return nil, explained("a signature at "+endpoint, r.Reference.Registry, err)
		}
		layer, ok := bundleLayer(raw)
		if !ok {
			continue
		}
		bundle, err := bounded(ctx, r.Blobs(), layer, trust.BundleLimit)
		if err != nil {
			return nil, explained("a signature at "+endpoint, r.Reference.Registry, err)
		}
		if size += len(bundle); size > signaturesSize {
			return nil, fmt.Errorf("the signatures of %s at %s have more than %d bytes", manifest, endpoint, signaturesSize)
		}
		all = append(all, bundle)
	}
	return all, nil
}

// bounded fetches a content, and verifies it by digest and size.
func bounded(ctx context.Context, from content.Fetcher, d ocispec.Descriptor, most int64) ([]byte, error) {
	if err := checkDigest(d.Digest.String()); err != nil {
		return nil, fmt.Errorf("it has %w", err)
	}
	if d.Size > most {
		return nil, &SizeError{d.Digest.String(), d.Size, most}
	}
	return content.FetchAll(ctx, from, d)
}

// bundleLayer returns the layer of the artifact of a signature that is the bundle, and whether it has one.
func bundleLayer(raw []byte) (ocispec.Descriptor, bool) {
	var m ocispec.Manifest
	if intake.AnswerJSON(raw, &m) != nil {
		return ocispec.Descriptor{}, false
	}
	i := slices.IndexFunc(m.Layers, func(l ocispec.Descriptor) bool { return trust.IsBundleType(l.MediaType) })
	if i < 0 {
		return ocispec.Descriptor{}, false
	}
	return m.Layers[i], true
}

// signatures returns the bundles of a layout that refer to a manifest.
func (l *layout) signatures(manifest string) (all [][]byte, err error) {
	for _, d := range l.index.Manifests {
		if !trust.IsBundleType(d.ArtifactType) {
			continue
		}
		raw, err := l.blob(d.Digest.String())
		if err != nil {
			return nil, err
		}
		var m ocispec.Manifest
		if intake.AnswerJSON(raw, &m) != nil || m.Subject == nil || m.Subject.Digest.String() != manifest {
			continue
		}
		layer, ok := bundleLayer(raw)
		if !ok {
			continue
		}
		if err := checkDigest(layer.Digest.String()); err != nil {
			return nil, fmt.Errorf("a signature in %s has %w", l.dir, err)
		}
		path := l.blobPath(layer.Digest.String())
		bundle, err := readFrom(l.root, path, trust.BundleLimit)
		if err != nil {
			return nil, err
		}
		if is := digestOf(bundle); is != layer.Digest.String() {
			return nil, &DigestError{path, layer.Digest.String(), is}
		}
		if all = append(all, bundle); len(all) > signatureCount {
			return nil, fmt.Errorf("%s has more than %d signatures of %s", l.dir, signatureCount, manifest)
		}
	}
	return all, nil
}

// ManifestOf returns the manifest with a digest.
func (c *Client) ManifestOf(ctx context.Context, s Source, manifest string) ([]byte, error) {
	raw, _, err := c.manifest(ctx, s, manifest)
	if err == nil && digestOf(raw) != manifest {
		err = &DigestError{"the manifest of " + s.String(), manifest, digestOf(raw)}
	}
	return raw, err
}

// emptyConfig is the configuration of artifacts that have none.
var emptyConfig = []byte("{}")

// signatureArtifact returns the artifact of a signature of a manifest: its manifest, which is the same for the same
// signature.
func signatureArtifact(subject ocispec.Descriptor, bundle []byte, predicate string) (raw []byte, desc ocispec.Descriptor, err error) {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: trust.BundleType,
		Config:  ocispec.DescriptorEmptyJSON,
		Layers:  []ocispec.Descriptor{{MediaType: trust.BundleType, Digest: digest.FromBytes(bundle), Size: int64(len(bundle))}},
		Subject: &subject,
	}
	m.Config.Data = nil
	if predicate != "" {
		m.Annotations = map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": predicate}
	}
	raw, err = json.Marshal(m)
	return raw, ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: trust.BundleType, Digest: digest.FromBytes(raw), Size: int64(len(raw)),
		Annotations: m.Annotations,
	}, err
}

// Attach adds a signature to the artifact with a tag or digest, and returns the artifact's module.
func (c *Client) Attach(ctx context.Context, to Reference, bundle *trust.Bundle) (Release, error) {
	r, err := c.own(to)
	if err != nil {
		return Release{}, err
	}
	is, raw, err := existing(ctx, r, to)
	if err != nil {
		return Release{}, err
	}
	if raw == nil {
		return Release{}, fmt.Errorf("%s: %w", to, ErrNotFound)
	}
	_, release, err := c.released(to.String(), raw)
	if err != nil {
		return Release{}, err
	}
	predicate := ""
	if s := bundle.Statement(); s != nil {
		predicate = s.PredicateType
	}
	subject := ocispec.Descriptor{MediaType: mediaTypeOf(raw), Digest: is, Size: int64(len(raw))}
	manifest, desc, err := signatureArtifact(subject, bundle.Raw(), predicate)
	if err != nil {
		return Release{}, err
	}
	for _, blob := range []struct {
		mediaType string
		content   []byte
	}{{trust.BundleType, bundle.Raw()}, {ocispec.MediaTypeEmptyJSON, emptyConfig}} {
		if err := pushBlob(ctx, r, blob.mediaType, blob.content); err != nil {
			return Release{}, explained("signing "+to.String(), r.Reference.Registry, err)
		}
	}
	err = r.Manifests().Push(ctx, desc, bytes.NewReader(manifest))
	return release, explained("signing "+to.String(), r.Reference.Registry, err)
}

// pushBlob pushes a blob that is not there yet.
func pushBlob(ctx context.Context, r *remote.Repository, mediaType string, blob []byte) error {
	desc := content.NewDescriptorFromBytes(mediaType, blob)
	has, err := r.Blobs().Exists(ctx, desc)
	if err == nil && !has {
		err = r.Blobs().Push(ctx, desc, bytes.NewReader(blob))
	}
	return err
}

// vendorSignatures puts the signatures of a module into a layout, as they refer to its manifest there.
func (c *Client) vendorSignatures(ctx context.Context, l *layout, m Vendored, manifest []byte) error {
	kept, err := c.KeptSignatures(m.Digest)
	if err != nil {
		return err
	}
	var bundles [][]byte
	for _, raw := range kept.Bundles {
		bundles = append(bundles, raw)
	}
	found, err := c.Signatures(ctx, m.Source, m.Release)
	if err != nil && !errors.Is(err, ErrOffline) {
		return err
	}
	for _, raw := range found {
		if !slices.ContainsFunc(bundles, func(b []byte) bool { return bytes.Equal(b, raw) }) {
			bundles = append(bundles, raw)
		}
	}
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(manifest), Size: int64(len(manifest))}
	for _, raw := range bundles {
		bundle, err := trust.ParseBundle(raw)
		if err != nil {
			continue // it counts for nobody
		}
		predicate := ""
		if s := bundle.Statement(); s != nil {
			predicate = s.PredicateType
		}
		signature, desc, err := signatureArtifact(subject, raw, predicate)
		if err != nil {
			return err
		}
		for is, content := range map[string][]byte{digestOf(raw): raw, digestOf(emptyConfig): emptyConfig, desc.Digest.String(): signature} {
			if err := l.write(is, content); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(l.index.Manifests, func(o ocispec.Descriptor) bool { return o.Digest == desc.Digest }) {
			l.index.Manifests = append(l.index.Manifests, desc)
		}
	}
	return nil
}

// write puts a blob into a layout, unless it is there.
func (l *layout) write(is string, blob []byte) error {
	if got, err := fileDigest(l.blobPath(is)); err == nil && got == is {
		return nil
	}
	return atomicfile.Write(l.blobPath(is), blob, 0o644)
}
