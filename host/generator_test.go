package host_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// greet configures the probe.
func greet(t *testing.T, p *host.Provider, greeting string) {
	t.Helper()
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String(greeting)}),
	}))
}

// Instances that begin with the same image draw different numbers with math/rand, and have
// their maps in another order: with the base image and with that of a configuration, in one host
// and in those after it. It fails where the generator of a new version of Go is not found,
// as Go modules have no images then.
func TestInstancesDrawNumbersOfTheirOwn(t *testing.T) {
	wasm, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	dir := filepath.Join(t.TempDir(), "cache")
	seen := map[string]bool{}
	draw := func(p *host.Provider) {
		t.Helper()
		parts := strings.Fields(mustDo(t, p, "draw").answer)
		require.Len(t, parts, 3)
		for _, part := range parts {
			require.False(t, seen[part], "%s was drawn before", part)
			seen[part] = true
		}
	}
	for range 2 {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
		require.NoError(t, err)
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		for _, grants := range []host.Grants{{}, {Env: []string{"HUSK_TEST_VARIABLE"}}} {
			for _, greeting := range []string{"hello", "make many maps"} {
				logged := &records{}
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Logger: logged.logger(), Grants: grants})
				require.NoError(t, err)
				draw(p)
				greet(t, p, greeting)
				for range 4 {
					draw(p)
					p.EndIdle()
				}
				require.NoError(t, p.Close())
				require.Equal(t, 2, strings.Count(strings.Join(logged.lines(), "\n"), "msg=configured"), "the others begin with an image")
			}
		}
		require.True(t, m.HasBase())
		require.NoError(t, h.Close(t.Context()))
	}
}

// What an instance made of random bytes itself is its own, and so is what it holds outside of
// its memory: the setup is repeated for the others.
func TestInstancesThatCannotBeImagesAreSetUpAgain(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for greeting, c := range map[string]struct {
		grants host.Grants
		want   int
		reason string
	}{
		"hello":       {want: 2},
		"draw a key":  {want: 4, reason: "image of its setup: it takes random numbers"},
		"keep a file": {host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/data"}}}, 4, "image of its setup: it leaves a file or a connection open"},
	} {
		t.Run(greeting, func(t *testing.T) {
			logged := &records{}
			p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger(), Grants: c.grants})
			greet(t, p, greeting)
			for range 4 {
				mustDo(t, p, "nothing")
				p.EndIdle()
			}
			lines := strings.Join(logged.lines(), "\n")
			require.Equal(t, c.want, strings.Count(lines, "msg=configured"))
			require.Contains(t, lines, c.reason)
		})
	}
}

// A module that takes random bytes when it starts has no base image, unless they are the seed
// of a generator that the host knows. One that takes them when it prepares itself begins
// without that.
func TestModulesThatDrawWhenTheyStart(t *testing.T) {
	take := func(bytes int32) code { return i32Const(contents) + i32Const(bytes) + callFunc(0) + drop }
	for name, c := range map[string]struct {
		initialize, prepare code
		base                bool
	}{
		"none":                      {nop, nop, true},
		"a seed of its own":         {take(8), nop, false},
		"as much as Go's runtime":   {take(32), nop, false},
		"more":                      {take(32) + take(32), nop, false},
		"when it prepares itself":   {nop, take(8), true},
		"a seed of no bytes at all": {take(0), nop, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{
				imports: []importEntry{{"wasi_snapshot_preview1", "random_get",
					canon.Signature{Params: []byte{canon.I32, canon.I32}, Results: []byte{canon.I32}}}},
				bodies: map[string]code{"_initialize": c.initialize, "wizer-initialize": c.prepare, "get-schema": returns(answer)},
				data:   map[uint32]string{answer: words(0, contents+100, 2), contents + 100: "ok"},
			}.wasm())
			require.NoError(t, err)
			for range 2 {
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
				require.NoError(t, err)
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, "ok", got)
				require.NoError(t, p.Close())
			}
			require.Equal(t, c.base, m.HasBase())
		})
	}
}

// Memory that is full of what looks like generators has none, and takes no longer to look at.
func TestWhatOnlyLooksLikeAGenerator(t *testing.T) {
	like := binary.LittleEndian.AppendUint32(nil, 4)
	like = binary.LittleEndian.AppendUint32(like, 32)
	for _, size := range []int{0, 8, 255, 256, 299, 300, 301, 4096, 1 << 20} {
		memory := bytes.Repeat(like, size/8+1)[:size]
		require.Zero(t, host.FindGenerator(memory, [32]byte{}))
	}
}
