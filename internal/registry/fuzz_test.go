package registry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const someDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Any text is the manifest of one module with a digest and a size, or an error.
func FuzzManifest(f *testing.F) {
	made, err := newArtifact([]byte("\x00asm"), Labels{Title: "greet", Version: "1.0.0"})
	require.NoError(f, err)
	f.Add(made.manifest)
	f.Add([]byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.wasm.content.layer.v1+wasm","digest":"` + someDigest + `","size":4}]}`))
	f.Add([]byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/octet-stream","digest":"` + someDigest + `","size":4,"annotations":{"org.opencontainers.image.title":"a.wasm"}}]}`))
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, module, err := parseManifest(raw)
		if err != nil {
			return
		}
		require.NoError(t, checkDigest(module.Digest.String()))
		require.Positive(t, module.Size)
		require.True(t, isModule(module))
	})
}

// Any text is the index of a layout with digests that are safe as names of files, or an error.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"digest":"`+someDigest+`","size":2,"annotations":{"org.opencontainers.image.ref.name":"a.example/b/c:1.0.0"}}]}`), "a.example/b/c")
	f.Add([]byte(`{"manifests":[{"digest":"sha256:..","annotations":{"org.opencontainers.image.ref.name":"1.0.0"}}]}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, repository string) {
		index, err := parseIndex(raw)
		if err != nil {
			return
		}
		l := &layout{dir: "layout", index: index}
		for _, m := range index.Manifests {
			require.Regexp(t, `^layout/blobs/sha256/[0-9a-f]{64}$`, l.blobPath(m.Digest.String()))
		}
		_, _ = l.tags(repository)
	})
}

// A source reads as it is written.
func FuzzSource(f *testing.F) {
	for _, text := range []string{"oci://localhost:5000/a/b", "https://example.com/a.wasm", "oci-layout:dir#a/b", "git+https://a", "http://[::1]:80/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSource(text)
		if err != nil {
			return
		}
		again, err := ParseSource(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
