package registry_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
)

// maxSize is the limit of modules in these tests, in bytes.
const maxSize = 1 << 20

// wasm returns bytes that begin like a module.
func wasm(seed uint64, size int) []byte {
	content := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = random.Read(content)
	copy(content, "\x00asm\x01\x00\x00\x00")
	return content
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func start(t *testing.T) *registrytest.Server {
	t.Helper()
	s := registrytest.Start()
	t.Cleanup(s.Close)
	return s
}

// client returns a client with a cache of its own, and the cache's directory.
func client(t *testing.T, change ...func(*registry.Options)) (*registry.Client, string) {
	t.Helper()
	o := registry.Options{Cache: t.TempDir(), MaxSize: maxSize, Pause: time.Millisecond, Seal: func() []byte { return []byte("the user's") }}
	for _, c := range change {
		c(&o)
	}
	return registry.New(o), o.Cache
}

func anyVersion(t *testing.T, text string) versionrange.Range {
	t.Helper()
	r, err := versionrange.Parse(text)
	require.NoError(t, err)
	return r
}

func push(t *testing.T, s *registrytest.Server, name, version string, content []byte) registry.Release {
	t.Helper()
	c, _ := client(t)
	to, err := registry.ParseReference(s.Host + "/acme/" + name + ":" + registry.Tag(version))
	require.NoError(t, err)
	r, err := c.Push(t.Context(), to, content, registry.Labels{Title: name, Version: version}, false, nil)
	require.NoError(t, err)
	return r
}

func source(t *testing.T, s *registrytest.Server, name string) registry.Source {
	t.Helper()
	from, err := registry.ParseSource("oci://" + s.Host + "/acme/" + name)
	require.NoError(t, err)
	return from
}

// installed returns the modules in a cache.
func installed(t *testing.T, cache string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	var names []string
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// Whoever sends or receives a module learns how much of it has gone or come, and when that is over.
func TestProgress(t *testing.T) {
	s := start(t)
	var mu sync.Mutex
	var last registry.Progress
	over := 0
	c, _ := client(t, func(o *registry.Options) {
		o.Progress = func(p registry.Progress) {
			mu.Lock()
			defer mu.Unlock()
			if p.Over {
				over++
			} else if p.Size > 1000 { // the configuration is small
				last = p
			}
		}
	})
	from := source(t, s, "greet")
	content := wasm(1, 200_000)
	to, err := registry.ParseReference(s.Host + "/acme/greet:1.0.0")
	require.NoError(t, err)
	_, err = c.Push(t.Context(), to, content, registry.Labels{Title: "greet", Version: "1.0.0"}, false, nil)
	require.NoError(t, err)
	require.Equal(t, registry.Progress{Source: to.String(), Sent: true, Moved: 200_000, Size: 200_000}, last)
	require.Equal(t, 1, over)
	_, err = get(t.Context(), c, from, anyVersion(t, ""))
	require.NoError(t, err)
	require.Equal(t, int64(200_000), last.Moved)
	require.False(t, last.Sent)
	require.Equal(t, 2, over)

	silent, _ := client(t)
	own := int64(0)
	second, err := registry.ParseReference(s.Host + "/acme/greet:1.0.1")
	require.NoError(t, err)
	_, err = silent.Push(registry.OnProgress(t.Context(), func(p registry.Progress) {
		mu.Lock()
		defer mu.Unlock()
		own = max(own, p.Moved)
	}), second, wasm(2, 200_000), registry.Labels{Title: "greet", Version: "1.0.1"}, false, nil)
	require.NoError(t, err)
	require.Equal(t, int64(200_000), own)

	own = 0
	_, err = get(registry.OnProgress(t.Context(), func(p registry.Progress) { own = max(own, p.Moved) }), silent, from, anyVersion(t, ""))
	require.NoError(t, err)
	require.Equal(t, int64(200_000), own)
}

func get(ctx context.Context, c *registry.Client, from registry.Source, r versionrange.Range) (string, error) {
	release, err := c.Resolve(ctx, from, r)
	if err != nil {
		return "", err
	}
	return c.Fetch(ctx, from, release)
}

func TestAModuleTravels(t *testing.T) {
	s := start(t)
	old, content := wasm(1, 1000), wasm(2, 300_000)
	push(t, s, "greet", "1.2.0", old)
	pushed := push(t, s, "greet", "1.10.0", content)
	push(t, s, "greet", "2.0.0-rc.1", wasm(3, 1000))
	push(t, s, "greet", "0.9.0+linux", wasm(4, 1000))

	c, cache := client(t)
	from := source(t, s, "greet")
	versions, err := c.Versions(t.Context(), from)
	require.NoError(t, err)
	require.Equal(t, []string{"2.0.0-rc.1", "1.10.0", "1.2.0", "0.9.0+linux"}, versions)

	release, err := c.Resolve(t.Context(), from, anyVersion(t, ">=1.2 <2"))
	require.NoError(t, err)
	require.Equal(t, pushed, release)
	path, err := c.Fetch(t.Context(), from, release)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.Len(t, installed(t, cache), 1)

	// What is in the cache needs no registry.
	s.Fail("", 0, registrytest.Status(http.StatusInternalServerError))
	again, err := c.Fetch(t.Context(), from, release)
	require.NoError(t, err)
	require.Equal(t, path, again)
}

func TestNoSuchVersion(t *testing.T) {
	s := start(t)
	push(t, s, "greet", "1.2.0", wasm(1, 1000))
	push(t, s, "next", "2.0.0-rc.1", wasm(1, 1000))
	c, _ := client(t)
	_, err := c.Resolve(t.Context(), source(t, s, "greet"), anyVersion(t, "^2"))
	require.ErrorContains(t, err, "has no version ^2: it has 1.2.0")
	_, err = c.Resolve(t.Context(), source(t, s, "next"), anyVersion(t, ""))
	require.ErrorContains(t, err, "has only versions before a release: name one as version (2.0.0-rc.1)")
	_, err = c.Resolve(t.Context(), source(t, s, "nothing"), anyVersion(t, ""))
	require.ErrorIs(t, err, registry.ErrNotFound)
}

// The layout of the artifact is the one that other tools read.
func TestArtifact(t *testing.T) {
	s := start(t)
	content := wasm(1, 1000)
	release := push(t, s, "greet", "1.2.0", content)
	response, err := http.Get(s.URL + "/v2/acme/greet/manifests/1.2.0")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "application/vnd.oci.image.manifest.v1+json", response.Header.Get("Content-Type"))
	var m ocispec.Manifest
	require.NoError(t, json.NewDecoder(response.Body).Decode(&m))
	require.Equal(t, "application/vnd.wasm.config.v0+json", m.Config.MediaType)
	require.Len(t, m.Layers, 1)
	require.Equal(t, "application/wasm", m.Layers[0].MediaType)
	require.Equal(t, release.Digest, m.Layers[0].Digest.String())
	require.Equal(t, map[string]string{"org.opencontainers.image.title": "greet", "org.opencontainers.image.version": "1.2.0"}, m.Annotations)
	config, err := http.Get(s.URL + "/v2/acme/greet/blobs/" + m.Config.Digest.String())
	require.NoError(t, err)
	defer config.Body.Close()
	var has map[string]any
	require.NoError(t, json.NewDecoder(config.Body).Decode(&has))
	require.Equal(t, map[string]any{"architecture": "wasm", "os": "wasip1", "layerDigests": []any{release.Digest}}, has)
}

func TestPushDoesNotReplaceAVersion(t *testing.T) {
	s := start(t)
	first, second := wasm(1, 1000), wasm(2, 1000)
	push(t, s, "greet", "1.2.0", first)
	push(t, s, "greet", "1.2.0", first) // the same is no change
	c, _ := client(t)
	to, err := registry.ParseReference(s.Host + "/acme/greet:1.2.0")
	require.NoError(t, err)
	_, err = c.Push(t.Context(), to, second, registry.Labels{Title: "greet", Version: "1.2.0"}, false, nil)
	var moved *registry.MovedError
	require.ErrorAs(t, err, &moved)
	require.Equal(t, digestOf(first), moved.Is)
	require.Equal(t, digestOf(second), moved.Pushed)
	_, err = c.Push(t.Context(), to, second, registry.Labels{Title: "greet", Version: "1.2.0"}, true, nil)
	require.NoError(t, err)
	found, err := c.Find(t.Context(), to)
	require.NoError(t, err)
	require.Equal(t, digestOf(second), found.Digest)

	_, err = c.Push(t.Context(), to, []byte("PK\x03\x04 and so on"), registry.Labels{}, true, nil)
	require.ErrorContains(t, err, "it is a zip archive")
}

// A version that cannot be signed is not there for anybody.
func TestPushSignsBeforeItTags(t *testing.T) {
	s := start(t)
	c, _ := client(t)
	to := registry.Reference{Source: source(t, s, "greet"), Tag: "1.0.0"}
	content := wasm(1, 1000)
	labels := registry.Labels{Title: "greet", Version: "1.0.0"}
	refused := errors.New("the key is gone")
	_, err := c.Push(t.Context(), to, content, labels, false, func(registry.Release) error { return refused })
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "is not published")
	_, err = c.Find(t.Context(), to)
	require.ErrorIs(t, err, registry.ErrNotFound)

	sign := func(r registry.Release) error {
		_, err := c.Attach(t.Context(), registry.Reference{Source: to.Source, Tag: r.Manifest}, signature(t, r))
		return err
	}
	release, err := c.Push(t.Context(), to, content, labels, false, sign)
	require.NoError(t, err)
	_, err = c.Push(t.Context(), to, content, labels, false, sign) // again, which changes nothing
	require.NoError(t, err)
	all, err := c.Signatures(t.Context(), to.Source, release)
	require.NoError(t, err)
	require.NotEmpty(t, all)
}

