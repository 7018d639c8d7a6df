package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// What is kept of a module never makes a difference to what it does, whatever becomes
// of the files.
func TestInstalledModules(t *testing.T) {
	needsCompiler(t)
	wasm := assembly{
		start:  nop,
		bodies: map[string]code{"get-schema": returns(answer), "_initialize": nop},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	}.wasm()
	dir := filepath.Join(t.TempDir(), "cache")
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	use := func(t *testing.T, config host.Config) (found error) {
		t.Helper()
		h, err := host.New(t.Context(), config.WithCacheDir(dir))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		require.Contains(t, m.Exports, "_initialize")
		require.Equal(t, len(wasm), m.Size)
		// One instance that begins with the base image, and one that has to start itself.
		for _, grants := range []host.Grants{{}, {Env: []string{"HUSK_TEST_VARIABLE"}}} {
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Grants: grants})
			require.NoError(t, err)
			got, err := schema(t.Context(), p)
			require.NoError(t, p.Close())
			if err != nil {
				found = err
				continue
			}
			require.Equal(t, "ok", got)
		}
		return found
	}
	files := func(pattern string) []string {
		entries, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		return entries
	}
	kinds := []string{"*.module", "*.hollow", "*.base", "*.data", "*.code", "*.frame"}
	// The data of a module is looked at when it is first needed, which is too late for
	// that instance only.
	damaged := func(t *testing.T) {
		t.Helper()
		if err := use(t, host.NewConfig()); err != nil {
			require.ErrorContains(t, err, "was removed from the cache, try again")
		}
		require.NoError(t, use(t, host.NewConfig()))
	}
	require.NoError(t, use(t, host.NewConfig()))
	for _, kept := range kinds {
		require.Len(t, files(kept), 1)
		content, err := os.ReadFile(files(kept)[0])
		require.NoError(t, err)
		t.Run("without "+kept, func(t *testing.T) {
			require.NoError(t, os.Remove(files(kept)[0]))
			damaged(t)
			require.Len(t, files(kept), 1)
		})
		for _, at := range []int{0, 20, len(content) / 2, len(content) - 5} {
			broken := []byte(strings.Clone(string(content)))
			broken[at] ^= 0x40
			require.NoError(t, os.WriteFile(files(kept)[0], broken, 0o600))
			damaged(t)
			require.NoError(t, os.WriteFile(files(kept)[0], content[:at], 0o600))
			damaged(t)
		}
	}
	t.Run("other limits", func(t *testing.T) {
		h, err := host.New(t.Context(), withLimit(t, host.NewConfig().WithCacheDir(dir), "module-functions", 5))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		_, err = h.LoadBytes(t.Context(), wasm)
		var refused *wasmfile.LimitError
		require.ErrorAs(t, err, &refused, "what another host admitted is looked at again")
	})
	t.Run("the interpreter", func(t *testing.T) { require.NoError(t, use(t, host.NewConfig().WithInterpreter())) })
	require.Empty(t, files(".new-*"))
	require.Empty(t, files("husk-run-*"))
}

// What is kept of a module serves hosts with other memory limits, and is the same whichever
// host was first: a guest that is refused memory as it starts can do with less.
func TestInstalledModulesUnderOtherMemoryLimits(t *testing.T) {
	needsCompiler(t)
	// The guest's answer is as long as its start could grow the memory.
	grow := i32Const(answer+8) + i32Const(40) + "\x40\x00" + i32Const(0) + "\x4a" + code("\x36\x02\x00")
	wasm := assembly{
		bodies: map[string]code{"get-schema": returns(answer), "_initialize": grow},
		data:   map[uint32]string{answer: words(0, contents, 0, 0), contents: "1"},
	}.wasm()
	use := func(dir string, memory uint64) (grown bool, base bool) {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithMemoryLimit(memory))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		require.Equal(t, min(memory, 4<<30), m.MemoryLimit)
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
		require.NoError(t, err)
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		return got != "", m.HasBase()
	}
	small, large := uint64(1<<20), uint64(64<<20)
	for _, order := range [][]uint64{{small, large, 128 << 10, 4 << 20, 1 << 50}, {large, small, large}, {small, small}} {
		dir := t.TempDir()
		for _, memory := range order {
			grown, _ := use(dir, memory)
			require.Equal(t, memory > small, grown)
		}
		_, base := use(dir, large)
		require.True(t, base)
		modules, err := filepath.Glob(filepath.Join(dir, "*.module"))
		require.NoError(t, err)
		require.Len(t, modules, 1)
	}
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(t.TempDir()).WithMemoryLimit(64<<10))
	require.NoError(t, err)
	_, err = h.LoadBytes(t.Context(), wasm)
	var refused *host.MemoryError
	require.ErrorAs(t, err, &refused)
	require.NoError(t, h.Close(t.Context()))
}

// The code of a module that is kept is loaded with its first instance, and made again where
// it cannot be.
func TestCodeIsLoadedWhenItIsCalled(t *testing.T) {
	wasm := assembly{
		bodies: map[string]code{"get-schema": returns(answer), "_initialize": nop},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: "ok"},
	}.wasm()
	dir := filepath.Join(t.TempDir(), "cache")
	for _, first := range []bool{true, false} {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
		require.NoError(t, err)
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		require.Contains(t, m.Exports, "_initialize")
		files, err := filepath.Glob(filepath.Join(dir, "*.code"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		if !first {
			require.NoError(t, os.Truncate(files[0], 1))
		}
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
		require.NoError(t, err)
		for range 2 {
			got, err := schema(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, "ok", got)
		}
		info, err := os.Stat(files[0])
		require.NoError(t, err)
		require.Greater(t, info.Size(), int64(1), "it was made again")
		require.NoError(t, h.Close(t.Context()))
	}
}
