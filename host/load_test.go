package host_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

var i32 = []byte{canon.I32}

func TestModulesThatAreRefused(t *testing.T) {
	good := assembly{}.wasm()
	check := "husk:provider/provider@0.2.0#check"
	nothing := canon.Signature{}
	for name, c := range map[string]struct {
		wasm []byte
		want error  // is what the error wraps
		text string // is the end of the error
	}{
		"empty file": {nil, host.ErrNotWasm, "not a WebAssembly module"},
		"a script":   {[]byte("#!/bin/sh\nrm -rf /\n"), host.ErrNotWasm, "not a WebAssembly module"},
		"cut off":    {good[:len(good)-7], host.ErrTruncated, "the module is cut off"},
		"component":  {[]byte("\x00asm\x0d\x00\x01\x00"), host.ErrComponent, "a WebAssembly component, not a core module: build it with husk provider build or for wasm32-wasip1, as wasm32-wasip2, jco, and componentize-py make components"},
		"no provider": {
			[]byte("\x00asm\x01\x00\x00\x00"), host.ErrNotProvider,
			"the module is not a provider: it exports no interface husk:provider/provider (nor is it a policy pack or a program)",
		},
		"command": {
			assembly{bodies: map[string]code{"_start": nop}}.wasm(), host.ErrCommand,
			"the module is a command, not a provider: build it with `husk provider build`, or with -buildmode=c-shared",
		},
		"another version of the contract": {
			assembly{version: "0.3.0"}.wasm(), &canon.VersionError{Module: "0.3.0", Host: "0.2.0"},
			"the module speaks version 0.3.0 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0",
		},
		"import of another version": {
			assembly{imports: []importEntry{{"husk:provider/log@0.3.0", "write", nothing}}}.wasm(), nil,
			"the module speaks version 0.3.0 of husk:provider, this host version 0.2.0: use a build of the provider for version 0.2.0",
		},
		"unknown import": {
			assembly{imports: []importEntry{{"env", "socket\n", nothing}}}.wasm(), &host.ImportError{Module: "env", Name: "socket\n"},
			`the module imports "env" "socket\n", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only`,
		},
		"import of a component": {
			assembly{imports: []importEntry{{"wasi:cli/stdout@0.2.0", "get-stdout", nothing}}}.wasm(), &host.ImportError{Module: "wasi:cli/stdout@0.2.0", Name: "get-stdout"},
			`the module imports "wasi:cli/stdout@0.2.0" "get-stdout", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only; it was built for WASI 0.2: build it for wasm32-wasip1`,
		},
		"import of a browser": {
			assembly{imports: []importEntry{{"gojs", "runtime.wasmExit", nothing}}}.wasm(), &host.ImportError{Module: "gojs", Name: "runtime.wasmExit"},
			`the module imports "gojs" "runtime.wasmExit", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only; it was built for a browser: build it with GOOS=wasip1`,
		},
		"unknown function of WASI": {
			assembly{imports: []importEntry{{"wasi_snapshot_preview1", "sock_open", nothing}}}.wasm(), nil,
			`the module imports "wasi_snapshot_preview1" "sock_open", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only`,
		},
		"function of WASI with another type": {
			assembly{imports: []importEntry{{"wasi_snapshot_preview1", "fd_close", nothing}}}.wasm(), nil,
			"wasi_snapshot_preview1 fd_close has the type () -> () in the module, but must have (i32) -> (i32)",
		},
		"unknown function of the contract": {
			assembly{imports: []importEntry{{"husk:provider/log@0.2.0", "read", nothing}}}.wasm(), nil,
			"the module imports husk:provider/log@0.2.0 read, which is not part of husk:provider 0.2.0",
		},
		"missing export": {
			assembly{without: []string{check}}.wasm(), nil, "the module does not export " + check,
		},
		"export with another type": {
			assembly{mistyped: check}.wasm(), nil, "", // the contract's type is long
		},
		"no memory": {
			assembly{memory: "ram"}.wasm(), nil, "the module does not export its memory under the name memory",
		},
		"too much memory": {
			assembly{pages: 1025}.wasm(), &host.MemoryError{Needed: 1025 << 16, Limit: 64 << 20},
			"the module needs 65 MiB of memory to start, the limit is 64 MiB",
		},
		"too much of something": {
			assembly{bodies: map[string]code{"check": code(strings.Repeat("\x02\x40", 30_001) + strings.Repeat("\x0b", 30_001))}}.wasm(),
			&wasmfile.LimitError{What: "blocks inside of each other", Count: 30_001, Limit: 30_000},
			"the module has 30001 blocks inside of each other, the limit is 30000",
		},
		"names of the host's own": {
			assembly{bodies: map[string]code{"husk:meter/fuel": nop}}.wasm(), &meter.ReservedError{Name: "husk:meter/fuel"},
			`the module uses the name "husk:meter/fuel", which is reserved for the host`,
		},
		"malformed": {
			append(slices.Clone(good), 1, 1, 0), nil, "",
		},
		"invalid code": {
			assembly{bodies: map[string]code{"check": "\x6a"}}.wasm(), nil, "",
		},
		"too large": {
			append(good, make([]byte, 128<<10)...), &host.SizeError{Size: int64(len(good) + 128<<10), Limit: 128 << 10}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.NewConfig().WithLimit(limit.Memory, 64<<20).WithLimit(limit.ModuleSize, 128<<10))
			path := filepath.Join(t.TempDir(), "p.wasm")
			require.NoError(t, os.WriteFile(path, c.wasm, 0o600))
			_, err := h.Load(t.Context(), path)
			var refused *host.LoadError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, path, refused.Path)
			if c.want != nil {
				require.Equal(t, c.want, refused.Err)
			}
			message := err.Error()
			require.True(t, strings.HasPrefix(message, "loading the provider module "+path+": "), message)
			require.NotContains(t, message, "\n")
			if c.text != "" {
				require.Equal(t, c.text, refused.Err.Error())
			}
			_, again := h.LoadBytes(t.Context(), c.wasm)
			require.Equal(t, refused.Err.Error(), again.(*host.LoadError).Err.Error())
		})
	}
}

