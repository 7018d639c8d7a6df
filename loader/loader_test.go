package loader_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/loader"
)

func digest(wasm []byte) (digits, digest string) {
	sum := sha256.Sum256(wasm)
	digits = hex.EncodeToString(sum[:])
	return digits, "sha256:" + digits
}

// probe is the host's test provider, whose functions do what a test says.
const probe = "../host/testdata/probe"

// read has the provider read a file, and returns what it answers.
func read(t *testing.T, p abi.Provider, file string) (string, error) {
	t.Helper()
	_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	answer, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "probe:index:do", Args: property.MapOf(map[string]property.Value{
		"what": property.String("read"), "args": property.Array(property.String(file)),
	})})
	return property.Display(property.Object(answer.Result)), err
}

// TestWaysToNameAModule opens the same module by its path, from memory, and by its digest, with a grant.
func TestWaysToNameAModule(t *testing.T) {
	wasm, err := testmodule.Bytes(probe)
	require.NoError(t, err)
	digits, is := digest(wasm)
	dir, data := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, digits+".wasm")
	require.NoError(t, os.WriteFile(file, wasm, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(data, "note"), []byte("granted"), 0o600))
	granted := host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{{HostPath: data, GuestPath: "/data"}}}}
	other := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		module loader.Module
		dir    string
		fails  string
	}{
		"a path":                         {module: loader.Module{Path: file}},
		"a path with its digest":         {module: loader.Module{Path: file, Digest: is}},
		"memory":                         {module: loader.Module{Wasm: wasm}},
		"a digest":                       {module: loader.Module{Digest: is}, dir: dir},
		"a path with another digest":     {module: loader.Module{Path: file, Digest: other}, fails: "the module has the digest " + is + ", and not " + other},
		"memory with another digest":     {module: loader.Module{Wasm: wasm, Digest: other}, fails: "the module has the digest " + is},
		"a digest that is not there":     {module: loader.Module{Digest: other}, dir: dir, fails: "no such file"},
		"a digest, and no directory":     {module: loader.Module{Digest: is}, fails: "the loader has no directory of modules"},
		"a digest that leads elsewhere":  {module: loader.Module{Digest: "sha256:../../etc/passwd"}, dir: dir, fails: "is not the digest of a module"},
		"a path that is not there":       {module: loader.Module{Path: filepath.Join(dir, "none.wasm")}, fails: "none.wasm"},
		"nothing":                        {module: loader.Module{}, fails: "its module has neither a path nor a digest"},
		"a path and memory":              {module: loader.Module{Path: file, Wasm: wasm}, fails: "give one of both"},
		"a limit that cannot be for one": {module: loader.Module{Path: file, Options: host.ProviderOptions{Limits: map[string]uint64{"total-memory": 1}}}, fails: "cannot be set for one provider"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.module.Options.Limits == nil {
				c.module.Options = granted
			}
			l := &loader.Loader{Host: testmodule.Host(t, host.NewConfig()), Dir: c.dir, Modules: map[string]loader.Module{"probe": c.module}}
			p, err := l.Open(t.Context(), "probe")
			if c.fails != "" {
				require.ErrorContains(t, err, "probe")
				require.ErrorContains(t, err, c.fails)
				require.Nil(t, p)
				return
			}
			require.NoError(t, err)
			defer abi.Close(p)
			text, err := read(t, p, "/data/note")
			require.NoError(t, err)
			require.Contains(t, text, "granted")
			_, err = read(t, p, "/etc/passwd")
			require.ErrorContains(t, err, "the provider may not read /etc/passwd")
		})
	}
	l := &loader.Loader{Modules: map[string]loader.Module{"b": {}, "a": {}}}
	_, err = l.Open(t.Context(), "probe")
	require.EqualError(t, err, `there is no module for the package "probe": add it to the modules of the loader, which has a, b`)
}

// TestARecordedModuleIsTaken has a deployment take the module that made its resources, if the loader has that.
func TestARecordedModuleIsTaken(t *testing.T) {
	wasm, err := testmodule.Bytes(probe)
	require.NoError(t, err)
	digits, recorded := digest(wasm)
	random, err := testmodule.Bytes("../examples/providers/random")
	require.NoError(t, err)
	_, listed := digest(random)
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if kept {
				require.NoError(t, os.WriteFile(filepath.Join(dir, digits+".wasm"), wasm, 0o600))
			}
			l := &loader.Loader{Host: testmodule.Host(t, host.NewConfig()), Dir: dir, Modules: map[string]loader.Module{"probe": {Wasm: random}}}
			p, err := l.Load(t.Context(), engine.PackageSpec{Name: "probe", Digest: recorded})
			require.NoError(t, err)
			defer abi.Close(p)
			want := listed
			if kept {
				want = recorded
			}
			require.Equal(t, want, p.(engine.Digester).Digest())
		})
	}
}

// A program loads a provider from a file, with a grant, a limit, and a cache, and calls it.
func Example() {
	ctx := context.Background()
	file, cache, err := example()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file)

	h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	providers := loader.Loader{Host: h, Modules: map[string]loader.Module{"random": {
		Path: file,
		Options: host.ProviderOptions{
			Grants: host.Grants{Env: []string{"LANG"}},
			Limits: map[string]uint64{string(limit.Memory): 128 << 20},
		},
	}}}
	random, err := providers.Open(ctx, "random")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer abi.Close(random)
	if _, err := random.Handshake(ctx, abi.HandshakeRequest{Engine: "example"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := random.Configure(ctx, abi.ConfigureRequest{}); err != nil {
		fmt.Println(err)
		return
	}
	const seven = "urn:pulumi:dev::example::random:index/randomInteger:RandomInteger::draw"
	created, err := random.Create(ctx, abi.CreateRequest{
		URN: seven, Name: "draw", Type: "random:index/randomInteger:RandomInteger",
		Inputs: property.MapOf(map[string]property.Value{"min": property.Number(7), "max": property.Number(7)}),
	})
	fmt.Println(created.ID, err)
	// Output: 7 <nil>
}

// example makes a file with the module of the provider random. It returns the cache of tests, too.
func example() (file, cache string, err error) {
	wasm, err := testmodule.Bytes("../examples/providers/random")
	if err != nil {
		return "", "", err
	}
	if cache, err = testmodule.Compiled(); err != nil {
		return "", "", err
	}
	f, err := os.CreateTemp("", "random*.wasm")
	if err != nil {
		return "", "", err
	}
	_, err = f.Write(wasm)
	return f.Name(), cache, errors.Join(err, f.Close())
}