// signature returns a signature of a module by some key.
func signature(t *testing.T, r registry.Release) *trust.Bundle {
	t.Helper()
	key, err := trust.GenerateKey()
	require.NoError(t, err)
	statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"greet": r.Manifest, "greet.wasm": r.Digest})
	require.NoError(t, err)
	raw, err := trust.Sign(key, statement)
	require.NoError(t, err)
	bundle, err := trust.ParseBundle(raw)
	require.NoError(t, err)
	return bundle
}

func TestTag(t *testing.T) {
	s := start(t)
	pushed := push(t, s, "greet", "1.2.0", wasm(1, 1000))
	c, _ := client(t)
	from, err := registry.ParseReference(s.Host + "/acme/greet:1.2.0")
	require.NoError(t, err)
	_, err = c.Tag(t.Context(), from, []string{"1.2", "latest"})
	require.NoError(t, err)
	from.Tag = "latest"
	found, err := c.Find(t.Context(), from)
	require.NoError(t, err)
	require.Equal(t, pushed.Manifest, found.Manifest)
	_, err = c.Tag(t.Context(), from, []string{"not a tag"})
	require.ErrorContains(t, err, `"not a tag" is not a tag`)
	from.Tag = "9.9.9"
	_, err = c.Tag(t.Context(), from, []string{"x"})
	require.ErrorIs(t, err, registry.ErrNotFound)
}

