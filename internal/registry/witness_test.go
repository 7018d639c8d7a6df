package registry_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
)

// What has a module does not say where it comes from: only what was seen of a source counts, by who fetched it.
func TestWhereAModuleComesFrom(t *testing.T) {
	s, elsewhere := start(t), start(t)
	good, evil := wasm(1, 1000), wasm(2, 1000)
	of := push(t, s, "greet", "1.0.0", good)
	bad := push(t, elsewhere, "greet", "1.0.0", evil)
	from, stranger := source(t, s, "greet"), source(t, elsewhere, "greet")
	unknown := func(err error) {
		t.Helper()
		var is *registry.UnknownOriginError
		require.ErrorAs(t, err, &is)
	}

	// A stranger's module is in the cache, by its own source and as if it had been built.
	c, cache := client(t)
	_, err := get(t.Context(), c, stranger, anyVersion(t, ""))
	require.NoError(t, err)
	require.NoError(t, c.Confirm(t.Context(), stranger, bad, false))
	unknown(c.Confirm(t.Context(), from, bad, true))
	_, err = c.Keep(evil, "1.0.0")
	require.NoError(t, err)
	unknown(c.Confirm(t.Context(), from, bad, true))
	lies := of
	lies.Digest = bad.Digest // with the manifest of another module
	unknown(c.Confirm(t.Context(), from, lies, true))
	lies.Manifest = ""
	unknown(c.Confirm(t.Context(), from, lies, true))

	// The source shows what it has, once.
	require.NoError(t, c.Confirm(t.Context(), from, of, false))
	asked := len(s.Requests(""))
	later, _ := client(t, func(o *registry.Options) { o.Cache, o.Offline = cache, true })
	require.NoError(t, later.Confirm(t.Context(), from, of, false))
	require.Len(t, s.Requests(""), asked)
	// A cache that somebody else has made, and a project has brought along, says nothing.
	brought, _ := client(t, func(o *registry.Options) {
		o.Cache, o.Offline, o.Seal = cache, true, func() []byte { return []byte("another user's") }
	})
	unknown(brought.Confirm(t.Context(), from, of, false))
	keyless, _ := client(t, func(o *registry.Options) { o.Cache, o.Offline, o.Seal = cache, true, nil })
	unknown(keyless.Confirm(t.Context(), from, of, false))
	other, _ := client(t, func(o *registry.Options) { o.Offline = true })
	unknown(other.Confirm(t.Context(), from, of, false))

	// A blob that a repository hands out is not of it: some registries have one store for all repositories.
	s.Fail("GET /v2/acme/other/blobs/", 0, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { _, _ = w.Write(good) })
	_, err = c.Fetch(t.Context(), source(t, s, "other"), registry.Release{Version: "1.0.0", Digest: of.Digest, Size: of.Size, Manifest: of.Manifest})
	require.NoError(t, err)
	unknown(c.Confirm(t.Context(), source(t, s, "other"), of, false))
}

