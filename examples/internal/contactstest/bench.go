package contactstest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// checkOf asks for a check of inputs with about so many bytes, in strings of 20.
func checkOf(size int) abi.CheckRequest {
	tags := make(pt.List, size/20)
	for i := range tags {
		tags[i] = strings.Repeat("t", 20)
	}
	return abi.CheckRequest{
		URN: urn.New("dev", "test", "", Contact, "ann"), Name: "ann", Type: Contact, RandomSeed: make([]byte, 32),
		News: pt.MapOf(pt.Object{"name": "Ann", "tags": tags}),
	}
}

// Benchmark measures how long the built provider takes to compile, to start, and to check.
func Benchmark(b *testing.B, wasm []byte) {
	load := func() *host.Module {
		module, err := testmodule.Host(b, host.NewConfig()).LoadBytes(b.Context(), wasm)
		require.NoError(b, err)
		return module
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			h, err := host.New(b.Context(), host.NewConfig())
			require.NoError(b, err)
			_, err = h.LoadBytes(b.Context(), wasm)
			require.NoError(b, err)
			require.NoError(b, h.Close(b.Context()))
		}
	})
	module := load()
	config := property.NewMap(property.Entry{Key: "url", Value: property.String("http://127.0.0.1:1")})
	start := func(b *testing.B) *host.Provider {
		p, err := module.NewProvider(b.Context(), host.ProviderOptions{Name: "contacts", Instances: 1, Lenient: true})
		require.NoError(b, err)
		_, err = p.Handshake(b.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
		require.NoError(b, err)
		require.NoError(b, p.Configure(b.Context(), abi.ConfigureRequest{Inputs: config}))
		return p
	}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, start(b).Close())
		}
	})
	b.Run("start and first check", func(b *testing.B) {
		for b.Loop() {
			p := start(b)
			_, err := p.Check(b.Context(), checkOf(1000))
			require.NoError(b, err)
			require.NoError(b, p.Close())
		}
	})
	for _, size := range []struct {
		name  string
		bytes int
	}{{"check of 1 KB", 1000}, {"check of 100 KB", 100_000}} {
		b.Run(size.name, func(b *testing.B) {
			p, request := start(b), checkOf(size.bytes)
			for b.Loop() {
				response, err := p.Check(b.Context(), request)
				require.NoError(b, err)
				require.Empty(b, response.Failures)
			}
			require.NoError(b, p.Close())
		})
	}
}