// Each row is a way in which a registry or the network fails. None leaves a module in the cache, and what was left of a
// download does no harm later.
func TestFaults(t *testing.T) {
	content := wasm(1, 200_000)
	manifest := func(change func(*ocispec.Manifest)) []byte {
		m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Layers: []ocispec.Descriptor{
			{MediaType: "application/wasm", Digest: digest.FromBytes(content), Size: int64(len(content))},
		}}
		m.SchemaVersion = 2
		change(&m)
		raw, err := json.Marshal(m)
		require.NoError(t, err)
		return raw
	}
	const manifests, blobs = "GET /v2/acme/greet/manifests/", "GET /v2/acme/greet/blobs/"
	image := func(raw []byte) registrytest.Fault { return registrytest.Content(ocispec.MediaTypeImageManifest, raw) }
	for name, c := range map[string]struct {
		at    string
		times int
		fault registrytest.Fault
		// want is the error, empty if the client recovers.
		want string
		is   any
	}{
		"truncated once":         {at: blobs, times: 1, fault: registrytest.Truncate(1000)},
		"truncated always":       {at: blobs, fault: registrytest.Truncate(0), want: "broke off after 0 bytes"},
		"swapped byte":           {at: blobs, fault: registrytest.Swap, want: digestOf(content) + " is wanted", is: new(*registry.DigestError)},
		"endless":                {at: blobs, fault: registrytest.Endless, want: "has more than 200000 bytes", is: new(*registry.SizeError)},
		"stalls":                 {at: blobs, fault: registrytest.Stall(0), want: "nothing was received for"},
		"a manifest stalls":      {at: manifests, fault: registrytest.Stall(10), want: "nothing was received for"},
		"tags stall":             {at: "/tags/list", fault: registrytest.Stall(3), want: "nothing was received for"},
		"429 twice":              {at: blobs, times: 2, fault: registrytest.Status(429, "Retry-After", "3600")},
		"429 always":             {at: blobs, fault: registrytest.Status(429, "Retry-After", "1"), want: "it allows no more requests for now"},
		"500 once":               {at: manifests, times: 1, fault: registrytest.Status(500)},
		"500 always":             {at: manifests, fault: registrytest.Status(500), want: "it has a problem: try again later"},
		"401":                    {at: manifests, fault: registrytest.Status(401), want: "docker login"},
		"403":                    {at: blobs, fault: registrytest.Status(403), want: "docker login"},
		"404 of a blob":          {at: blobs, fault: registrytest.Status(404), want: "404 Not Found"},
		"tags are no JSON":       {at: "/tags/list", fault: registrytest.Content("application/json", []byte("<html>")), want: "failed to decode response"},
		"redirect to plain HTTP": {at: blobs, fault: registrytest.Redirect("http://192.0.2.1"), want: "plain HTTP is allowed on this machine only"},
		"redirect to a file":     {at: blobs, fault: registrytest.Redirect("file:///etc/passwd"), want: "plain HTTP is allowed on this machine only"},
		"redirect in a circle": {at: blobs, fault: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, want: "more than 5 redirects"},
		"another manifest": {at: manifests, fault: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Docker-Content-Digest", digestOf([]byte("another")))
			image(manifest(func(*ocispec.Manifest) {}))(w, r, nil)
		}, want: "digest"},
		"huge manifest": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) {
			m.Annotations = map[string]string{"a": strings.Repeat("a", 300<<10)}
		})), want: "the limit is 262144", is: new(*registry.SizeError)},
		"endless manifest": {at: manifests, fault: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
			registrytest.Endless(w, r, nil)
		}, want: "manifest"},
		"image index": {at: manifests, fault: registrytest.Content(ocispec.MediaTypeImageIndex,
			[]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)), want: "a provider is one module for all platforms", is: new(*registry.NotModuleError)},
		"no JSON": {at: manifests, fault: image([]byte("PK")), want: "its manifest cannot be read", is: new(*registry.NotModuleError)},
		"a container image": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) {
			m.Layers[0].MediaType = ocispec.MediaTypeImageLayerGzip
		})), want: "none of its layers is WebAssembly (application/wasm), but: application/vnd.oci.image.layer.v1.tar+gzip", is: new(*registry.NotModuleError)},
		"two modules": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) })), want: "it has 2 modules, not one"},
		"weak digest": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" })),
			want: "must be sha256"},
		"a path as digest": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha256:../../../../etc/passwd" })),
			want: "must be sha256"},
		"no size":        {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Size = 0 })), want: "has the size 0"},
		"too large":      {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Size = 1 << 40 })), want: "the limit is 1048576", is: new(*registry.SizeError)},
		"wrong size":     {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Size-- })), want: "has more than 199999 bytes"},
		"smaller module": {at: manifests, fault: image(manifest(func(m *ocispec.Manifest) { m.Layers[0].Size++ })), want: "ended after 200000 of 200001 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			push(t, s, "greet", "1.0.0", content)
			s.Fail(c.at, c.times, c.fault)
			client, cache := client(t, func(o *registry.Options) {
				if strings.Contains(name, "stall") {
					o.Stall = 100 * time.Millisecond
				}
			})
			path, err := get(t.Context(), client, source(t, s, "greet"), anyVersion(t, ""))
			if c.want == "" {
				require.NoError(t, err)
				got, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, content, got)
				return
			}
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorAs(t, err, c.is)
			}
			require.Empty(t, installed(t, cache))

			s.Heal()
			_, err = get(t.Context(), client, source(t, s, "greet"), anyVersion(t, ""))
			require.NoError(t, err)
		})
	}
}

