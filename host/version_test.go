package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
)

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

// A module of an earlier version of the contract serves, whether it was just compiled, is in the cache, or is
// precompiled.
func TestModulesOfTheFirstVersionServe(t *testing.T) {
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
