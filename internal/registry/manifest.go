package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/husk-dev/husk/internal/base/intake"
)

// The media types of WebAssembly modules as artifacts, as the CNCF's working group lays them out
// (https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/).
const (
	configType = "application/vnd.wasm.config.v0+json"
	moduleType = "application/wasm"

	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// olderModuleTypes are the types that tools used before the layout above.
var olderModuleTypes = []string{
	"application/vnd.wasm.content.layer.v1+wasm",
	"application/vnd.module.wasm.content.layer.v1+wasm",
}

// genericTypes say nothing of the content. Layers of these types are modules if their name ends with .wasm.
var genericTypes = []string{"application/octet-stream", ocispec.MediaTypeImageLayer, ""}

// manifestLimit bounds manifests and configurations, in bytes. A module's manifest has about one kilobyte; the
// distribution specification has registries take 4 MiB.
const manifestLimit = 256 << 10

// NotModuleError says why an artifact is not a module.
type NotModuleError struct {
	// Artifact is its reference.
	Artifact string
	Reason   string
}

func (e *NotModuleError) Error() string {
	return fmt.Sprintf("%s is not a provider module: %s", e.Artifact, e.Reason)
}

// parseManifest returns the layer of a manifest that is the module. The error is a reason for [NotModuleError].
func parseManifest(raw []byte) (manifest ocispec.Manifest, module ocispec.Descriptor, err error) {
	var kind struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     string          `json:"mediaType"`
		Manifests     json.RawMessage `json:"manifests"`
	}
	if err := intake.AnswerJSON(raw, &kind); err != nil {
		return manifest, module, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	switch {
	case kind.MediaType == ocispec.MediaTypeImageIndex || kind.MediaType == dockerList || kind.Manifests != nil:
		return manifest, module, fmt.Errorf("it is an index of several images, such as one for each platform, and a provider is one module for all platforms")
	case kind.MediaType != "" && kind.MediaType != ocispec.MediaTypeImageManifest && kind.MediaType != dockerManifest:
		return manifest, module, fmt.Errorf("its manifest has the type %q", kind.MediaType)
	case kind.SchemaVersion != 2:
		return manifest, module, fmt.Errorf("its manifest has the schema version %d, not 2", kind.SchemaVersion)
	}
	if err := intake.AnswerJSON(raw, &manifest); err != nil {
		return manifest, module, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	modules := slices.DeleteFunc(slices.Clone(manifest.Layers), func(layer ocispec.Descriptor) bool { return !isModule(layer) })
	switch len(modules) {
	case 0:
		var types []string
		for _, layer := range manifest.Layers {
			types = append(types, layer.MediaType)
		}
		return manifest, module, fmt.Errorf("none of its layers is WebAssembly (%s), but: %s", moduleType, orNone(strings.Join(types, ", ")))
	case 1:
		module = modules[0]
	default:
		return manifest, module, fmt.Errorf("it has %d modules, not one", len(modules))
	}
	if err := checkDigest(module.Digest.String()); err != nil {
		return manifest, module, fmt.Errorf("its layer has %w", err)
	}
	if module.Size <= 0 {
		return manifest, module, fmt.Errorf("its layer has the size %d", module.Size)
	}
	return manifest, module, nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func isModule(layer ocispec.Descriptor) bool {
	return layer.MediaType == moduleType || slices.Contains(olderModuleTypes, layer.MediaType) ||
		slices.Contains(genericTypes, layer.MediaType) && strings.HasSuffix(layer.Annotations[ocispec.AnnotationTitle], ".wasm")
}

// checkDigest returns an error unless a text is a sha256 digest.
func checkDigest(text string) error {
	d, err := digest.Parse(text)
	if err != nil || d.Algorithm() != digest.SHA256 {
		return fmt.Errorf("the digest %q, which must be sha256: and 64 hexadecimal digits", text)
	}
	return nil
}

// Labels describe a module to people who look at a registry.
type Labels struct {
	Title, Version, Description, Licenses, Source string
}

func (l Labels) annotations() map[string]string {
	all := map[string]string{
		ocispec.AnnotationTitle: l.Title, ocispec.AnnotationVersion: l.Version, ocispec.AnnotationDescription: l.Description,
		ocispec.AnnotationLicenses: l.Licenses, ocispec.AnnotationSource: l.Source,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// labelsFrom returns the labels in the annotations of a manifest.
func labelsFrom(annotations map[string]string) Labels {
	return Labels{
		annotations[ocispec.AnnotationTitle], annotations[ocispec.AnnotationVersion], annotations[ocispec.AnnotationDescription],
		annotations[ocispec.AnnotationLicenses], annotations[ocispec.AnnotationSource],
	}
}

// artifact is a module with the data that a registry needs beside it.
type artifact struct {
	module, config, manifest []byte
	descriptor               ocispec.Descriptor
}

// newArtifact makes the artifact of a module. The same module and labels make the same artifact.
func newArtifact(wasm []byte, labels Labels) (*artifact, error) {
	layer := ocispec.Descriptor{
		MediaType: moduleType, Digest: digest.FromBytes(wasm), Size: int64(len(wasm)),
		Annotations: map[string]string{ocispec.AnnotationTitle: labels.Title + ".wasm"},
	}
	config, err := json.Marshal(struct {
		Architecture string          `json:"architecture"`
		OS           string          `json:"os"`
		LayerDigests []digest.Digest `json:"layerDigests"`
	}{"wasm", "wasip1", []digest.Digest{layer.Digest}})
	if err != nil {
		return nil, err
	}
	m := ocispec.Manifest{
		MediaType:   ocispec.MediaTypeImageManifest,
		Config:      ocispec.Descriptor{MediaType: configType, Digest: digest.FromBytes(config), Size: int64(len(config))},
		Layers:      []ocispec.Descriptor{layer},
		Annotations: labels.annotations(),
	}
	m.SchemaVersion = 2
	var manifest bytes.Buffer
	encoder := json.NewEncoder(&manifest)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace(manifest.Bytes())
	return &artifact{wasm, config, raw, ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(raw), Size: int64(len(raw)),
	}}, nil
}