// A zip archive that is pushed as a module has the digest that its manifest says, and is refused all the same.
func TestZipInPlaceOfWasm(t *testing.T) {
	zip := append([]byte("PK\x03\x04"), make([]byte, 1000)...)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(zip) }))
	defer s.Close()
	c, cache := client(t)
	from, err := registry.ParseSource(s.URL + "/greet.wasm")
	require.NoError(t, err)
	for _, try := range []func() error{
		func() error { _, err := c.Resolve(t.Context(), from, versionrange.Range{}); return err },
		func() error {
			_, err := c.Fetch(t.Context(), from, registry.Release{Digest: digestOf(zip), Size: int64(len(zip))})
			return err
		},
	} {
		err := try()
		var not *registry.NotModuleError
		require.ErrorAs(t, err, &not)
		require.Equal(t, from.String()+" is not a provider module: it is a zip archive", err.Error())
	}
	require.Empty(t, installed(t, cache))
}

// A server that sends a little now and then ends a download as well, for which others may wait.
func TestASlowDownloadEnds(t *testing.T) {
	s := start(t)
	content := wasm(1, 10_000)
	push(t, s, "greet", "1.0.0", content)
	s.Fail("GET /v2/acme/greet/blobs/", 0, registrytest.Trickle(5*time.Millisecond))
	slow, cache := client(t, func(o *registry.Options) { o.Stall = 50 * time.Millisecond })
	_, err := get(t.Context(), slow, source(t, s, "greet"), anyVersion(t, ""))
	require.ErrorContains(t, err, "did not send all of it within 500ms, and is too slow")
	require.Empty(t, installed(t, cache))
	s.Heal()
	_, err = get(t.Context(), slow, source(t, s, "greet"), anyVersion(t, ""))
	require.NoError(t, err)
}

