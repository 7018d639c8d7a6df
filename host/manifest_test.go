package host_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/wasmfile"
)

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