// A vendored directory says where its modules come from to who has named it: the operator, or the rules of the same project.
func TestWhereAVendoredModuleComesFrom(t *testing.T) {
	s := start(t)
	content := wasm(1, 1000)
	release := push(t, s, "greet", "1.0.0", content)
	from := source(t, s, "greet")
	c, _ := client(t)
	honest := filepath.Join(t.TempDir(), "vendor")
	require.NoError(t, c.Vendor(t.Context(), honest, []registry.Vendored{{from, release, "greet"}}))

	// A stranger's directory has another module in the place of that, as its lock does, and the operator vendors what the lock has.
	other := start(t)
	evil := push(t, other, "greet", "1.0.0", wasm(2, 1000))
	evilDir := filepath.Join(t.TempDir(), "evil")
	require.NoError(t, c.Vendor(t.Context(), evilDir, []registry.Vendored{{source(t, other, "greet"), evil, "greet"}}))
	index := filepath.Join(evilDir, "index.json")
	raw, err := os.ReadFile(index)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(index, []byte(strings.ReplaceAll(string(raw), other.Host, s.Host)), 0o600))
	misled, _ := client(t, func(o *registry.Options) { o.Layouts = []registry.Directory{directory(evilDir)} })
	laundered := filepath.Join(t.TempDir(), "laundered")
	require.NoError(t, misled.Vendor(t.Context(), laundered, []registry.Vendored{{from, evil, "greet"}}))
	layout, err := registry.ParseSource("oci-layout:" + evilDir)
	require.NoError(t, err)
	fromLayout := filepath.Join(t.TempDir(), "layout")
	require.NoError(t, misled.Vendor(t.Context(), fromLayout, []registry.Vendored{{layout, evil, "greet"}}))

	for name, test := range map[string]struct {
		dir           string
		release       registry.Release
		operator, own bool
		known         bool
	}{
		"the operator's":                       {honest, release, true, false, true},
		"a project's, for its own rules":       {honest, release, false, true, true},
		"a project's, for those of others":     {honest, release, false, false, false},
		"a stranger's":                         {evilDir, evil, false, false, false},
		"a stranger's lock, vendored":          {laundered, evil, true, false, false},
		"a stranger's layout, vendored":        {fromLayout, evil, true, false, false},
		"another module than the directory's":  {honest, evil, true, true, false},
		"a directory that is not there":        {filepath.Join(honest, "none"), release, true, true, false},
		"the operator's, of an earlier format": {withoutNotes(t, honest), release, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := directory(test.dir)
			d.Operator = test.operator
			c, _ := client(t, func(o *registry.Options) { o.Offline, o.Layouts = true, []registry.Directory{d} })
			err := c.Confirm(t.Context(), from, test.release, test.own)
			if test.known {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, registry.ErrOffline)
			require.ErrorContains(t, err, "is of unknown origin")
		})
	}

	// A layout shows itself what it has.
	require.NoError(t, misled.Confirm(t.Context(), layout, evil, false))
	require.ErrorIs(t, misled.Confirm(t.Context(), layout, release, true), registry.ErrNotFound)
}

// withoutNotes returns a copy of a vendored directory as it was before it noted sources.
func withoutNotes(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	path := filepath.Join(copied, "index.json")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(raw), "dev.husk.source")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(raw), "dev.husk.source", "dev.example.other")), 0o600))
	return copied
}

// fixed is when the files of these tests were changed.
var fixed = time.Unix(1_700_000_000, 0)

// What one source has sent of a module is not continued with what another one sends: a file with a known end could be given another
// beginning.
func TestAModuleComesFromOneSourceAsAWhole(t *testing.T) {
	const head = 70_000
	honest := wasm(1, 100_000)
	forged := append(wasm(2, head), honest[head:]...)
	serve := func(content []byte) registry.Source {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", fixed, strings.NewReader(string(content)))
		}))
		t.Cleanup(s.Close)
		from, err := registry.ParseSource(s.URL + "/greet.wasm")
		require.NoError(t, err)
		return from
	}
	evil := serve(forged)
	good := serve(honest)
	want := registry.Release{Digest: digestOf(forged), Size: int64(len(forged))}

	cut, cancel := context.WithCancel(t.Context())
	first, cache := client(t, func(o *registry.Options) {
		o.Progress = func(p registry.Progress) {
			if p.Moved >= head {
				cancel()
			}
		}
	})
	stalling := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		registrytest.Stall(head)(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", fixed, strings.NewReader(string(forged)))
		}))
	}))
	t.Cleanup(stalling.Close)
	from, err := registry.ParseSource(stalling.URL + "/greet.wasm")
	require.NoError(t, err)
	_, err = first.Fetch(cut, from, want)
	require.ErrorIs(t, err, context.Canceled)

	second, _ := client(t, func(o *registry.Options) { o.Cache = cache })
	_, err = second.Fetch(t.Context(), good, want)
	var not *registry.DigestError
	require.ErrorAs(t, err, &not)
	require.Empty(t, installed(t, cache))

	// From its own source it is had, and is not of the other then.
	_, err = second.Fetch(t.Context(), evil, want)
	require.NoError(t, err)
	require.NoError(t, second.Confirm(t.Context(), evil, want, false))
	require.ErrorContains(t, second.Confirm(t.Context(), good, want, false), "is of unknown origin")
}