// A download that was interrupted goes on where it ended, also in another process.
func TestInterruptedDownload(t *testing.T) {
	for name, c := range map[string]struct {
		fault registrytest.Fault
		spoil bool
		want  []string
	}{
		"resumed":                  {want: []string{"bytes=70000-199999"}},
		"server without ranges":    {fault: registrytest.NoRange, want: []string{"bytes=70000-199999"}},
		"ranges are refused":       {fault: registrytest.Status(http.StatusRequestedRangeNotSatisfiable), want: []string{"bytes=70000-199999", ""}},
		"another part is sent":     {fault: registrytest.Status(http.StatusPartialContent, "Content-Range", "bytes 0-1/200000"), want: []string{"bytes=70000-199999", ""}},
		"the part on disk is bad":  {spoil: true, want: []string{"bytes=70000-199999", ""}},
		"the part on disk is long": {spoil: true, fault: nil, want: []string{"bytes=70000-199999", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			content := wasm(1, 200_000)
			push(t, s, "greet", "1.0.0", content)
			const blobs = "GET /v2/acme/greet/blobs/"
			cut, cancel := context.WithCancel(t.Context())
			first, cache := client(t, func(o *registry.Options) {
				o.Progress = func(p registry.Progress) {
					if p.Moved == 70_000 {
						cancel()
					}
				}
			})
			s.Fail(blobs, 1, registrytest.Stall(70_000))
			_, err := get(cut, first, source(t, s, "greet"), anyVersion(t, ""))
			require.ErrorIs(t, err, context.Canceled)
			require.Empty(t, installed(t, cache))
			if c.spoil {
				parts, err := filepath.Glob(filepath.Join(cache, "partial", strings.TrimPrefix(digestOf(content), "sha256:")+"-*"))
				require.NoError(t, err)
				require.Len(t, parts, 1)
				raw, err := os.ReadFile(parts[0])
				require.NoError(t, err)
				raw[100] ^= 1
				require.NoError(t, os.WriteFile(parts[0], raw, 0o600))
			}
			asked := len(s.Requests(blobs))
			if c.fault != nil {
				s.Fail(blobs, 1, c.fault)
			}
			second, _ := client(t, func(o *registry.Options) { o.Cache = cache })
			path, err := get(t.Context(), second, source(t, s, "greet"), anyVersion(t, ""))
			require.NoError(t, err)
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, content, got)
			var ranges []string
			for _, r := range s.Requests(blobs)[asked:] {
				ranges = append(ranges, r.Header.Get("Range"))
			}
			require.Equal(t, c.want, ranges)
		})
	}
}

// Several installations at once receive a module once.
func TestInstallationsAtOnce(t *testing.T) {
	s := start(t)
	content := wasm(1, 300_000)
	release := push(t, s, "greet", "1.0.0", content)
	_, cache := client(t)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			c, _ := client(t, func(o *registry.Options) { o.Cache = cache })
			var path string
			if path, errs[i] = c.Fetch(t.Context(), source(t, s, "greet"), release); errs[i] == nil {
				_, errs[i] = os.Stat(path)
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, s.Requests("GET /v2/acme/greet/blobs/"), 1)
	require.Len(t, installed(t, cache), 1)
}

func TestDamagedCache(t *testing.T) {
	s := start(t)
	content := wasm(1, 1000)
	release := push(t, s, "greet", "1.0.0", content)
	c, _ := client(t)
	path, err := c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("\x00asm other"), 0o600))
	path, err = c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)

	release.Size++ // as if the lock had been edited
	_, err = c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.ErrorContains(t, err, "has 1000 bytes, and 1001 are wanted")
}

// A cache that cannot be written to is an error that says so, and nothing is installed.
func TestCacheThatCannotBeWritten(t *testing.T) {
	s := start(t)
	release := push(t, s, "greet", "1.0.0", wasm(1, 1000))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	c, _ := client(t, func(o *registry.Options) { o.Cache = filepath.Join(file, "cache") })
	_, err := c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.ErrorContains(t, err, "not a directory")
	c, _ = client(t, func(o *registry.Options) { o.Cache = "" })
	_, err = c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.ErrorContains(t, err, "set HUSK_CACHE_DIR")
}

func TestLogin(t *testing.T) {
	s := start(t)
	content := wasm(1, 1000)
	push(t, s, "greet", "1.0.0", content)
	s.RequireLogin("alice", "secret")
	c, _ := client(t)
	_, err := get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.ErrorContains(t, err, "docker login "+s.Host)

	// As "docker login" stores it.
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	stored := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, s.Host, base64.StdEncoding.EncodeToString([]byte("alice:secret")))
	require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), []byte(stored), 0o600))
	c, _ = client(t, func(o *registry.Options) { o.Credential = registry.DockerCredentials() })
	_, err = get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.NoError(t, err)

	// As a credential helper has it, which is a program.
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a script of a shell")
	}
	helpers := t.TempDir()
	t.Setenv("PATH", helpers+string(os.PathListSeparator)+os.Getenv("PATH"))
	script := "#!/bin/sh\nread host\nprintf '{\"ServerURL\":\"%s\",\"Username\":\"alice\",\"Secret\":\"secret\"}' \"$host\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(helpers, "docker-credential-safe"), []byte(script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"credHelpers":{%q:"safe"}}`, s.Host), 0o600))
	c, _ = client(t, func(o *registry.Options) { o.Credential = registry.DockerCredentials() })
	_, err = get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.NoError(t, err)
}