func TestFeaturesThatAreNotSupportedAreNamed(t *testing.T) {
	_, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{bodies: map[string]code{"check": "\x12\x00"}}.wasm())
	var unsupported *wasmfile.UnsupportedError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, "tail calls", unsupported.What)
	require.Equal(t, "tail-call", unsupported.Proposal)
	require.ErrorContains(t, err, "build it with -mno-tail-call")
}

func TestLimitsOfModulesCanBeSet(t *testing.T) {
	config := host.NewConfig().WithLimit("module-functions", 2)
	_, err := newHost(t, config).LoadBytes(t.Context(), assembly{}.wasm())
	var limit *wasmfile.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "functions", limit.What)

	info, err := host.Inspect(assembly{start: nop}.wasm(), config)
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "functions", limit.What)
	require.Empty(t, info.Exports, "what follows is not read")
	info, err = host.Inspect(assembly{start: nop, data: map[uint32]string{4: "x"}, pages: 3}.wasm(), host.NewConfig())
	require.NoError(t, err)
	require.True(t, info.Contents.Start)
	require.Equal(t, 2, info.Contents.Globals)
	require.Equal(t, 1, info.Contents.DataSegments)
	require.EqualValues(t, 3<<16, info.Memory)
}

func TestAllReasonsOfARefusalAreTold(t *testing.T) {
	check := "husk:provider/provider@0.2.0#check"
	create := "husk:provider/provider@0.2.0#create"
	wasm := assembly{
		imports: []importEntry{{"env", "f", canon.Signature{}}, {"env", "g", canon.Signature{}}},
		without: []string{check, create}, memory: "ram", pages: 2000,
		bodies: map[string]code{"husk:meter/fuel": nop},
		start:  forever, // it is not run
	}.wasm()
	info, err := host.Inspect(wasm, host.NewConfig().WithLimit(limit.Memory, 64<<20))
	var refused *host.RefusalError
	require.ErrorAs(t, err, &refused)
	var reasons []string
	for _, reason := range refused.Reasons {
		reasons = append(reasons, reason.Error())
	}
	require.Equal(t, []string{
		`the module uses the name "husk:meter/fuel", which is reserved for the host`,
		"the module does not export " + check,
		"the module does not export " + create,
		"the module does not export its memory under the name memory",
		`the module imports "env" "f", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only`,
		`the module imports "env" "g", which is not allowed: a provider may import functions of wasi_snapshot_preview1 and husk:provider 0.2.0 only`,
		"the module needs 125 MiB of memory to start, the limit is 64 MiB",
	}, reasons)
	var memory *host.MemoryError
	require.ErrorAs(t, err, &memory)
	require.True(t, info.Contents.Start)

	// Of a module that cannot be read to its end, it is what could be read.
	info, err = host.Inspect(append(wasm, 1, 1, 0), host.NewConfig())
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Reasons, 4)
	require.IsType(t, &wasmfile.FormatError{}, refused.Reasons[0])
	require.Len(t, info.Imports, 2)

	_, err = newHost(t, host.NewConfig().WithLimit(limit.Memory, 64<<20)).LoadBytes(t.Context(), wasm)
	require.EqualError(t, err, "loading a provider module: "+reasons[0]+" (and 6 more reasons, which `husk provider inspect` lists)")
}

