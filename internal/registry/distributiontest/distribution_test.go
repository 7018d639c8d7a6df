// Package distributiontest holds the client of registries against the one that most registries are built from.
package distributiontest

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
)

const maxSize = 8 << 20

// start starts the registry, behind a proxy that can make it fail, with its files in a directory.
func start(t *testing.T) *registrytest.Server {
	t.Helper()
	logrus.SetLevel(logrus.PanicLevel)
	c := &configuration.Configuration{Storage: configuration.Storage{
		"filesystem": configuration.Parameters{"rootdirectory": t.TempDir()}, "delete": configuration.Parameters{"enabled": true},
	}}
	c.Log.Level = "panic"
	c.Log.AccessLog.Disabled = true
	c.HTTP.Secret = "of the tests"
	c.Catalog.MaxEntries = 1000
	app := handlers.NewApp(t.Context(), c)
	s := registrytest.StartWith(app)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T) *registry.Client {
	t.Helper()
	return registry.New(registry.Options{Cache: t.TempDir(), MaxSize: maxSize, Pause: time.Millisecond, Stall: 2 * time.Second})
}

func module(seed byte, size int) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Repeat([]byte{seed, 1, 2, 3, 5, 7, 11}, size/7)...)
}

func push(t *testing.T, s *registrytest.Server, name, version string, content []byte) (registry.Reference, registry.Release) {
	t.Helper()
	to, err := registry.ParseReference(s.Host + "/acme/" + name + ":" + registry.Tag(version))
	require.NoError(t, err)
	r, err := client(t).Push(t.Context(), to, content, registry.Labels{Title: name, Version: version, Description: "A " + name}, false, nil)
	require.NoError(t, err)
	return to, r
}

func TestTravels(t *testing.T) {
	s := start(t)
	content := module(1, 3<<20)
	push(t, s, "lab", "1.2.3", module(2, 1000))
	to, pushed := push(t, s, "lab", "1.10.0+linux", content)

	// The same again is no change, and another module under the version is refused.
	c := client(t)
	_, err := c.Push(t.Context(), to, content, registry.Labels{Title: "lab", Version: "1.10.0+linux", Description: "A lab"}, false, nil)
	require.NoError(t, err)
	var moved *registry.MovedError
	_, err = c.Push(t.Context(), to, module(3, 1000), registry.Labels{Title: "lab", Version: "1.10.0+linux"}, false, nil)
	require.ErrorAs(t, err, &moved)

	from := to.Source
	versions, err := c.Versions(t.Context(), from)
	require.NoError(t, err)
	require.Equal(t, []string{"1.10.0+linux", "1.2.3"}, versions)
	asked, err := versionrange.Parse("^1.3")
	require.NoError(t, err)
	release, err := c.Resolve(t.Context(), from, asked)
	require.NoError(t, err)
	require.Equal(t, pushed, release)

	// A connection that breaks off goes on where it was.
	s.Fail("GET /v2/acme/lab/blobs/", 1, registrytest.Truncate(1<<20))
	path, err := c.Fetch(t.Context(), from, release)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	ranges := 0
	for _, r := range s.Requests("GET /v2/acme/lab/blobs/") {
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=1048576-") {
			ranges++
		}
	}
	require.Equal(t, 1, ranges)

	_, err = c.Tag(t.Context(), to, []string{"latest"})
	require.NoError(t, err)
	latest, err := c.Find(t.Context(), registry.Reference{Source: from, Tag: "latest"})
	require.NoError(t, err)
	require.Equal(t, pushed.Digest, latest.Digest)
}

// This registry has no list of what refers to an artifact: signatures are found by a tag.
func TestSignatures(t *testing.T) {
	s := start(t)
	to, release := push(t, s, "lab", "1.2.3", module(1, 1000))
	c := client(t)
	none, err := c.Signatures(t.Context(), to.Source, release)
	require.NoError(t, err)
	require.Empty(t, none)
	for range 2 {
		key, err := trust.GenerateKey()
		require.NoError(t, err)
		statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"lab": release.Digest})
		require.NoError(t, err)
		raw, err := trust.Sign(key, statement)
		require.NoError(t, err)
		bundle, err := trust.ParseBundle(raw)
		require.NoError(t, err)
		_, err = c.Attach(t.Context(), to, bundle)
		require.NoError(t, err)
		all, err := client(t).Signatures(t.Context(), to.Source, release)
		require.NoError(t, err)
		require.Contains(t, all, raw)
		none = append(none, raw)
		require.Len(t, all, len(none))
	}

	// They go along into a vendored directory.
	dir := filepath.Join(t.TempDir(), "modules")
	require.NoError(t, c.Vendor(t.Context(), dir, []registry.Vendored{{Source: to.Source, Release: release, Name: "lab"}}))
	offline := registry.New(registry.Options{Layouts: []registry.Directory{{Path: dir, Root: projectroot.New(dir, projectroot.Trusted)}}, Offline: true, MaxSize: maxSize})
	all, err := offline.Signatures(t.Context(), to.Source, release)
	require.NoError(t, err)
	require.ElementsMatch(t, none, all)
	_, err = offline.Fetch(t.Context(), to.Source, release)
	require.NoError(t, err)
}

