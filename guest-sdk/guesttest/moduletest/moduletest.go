// Package moduletest runs tests of package guesttest with the built module of a provider, in the sandbox and with grants.
//
//	func TestNoteModule(t *testing.T) {
//		module := moduletest.Load(t, ".")
//		guesttest.Faults(t, note, life, func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
//			api := service(t)
//			p := module.New(t, "http="+api.URL)
//			p.Configure(guesttest.Props{"url": api.URL})
//			return p, api
//		})
//	}
//
// It needs the packages of the host, which guesttest does not: go mod tidy adds them to the checksums of the provider's Go
// module. The built and compiled module is in the cache directory of husk, so the husk command finds it there.
package moduletest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/build/gobuild"
)

// Module is the module of a provider, loaded into a host that lives as long as a test.
type Module struct {
	dir    string
	module *host.Module
}

// Load builds the provider in a directory of Go source, such as ".", and loads it. A test that is to be short is skipped.
func Load(t testing.TB, dir string) *Module {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and compiles a module")
	}
	cache := os.Getenv("HUSK_CACHE_DIR")
	if cache == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			t.Fatalf("no cache directory: set HUSK_CACHE_DIR: %v", err)
		}
		cache = filepath.Join(caches, "husk")
	}
	if _, err := os.ReadDir(dir); err != nil { // which also tells the go command what the result of the test depends on
		t.Fatalf("the provider to build: %v", err)
	}
	wasm, err := (&gobuild.Builder{Dir: filepath.Join(cache, "built")}).Build(t.Context(), dir)
	if err != nil {
		t.Fatalf("building the provider in %s: %v", dir, err)
	}
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(filepath.Join(cache, "compiled")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	module, err := h.LoadBytes(t.Context(), wasm)
	if err != nil {
		t.Fatalf("loading the provider in %s: %v", dir, err)
	}
	return &Module{dir: dir, module: module}
}

// New returns a provider of the module, without configuration, in instances of its own. Grants are written as for husk's flag
// --grant, such as http=https://api.example.org, fs=DIR:rw, or kv, which is a store of its own in memory. The provider's log goes
// to the log of the test.
func (m *Module) New(t testing.TB, grants ...string) *guesttest.Provider {
	t.Helper()
	var set grant.Set
	for _, text := range grants {
		one, err := grant.ParseFlag(text)
		if err == nil {
			err = set.Add(one, grant.Place{Dir: ".", Store: func() (abi.KV, error) { return kvstore.New(), nil }})
		}
		if err != nil {
			t.Fatalf("the grant %q: %v", text, err)
		}
	}
	set.GrantAdvice = func(refused grant.Text) string { return "To allow this, grant " + refused.Flag() + " in the test" }
	p, err := m.module.NewProvider(t.Context(), host.ProviderOptions{
		Name: filepath.Base(m.dir), Grants: set, Instances: 1, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "moduletest"}); err != nil {
		t.Fatalf("the handshake with the provider in %s: %v", m.dir, err)
	}
	return guesttest.Of(t, p)
}