func TestInspectionNamesFeatures(t *testing.T) {
	for feature, c := range map[string]code{
		"bulk memory":            i32Const(0) + i32Const(0) + i32Const(0) + "\xfc\x0b\x00",
		"sign extension":         i32Const(0) + "\xc0" + drop,
		"saturating conversions": "\x43\x00\x00\x00\x00\xfc\x00" + drop,
		"reference types":        "\xd0\x70" + drop,
		"vectors":                i32Const(0) + "\xfd\x0f" + drop,
	} {
		info, err := host.Inspect(assembly{bodies: map[string]code{"check": c + unreachable}}.wasm(), host.NewConfig())
		require.NoError(t, err)
		require.Equal(t, []string{feature}, info.Contents.Features)
	}
	info, err := host.Inspect(assembly{}.wasm(), host.NewConfig())
	require.NoError(t, err)
	require.Empty(t, info.Contents.Features)
	require.EqualValues(t, defaultOf(t, "memory"), info.MemoryLimit)
	require.Equal(t, "type", info.Contents.Sections[0].Name)
}

func TestFilesThatCannotBeLoaded(t *testing.T) {
	h := newHost(t, host.NewConfig())
	dir := t.TempDir()
	_, err := h.Load(t.Context(), filepath.Join(dir, "none.wasm"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, err, "loading the provider module "+dir+"/none.wasm: no such file or directory")
	_, err = h.Load(t.Context(), dir)
	require.ErrorContains(t, err, "it is not a regular file")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.LoadBytes(ctx, assembly{pages: 3}.wasm())
	require.ErrorIs(t, err, context.Canceled)

	closed, err := host.New(t.Context(), host.NewConfig())
	require.NoError(t, err)
	require.NoError(t, closed.Close(t.Context()))
	_, err = closed.LoadBytes(t.Context(), assembly{}.wasm())
	require.ErrorContains(t, err, "the host is closed")
}

func TestAManifestIsReadWithoutRunningTheModule(t *testing.T) {
	manifest := host.Manifest{
		Name: "probe", Version: "1.2.3", SDK: "husk guest-sdk",
		Requests: []host.CapabilityRequest{{Capability: "http", Scope: "api.example.org", Reason: "to manage things"}},
	}
	first, err := host.AddManifest(assembly{}.wasm(), host.Manifest{Name: "old", Version: "1.0.0"})
	require.NoError(t, err)
	wasm, err := host.AddManifest(first, manifest)
	require.NoError(t, err)
	module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
	require.NoError(t, err)
	require.Equal(t, &manifest, module.Manifest)

	// Errors name the provider that the module claims to be.
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "expected"})
	require.NoError(t, err)
	defer p.Close()
	_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.ErrorContains(t, err, "probe 1.2.3: get-schema (host): ")
}

func TestAManifestMustAgreeWithTheHandshake(t *testing.T) {
	module := assembly{
		bodies: map[string]code{"handshake": returns(answer)},
		data: map[uint32]string{
			answer:   words(0, contents, 6, contents+6, 5, contents, 0, 0, contents, 0),
			contents: "random4.1.0",
		},
	}.wasm()
	for version, want := range map[string]string{
		"4.1.0": "",
		"4.2.0": "random 4.2.0: handshake (host): the provider broke the contract: its manifest says random 4.2.0, " +
			"but it calls itself random 4.1.0: build it again with `husk provider build`",
	} {
		wasm, err := host.AddManifest(module, host.Manifest{Name: "random", Version: version})
		require.NoError(t, err)
		loaded, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		p, err := loaded.NewProvider(t.Context(), host.ProviderOptions{})
		require.NoError(t, err)
		response, err := p.Handshake(t.Context(), abi.HandshakeRequest{})
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, "random", response.Name)
		} else {
			require.EqualError(t, err, want)
		}
		require.NoError(t, p.Close())
	}
}