// Credentials are sent to the registry that they are for. One that it redirects to gets none, also if it asks.
func TestCredentialsStay(t *testing.T) {
	s, other := start(t), start(t)
	content := wasm(1, 1000)
	push(t, s, "greet", "1.0.0", content)
	push(t, other, "greet", "1.0.0", content)
	s.RequireLogin("alice", "secret")
	var asked []string
	c, _ := client(t, func(o *registry.Options) {
		o.Credential = func(_ context.Context, host string) (auth.Credential, error) {
			asked = append(asked, host)
			return auth.Credential{Username: "alice", Password: "secret"}, nil
		}
	})
	s.Fail("GET /v2/acme/greet/blobs/", 0, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		registrytest.Redirect(other.URL)(w, r, nil)
	})
	_, err := get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.NoError(t, err)
	require.Len(t, other.Requests("GET /v2/acme/greet/blobs/"), 1)

	other.RequireLogin("alice", "secret")
	c, _ = client(t, func(o *registry.Options) {
		o.Credential = func(_ context.Context, host string) (auth.Credential, error) {
			asked = append(asked, host)
			return auth.Credential{Username: "alice", Password: "secret"}, nil
		}
	})
	_, err = get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.ErrorContains(t, err, "401")
	for _, r := range other.Requests("GET ") {
		require.Empty(t, r.Header.Get("Authorization"), r.URL)
		require.NotEqual(t, "/token", r.URL.Path)
	}
	for _, host := range asked {
		require.Equal(t, s.Host, host)
	}
}

func TestMirrors(t *testing.T) {
	s, mirror := start(t), start(t)
	content := wasm(1, 1000)
	release := push(t, mirror, "greet", "1.0.0", content)
	mirrored := func(host string) func(o *registry.Options) {
		mirrors, err := registry.ParseMirrors(host + "=" + mirror.Host)
		require.NoError(t, err)
		return func(o *registry.Options) { o.Mirrors = mirrors }
	}
	withMirrors := mirrored(s.Host)

	c, _ := client(t, mirrored("registry.example.com"))
	from, err := registry.ParseSource("oci://registry.example.com/acme/greet")
	require.NoError(t, err)
	_, err = get(t.Context(), c, from, anyVersion(t, ""))
	require.NoError(t, err)

	// What the mirror does not have, or has wrong, the registry itself has.
	push(t, s, "greet", "1.0.0", content)
	mirror.Fail("GET /v2/acme/greet/blobs/", 0, registrytest.Swap)
	c, _ = client(t, withMirrors)
	path, err := c.Fetch(t.Context(), source(t, s, "greet"), release)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)

	// A mirror may have a module without its signatures.
	own, _ := client(t)
	_, err = own.Attach(t.Context(), registry.Reference{Source: source(t, s, "greet"), Tag: "1.0.0"}, signature(t, release))
	require.NoError(t, err)
	all, err := c.Signatures(t.Context(), source(t, s, "greet"), release)
	require.NoError(t, err)
	require.Len(t, all, 1)
	mirror.Fail("", 0, registrytest.Status(500))
	all, err = c.Signatures(t.Context(), source(t, s, "greet"), release)
	require.NoError(t, err)
	require.Len(t, all, 1)
	s.Fail("", 0, registrytest.Status(500))
	_, err = c.Signatures(t.Context(), source(t, s, "greet"), release)
	require.ErrorContains(t, err, "it has a problem")

	for _, text := range []string{"mirror.example.com", "=mirror.example.com", "a=not a host", "a="} {
		_, err := registry.ParseMirrors(text)
		require.ErrorContains(t, err, "does not have the form", text)
	}
}

// What a mirror has of one registry it gives for no other.
func TestMirrorsJoinNoRegistries(t *testing.T) {
	s, mirror := start(t), start(t)
	c, _ := client(t)
	to, err := registry.ParseReference(mirror.Host + "/all/registry.example.com/acme/greet:1.0.0")
	require.NoError(t, err)
	_, err = c.Push(t.Context(), to, wasm(1, 1000), registry.Labels{Title: "greet", Version: "1.0.0"}, false, nil)
	require.NoError(t, err)
	to, err = registry.ParseReference(mirror.Host + "/all/acme/greet:1.0.0") // of whichever registry
	require.NoError(t, err)
	_, err = c.Push(t.Context(), to, wasm(1, 1000), registry.Labels{Title: "greet", Version: "1.0.0"}, false, nil)
	require.NoError(t, err)

	mirrors, err := registry.ParseMirrors("*=" + mirror.Host + "/all")
	require.NoError(t, err)
	c, _ = client(t, func(o *registry.Options) { o.Mirrors = mirrors })
	from, err := registry.ParseSource("oci://registry.example.com/acme/greet")
	require.NoError(t, err)
	_, err = get(t.Context(), c, from, anyVersion(t, ""))
	require.NoError(t, err)
	_, err = get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
	require.ErrorContains(t, err, strings.ReplaceAll(s.Host, ":", "_"))
	require.ErrorIs(t, err, registry.ErrNotFound)

	for _, text := range []string{"a=m.example", "a=m.example/x", "a=m.example/x/y"} {
		_, err := registry.ParseMirrors(text + ",b=m.example/x")
		require.ErrorContains(t, err, "have modules in common", text)
		_, err = registry.ParseMirrors(text + ",*=m.example/x")
		require.ErrorContains(t, err, "have modules in common", text)
	}
	_, err = registry.ParseMirrors("a=m.example/x,b=m.example/xy,docker.io=h.example/x,registry-1.docker.io=h.example/x")
	require.NoError(t, err)
}

