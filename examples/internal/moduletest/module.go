// Package moduletest builds providers as their authors do and runs them in the real
// host, for tests.
package moduletest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/racedetector"
)

// Load builds the provider whose main package is in the directory, and compiles it in a
// host that lives as long as the test.
func Load(t *testing.T, dir string, config host.Config) *host.Module {
	t.Helper()
	if testing.Short() || racedetector.Enabled {
		t.Skip("builds and compiles a module")
	}
	file := filepath.Join(t.TempDir(), "provider.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	h, err := host.New(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	module, err := h.Load(t.Context(), file)
	require.NoError(t, err)
	return module
}

// New tests the provider of a module, with which it has shaken hands.
func New(t *testing.T, module *host.Module, options host.ProviderOptions) *providertest.Provider {
	t.Helper()
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	return &providertest.Provider{T: t, Context: t.Context(), Provider: p}
}