func TestManifestsThatCannotBe(t *testing.T) {
	wasm := assembly{}.wasm()
	for name, c := range map[string]struct{ data, want string }{
		"no JSON":       {"{", "manifest: it ends too early"},
		"no name":       {`{"version":"1.0.0"}`, "the manifest has no name"},
		"no version":    {`{"name":"x"}`, "the manifest has no version"},
		"another line":  {`{"name":"x 1.0\nDone","version":"1.0.0"}`, `the manifest's name is "x 1.0\\nDone"`},
		"two words":     {`{"name":"Done","version":"in 0.1s"}`, `the manifest's version is "in 0.1s", with white space`},
		"an error":      {`{"name":"error:","version":"1.0.0"}`, `the manifest's name is "error:"`},
		"more after it": {`{"name":"x","version":"1.0.0"}{}`, "something follows it"},
		"not UTF-8":     {"{\"name\":\"\xff\"}", "not valid UTF-8"},
		"too long":      {`{"name":"` + strings.Repeat("x", 70000) + `"}`, "at most 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			with, err := wasmfile.WithCustom(wasm, host.ManifestSection, []byte(c.data))
			require.NoError(t, err)
			_, err = newHost(t, host.NewConfig()).LoadBytes(t.Context(), with)
			require.ErrorContains(t, err, c.want)
		})
	}
	twice := append([]byte(nil), wasm...)
	for range 2 {
		section := text(host.ManifestSection) + `{"name":"x","version":"1.0.0"}`
		twice = append(twice, "\x00"+text(section)...)
	}
	_, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), twice)
	require.ErrorContains(t, err, "the module has two manifests")

	_, err = host.AddManifest(wasm, host.Manifest{Version: "1.0.0"})
	require.ErrorContains(t, err, "has no name")
	_, err = host.AddManifest([]byte("x"), host.Manifest{Name: "x", Version: "1.0.0"})
	require.ErrorIs(t, err, host.ErrNotWasm)
	_, err = host.AddManifest(wasm, host.Manifest{Name: strings.Repeat("x", 70000), Version: "1.0.0"})
	require.ErrorContains(t, err, "at most 65536")
}

// firstVersion returns the probe as a build for version 0.1.0 of the contract would be.
func firstVersion(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	for _, name := range []string{"provider", "log", "control", "http", "tcp", "files", "assets", "kv", "monitor"} {
		wasm = bytes.ReplaceAll(wasm, []byte("husk:provider/"+name+"@"+canon.Version), []byte("husk:provider/"+name+"@0.1.0"))
	}
	return wasm
}

// A module that was built before a feature came is not offered it: it would refuse the handshake.
func TestFeaturesAreOfferedToModulesThatAnnounceThem(t *testing.T) {
	testmodule.Skip(t)
	wasm, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(t.TempDir()))
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	for announced, export := range map[bool]string{true: "read-first", false: "read-wrong"} {
		m, err := h.LoadBytes(t.Context(), bytes.ReplaceAll(wasm, []byte("husk:feature/read-first"), []byte("husk:feature/"+export)))
		require.NoError(t, err)
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "probe"})
		require.NoError(t, err)
		response, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
		require.NoError(t, err)
		require.Equal(t, announced, response.Features&abi.FeaturesReadFirst != 0, export)
		require.NotZero(t, response.Features&abi.FeaturesSecrets)
		require.NoError(t, p.Close())
	}
}

// A module of an earlier version of the contract serves, whether it was just compiled, is in the cache, or is
// precompiled.
func TestModulesOfTheFirstVersionServe(t *testing.T) {
	testmodule.Skip(t)
	wasm := firstVersion(t)
	serve := func(t *testing.T, config host.Config) {
		t.Helper()
		h, err := host.New(t.Context(), config)
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		require.Equal(t, "0.1.0", m.ContractVersion())
		require.Contains(t, m.Imports, host.Import{Module: "husk:provider/log@0.1.0", Name: "write"})
		var logged records
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Logger: logged.logger()})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		response, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
		require.NoError(t, err)
		require.Equal(t, "probe", response.Name)
		mustDo(t, p, "log", "hello")
		require.Equal(t, `level=DEBUG msg=hello provider=probe method=invoke`, logged.lines()[0])
	}
	cache, code := t.TempDir(), filepath.Join(t.TempDir(), "precompiled")
	t.Run("compiled", func(t *testing.T) { serve(t, host.NewConfig().WithCacheDir(cache)) })
	t.Run("cached", func(t *testing.T) { serve(t, host.NewConfig().WithCacheDir(cache)) })
	t.Run("precompiled", func(t *testing.T) {
		needsCompiler(t)
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(cache))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		require.NoError(t, m.Precompile(code))
		serve(t, host.NewConfig().WithPrecompiled(code))
	})
}