// All that a project needs fits into a directory, from which it is fetched without a network.
func TestVendor(t *testing.T) {
	s := start(t)
	greet, web := wasm(1, 1000), wasm(2, 2000)
	release := push(t, s, "greet", "1.0.0", greet)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(web) }))
	defer files.Close()
	fromWeb, err := registry.ParseSource(files.URL + "/web.wasm")
	require.NoError(t, err)
	c, _ := client(t)
	webRelease, err := c.Resolve(t.Context(), fromWeb, versionrange.Range{})
	require.NoError(t, err)
	webRelease.Version = "3.0.0"
	from := source(t, s, "greet")
	dir := filepath.Join(t.TempDir(), "vendor")
	modules := []registry.Vendored{{from, release, "greet"}, {fromWeb, webRelease, "web"}}
	require.NoError(t, c.Vendor(t.Context(), dir, modules))
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	require.NoError(t, err)
	require.NoError(t, c.Vendor(t.Context(), dir, modules)) // again, which changes nothing
	again, err := os.ReadFile(filepath.Join(dir, "index.json"))
	require.NoError(t, err)
	require.Equal(t, string(index), string(again))

	// A project names the directory before it has been filled.
	early, _ := client(t, func(o *registry.Options) { o.Layouts = []registry.Directory{directory(filepath.Join(dir, "later"))} })
	_, err = get(t.Context(), early, from, anyVersion(t, ""))
	require.NoError(t, err)
	_, err = early.Signatures(t.Context(), from, release)
	require.NoError(t, err)
	require.NoError(t, early.Vendor(t.Context(), filepath.Join(dir, "later"), modules[:1]))

	offline, cache := client(t, func(o *registry.Options) { o.Offline, o.Layouts = true, []registry.Directory{directory(dir)} })
	s.Close()
	files.Close()
	found, err := offline.Resolve(t.Context(), from, anyVersion(t, "^1"))
	require.NoError(t, err)
	require.Equal(t, release, found)
	for _, m := range modules {
		path, err := offline.Fetch(t.Context(), m.Source, m.Release)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(path, dir))
	}
	require.Empty(t, installed(t, cache))

	// The directory is a source by itself.
	layout, err := registry.ParseSource("oci-layout:vendor#" + from.Repository)
	require.NoError(t, err)
	layout = layout.At(filepath.Dir(dir))
	found, err = offline.Resolve(t.Context(), layout, anyVersion(t, ""))
	require.NoError(t, err)
	require.Equal(t, release, found)
	several, err := registry.ParseSource("oci-layout:" + dir)
	require.NoError(t, err)
	_, err = offline.Resolve(t.Context(), several, anyVersion(t, ""))
	require.ErrorContains(t, err, "has several repositories: name one")

	// What is tampered with there is refused.
	blob := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(release.Digest, "sha256:"))
	require.NoError(t, os.WriteFile(blob, wasm(3, 1000), 0o644))
	_, err = offline.Fetch(t.Context(), from, release)
	var changed *registry.DigestError
	require.ErrorAs(t, err, &changed)

	without, _ := client(t, func(o *registry.Options) { o.Offline = true })
	_, err = without.Fetch(t.Context(), from, release)
	require.ErrorIs(t, err, registry.ErrOffline)
	_, err = without.Resolve(t.Context(), from, anyVersion(t, ""))
	require.ErrorIs(t, err, registry.ErrOffline)
}

