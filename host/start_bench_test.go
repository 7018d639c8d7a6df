package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

// benchProbe is the probe as a module in memory, and a directory with all that a host
// keeps of it.
func benchProbe(b *testing.B) (wasm []byte, config host.Config) {
	b.Helper()
	wasm, config = testmodule.Build(b, "testdata/probe"), host.NewConfig().WithCacheDir(testmodule.CacheDir(b))
	start(b, config, wasm, false)
	return wasm, config
}

// start is all that lies between nothing and the answer to the first call, and back.
func start(b *testing.B, config host.Config, wasm []byte, timed bool) {
	h, err := host.New(context.Background(), config)
	require.NoError(b, err)
	m, err := h.LoadBytes(context.Background(), wasm)
	require.NoError(b, err)
	p := configured(b, m)
	callOnce(b, p)
	if timed {
		b.StopTimer()
	}
	require.NoError(b, p.Close())
	require.NoError(b, h.Close(context.Background()))
	if timed {
		b.StartTimer()
	}
}

// configured makes a provider of the module, shakes hands, and configures it.
func configured(b *testing.B, m *host.Module) *host.Provider {
	p, err := m.NewProvider(context.Background(), host.ProviderOptions{Name: "probe"})
	require.NoError(b, err)
	_, err = p.Handshake(context.Background(), abi.HandshakeRequest{Engine: "bench"})
	require.NoError(b, err)
	require.NoError(b, p.Configure(context.Background(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	return p
}

// callOnce calls a function with an argument of 1 KB. A Check may be answered without the
// guest.
func callOnce(b *testing.B, p abi.Provider) {
	_, err := do(context.Background(), p, "nothing", strings.Repeat("x", 1000))
	require.NoError(b, err)
}

// BenchmarkStart takes what a cache keeps of a module to the answer of the first call.
func BenchmarkStart(b *testing.B) {
	b.Run("new host", func(b *testing.B) {
		wasm, config := benchProbe(b)
		for b.Loop() {
			start(b, config, wasm, true)
		}
	})
	loaded := func(b *testing.B) *host.Module {
		wasm, config := benchProbe(b)
		h, err := host.New(b.Context(), config)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, h.Close(context.Background())) })
		m, err := h.LoadBytes(b.Context(), wasm)
		require.NoError(b, err)
		p := configured(b, m)
		callOnce(b, p)
		require.NoError(b, p.Close())
		return m
	}
	b.Run("further configuration", func(b *testing.B) {
		m := loaded(b)
		for b.Loop() {
			p := configured(b, m)
			callOnce(b, p)
			require.NoError(b, p.Close())
		}
	})
	b.Run("further instance", func(b *testing.B) {
		p := configured(b, loaded(b))
		for b.Loop() {
			callOnce(b, p)
			p.EndIdle()
		}
		require.NoError(b, p.Close())
	})
	b.Run("warm instance", func(b *testing.B) {
		p := configured(b, loaded(b))
		for b.Loop() {
			callOnce(b, p)
		}
		require.NoError(b, p.Close())
	})
}