func TestSearch(t *testing.T) {
	s := start(t)
	push(t, s, "lab", "1.2.3", module(1, 1000))
	push(t, s, "label", "0.1.0", module(2, 1000))
	push(t, s, "other", "0.1.0", module(3, 1000))
	in, err := registry.ParseRegistry("oci://" + s.Host + "/acme")
	require.NoError(t, err)
	found, err := client(t).Search(t.Context(), in, "lab", 10)
	require.NoError(t, err)
	var names []string
	for _, f := range found {
		names = append(names, f.Name+" "+f.Version+" "+f.Labels.Description)
	}
	require.Equal(t, []string{"lab 1.2.3 A lab", "label 0.1.0 A label"}, names)
	found, err = client(t).Search(t.Context(), in, "", 1)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// What goes wrong on the way leaves nothing in the cache.
func TestFaults(t *testing.T) {
	content := module(1, 1<<20)
	for name, c := range map[string]struct {
		match string
		fault registrytest.Fault
		want  string
	}{
		"swapped module":   {"GET /v2/acme/lab/blobs/", registrytest.Swap, "does not have the module that is wanted"},
		"swapped manifest": {"GET /v2/acme/lab/manifests/", registrytest.Swap, "the manifest of"},
		"endless":          {"GET /v2/acme/lab/blobs/", registrytest.Endless, "has more than"},
		"stalled":          {"GET /v2/acme/lab/blobs/", registrytest.Stall(1000), "nothing was received for"},
		"truncated":        {"GET /v2/acme/lab/blobs/", registrytest.Truncate(0), "EOF"},
		"error":            {"GET /v2/acme/lab/blobs/", registrytest.Status(http.StatusInternalServerError), "500"},
		"busy":             {"GET /v2/acme/lab/tags/", registrytest.Status(http.StatusTooManyRequests), "try again later, or log in"},
		"login":            {"GET /v2/acme/lab/tags/", registrytest.Status(http.StatusUnauthorized, "WWW-Authenticate", `Basic realm="x"`), "docker login"},
		"stalled manifest": {"GET /v2/acme/lab/manifests/", registrytest.Stall(10), "nothing was received for"},
		"redirected":       {"GET /v2/acme/lab/blobs/", registrytest.Redirect("http://192.0.2.1"), "plain HTTP is allowed on this machine only"},
		"manifest list": {"GET /v2/acme/lab/manifests/", registrytest.Content("application/vnd.oci.image.index.v1+json",
			[]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)), "lab:1.2.3"},
		"huge manifest": {"GET /v2/acme/lab/manifests/", registrytest.Content("application/vnd.oci.image.manifest.v1+json",
			bytes.Repeat([]byte(" "), 5<<20)), "the limit is"},
		"zip": {"GET /v2/acme/lab/manifests/", registrytest.Content("application/zip", []byte("PK")), "manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			to, _ := push(t, s, "lab", "1.2.3", content)
			s.Fail(c.match, 0, c.fault)
			cache := t.TempDir()
			asking := registry.New(registry.Options{Cache: cache, MaxSize: maxSize, Pause: time.Millisecond, Stall: 200 * time.Millisecond})
			asked, err := versionrange.Parse("")
			require.NoError(t, err)
			release, err := asking.Resolve(t.Context(), to.Source, asked)
			if err == nil {
				_, err = asking.Fetch(t.Context(), to.Source, release)
			}
			require.ErrorContains(t, err, c.want)
			s.Heal()
			again, err := asking.Resolve(t.Context(), to.Source, asked)
			require.NoError(t, err)
			require.NotEmpty(t, again.Digest)
			left, err := filepath.Glob(filepath.Join(cache, "*.wasm"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// A download that breaks off goes on where it was, and several at once receive a module once.
func TestInterruptedAndAtOnce(t *testing.T) {
	s := start(t)
	content := module(2, 4<<20)
	to, release := push(t, s, "lab", "1.2.3", content)
	cache := t.TempDir()
	options := registry.Options{Cache: cache, MaxSize: maxSize, Pause: time.Millisecond, Stall: 2 * time.Second}
	s.Fail("GET /v2/acme/lab/blobs/", 1, registrytest.Truncate(1<<20))
	s.Fail("GET /v2/acme/lab/blobs/", 1, registrytest.Truncate(0))
	before := len(s.Requests("GET /v2/acme/lab/blobs/"))
	var all sync.WaitGroup
	failures := make([]error, 4)
	for i := range failures {
		all.Go(func() { _, failures[i] = registry.New(options).Fetch(t.Context(), to.Source, release) })
	}
	all.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	asked := s.Requests("GET /v2/acme/lab/blobs/")[before:]
	require.Greater(t, len(asked), 1)
	require.Contains(t, asked[len(asked)-1].Header.Get("Range"), "bytes=")
	got, err := os.ReadFile(filepath.Join(cache, strings.TrimPrefix(release.Digest, "sha256:")+".wasm"))
	require.NoError(t, err)
	require.Equal(t, content, got)
}