// The layouts of other tools name only tags.
func TestLayoutOfAnotherTool(t *testing.T) {
	content, dir := wasm(1, 1000), t.TempDir()
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.wasm.content.layer.v1+wasm","digest":%q,"size":%d}]}`, digestOf(content), len(content))
	blobs := filepath.Join(dir, "blobs", "sha256")
	require.NoError(t, os.MkdirAll(blobs, 0o755))
	for _, blob := range [][]byte{content, manifest} {
		require.NoError(t, os.WriteFile(filepath.Join(blobs, strings.TrimPrefix(digestOf(blob), "sha256:")), blob, 0o644))
	}
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":"v1.4.0"}}]}`, digestOf(manifest), len(manifest))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(index), 0o644))
	c, _ := client(t)
	from, err := registry.ParseSource("oci-layout:" + dir)
	require.NoError(t, err)
	release, err := c.Resolve(t.Context(), from, anyVersion(t, "^1"))
	require.NoError(t, err)
	require.Equal(t, "1.4.0", release.Version)
	_, err = c.Fetch(t.Context(), from, release)
	require.NoError(t, err)
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"oci://registry.example.com/acme/greet":         "",
		"oci://localhost:5000/acme/greet":               "",
		"https://example.com/greet.wasm":                "",
		"http://localhost:8080/greet.wasm":              "",
		"oci-layout:vendor":                             "",
		"oci-layout:vendor#registry.example.com/a/b":    "",
		"oci://registry.example.com/acme/greet:1.0.0":   "write the version under version",
		"oci://registry.example.com":                    "is not a reference",
		"oci://Registry/UPPER":                          "is not a reference",
		"oci-layout:":                                   "names no directory",
		"http://example.com/greet.wasm":                 "use https",
		"https://user:secret@example.com/x.wasm":        "leave them out",
		"https://example.com/greet.wasm#fragment":       "leave it out",
		"git+https://example.com/x//../dir@v1":          "is not within the repository",
		"git+https://example.com/x@-v":                  "is not taken",
		"git+ext::sh":                                   "is not a source in git",
		"git+http://example.com/x":                      "plain HTTP is allowed on this machine only",
		"../greet":                                      "is not a source",
		"https://" + strings.Repeat("a", 3000) + ".com": "at most 2048 bytes",
	} {
		s, err := registry.ParseSource(text)
		if want == "" {
			require.NoError(t, err, text)
			require.Equal(t, text, s.String())
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "secret")
	}
}

// A manifest in the cache counts only for the module that it names.
func TestKeptSignatures(t *testing.T) {
	s := start(t)
	release := push(t, s, "greet", "1.2.0", wasm(1, 1000))
	c, cache := client(t)
	manifest, err := c.ManifestOf(t.Context(), source(t, s, "greet"), release.Manifest)
	require.NoError(t, err)
	require.NoError(t, c.KeepSignatures(release.Digest, registry.Kept{Manifest: manifest, Bundles: []json.RawMessage{json.RawMessage(`{}`)}}))
	kept, err := c.KeptSignatures(release.Digest)
	require.NoError(t, err)
	require.Len(t, kept.Bundles, 1)
	require.Equal(t, release.Manifest, kept.ManifestOf(release.Digest))
	require.Empty(t, kept.ManifestOf(digestOf(wasm(2, 1000))))
	require.Empty(t, registry.Kept{}.ManifestOf(release.Digest))

	_, err = c.KeptSignatures("sha256:short")
	require.ErrorContains(t, err, "the digest")
	files, err := filepath.Glob(filepath.Join(cache, "*.sigstore.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("torn"), 0o644))
	kept, err = c.KeptSignatures(release.Digest)
	require.NoError(t, err)
	require.Empty(t, kept.Bundles)
}

// What refers to a module, and what lies beside a file.
func TestSignaturesOfEachKindOfSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lab.wasm.sigstore.json")
	none, err := registry.ReadSignatures(directory(filepath.Dir(path)).Root, path)
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, os.WriteFile(path, []byte("{\"a\": 1}\n{\"b\": 2}"), 0o644))
	two, err := registry.ReadSignatures(directory(filepath.Dir(path)).Root, path)
	require.NoError(t, err)
	require.Len(t, two, 2)
	require.NoError(t, os.WriteFile(path, []byte("nonsense"), 0o644))
	_, err = registry.ReadSignatures(directory(filepath.Dir(path)).Root, path)
	require.ErrorContains(t, err, "the signatures cannot be read")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("{}", 65)), 0o644))
	_, err = registry.ReadSignatures(directory(filepath.Dir(path)).Root, path)
	require.ErrorContains(t, err, "more than 64 signatures")

	content := wasm(1, 1000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/lab.wasm":
			_, _ = w.Write(content)
		case "/lab.wasm.sigstore.json":
			_, _ = w.Write([]byte(`{"a": 1}`))
		case "/page.wasm.sigstore.json":
			_, _ = w.Write([]byte("<html>not here"))
		case "/broken.wasm.sigstore.json":
			w.WriteHeader(http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	c, _ := client(t)
	for name, want := range map[string]int{"lab": 1, "page": 0, "other": 0, "broken": -1} {
		from, err := registry.ParseSource(web.URL + "/" + name + ".wasm")
		require.NoError(t, err)
		all, err := c.Signatures(t.Context(), from, registry.Release{})
		if want < 0 {
			require.ErrorContains(t, err, "403")
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, all, want, name)
	}
}

func directory(path string) registry.Directory {
	return registry.Directory{Path: path, Root: projectroot.New(path, projectroot.Trusted)}
}
