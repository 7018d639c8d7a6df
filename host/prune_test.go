package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

const day = 24 * time.Hour

// aged makes files so old as if they were written then.
func aged(t *testing.T, age time.Duration, files ...string) {
	t.Helper()
	then := time.Now().Add(-age)
	for _, file := range files {
		require.NoError(t, os.Chtimes(file, then, then))
	}
}

// keptIn is the files that a cache has for modules.
func keptIn(t *testing.T, dir string) []string {
	t.Helper()
	var kept []string
	for _, kind := range []string{"module", "hollow", "part", "data", "base", "answers", "code", "frame"} {
		kept = append(kept, filesOf(t, dir, "*."+kind)...)
	}
	return kept
}

func ageOf(t *testing.T, file string) time.Duration {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	return time.Since(info.ModTime())
}

// Hosts remove from a cache what was not used for long, and not what is used.
func TestUnusedModulesAreRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		age, looked time.Duration // of the module, and since somebody looked
		used, kept  bool          // whether the module is used before, and is there afterwards
	}{
		"one that is in use":             {age: 2 * day, looked: 2 * day, kept: true},
		"one that is not":                {age: 91 * day, looked: 2 * day},
		"one that is used again":         {age: 91 * day, looked: time.Hour, used: true, kept: true},
		"where somebody looked just now": {age: 91 * day, looked: time.Hour, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			cached(t, dir, saying("ok"))
			looked := filepath.Join(dir, "pruned")
			kept := keptIn(t, dir)
			require.NotEmpty(t, kept)
			left := filepath.Join(dir, ".new-1")
			require.NoError(t, os.WriteFile(left, nil, 0o600))
			aged(t, c.age, append(kept, left)...)
			aged(t, c.looked, looked)
			if c.used {
				cached(t, dir, saying("ok"))
				for _, file := range kept {
					require.Less(t, ageOf(t, file), day, file)
				}
				aged(t, 2*day, looked)
			}
			h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
			require.NoError(t, err)
			require.NoError(t, h.Close(t.Context()))
			for _, file := range kept {
				if c.kept {
					require.FileExists(t, file)
				} else {
					require.NoFileExists(t, file)
				}
			}
			if !c.kept {
				require.NoFileExists(t, left)
			}
			require.Less(t, ageOf(t, looked), day)
			cached(t, dir, saying("ok"))
		})
	}
}

// A module whose files are removed between its load and its first call is compiled again.
func TestTheCacheOfALoadedModuleIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cached(t, dir, saying("ok"))
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	p := assemble(t, h, saying("ok"))
	removed, err := host.PruneCache(dir, time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Positive(t, removed)
	require.Empty(t, keptIn(t, dir))
	answered, err := schema(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, "ok", answered)
	require.NoError(t, h.Close(t.Context()))
	cached(t, dir, saying("ok"))
}

func TestCachedModules(t *testing.T) {
	needsCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	none, err := host.CachedModules(dir)
	require.NoError(t, err)
	require.Empty(t, none)
	removed, err := host.PruneCache(dir, time.Now())
	require.NoError(t, err)
	require.Zero(t, removed)

	named, err := host.AddManifest(saying("ok").wasm(), host.Manifest{Name: "named", Version: "1.2.3"})
	require.NoError(t, err)
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	_, err = h.LoadBytes(t.Context(), named)
	require.NoError(t, err)
	_, err = h.LoadBytes(t.Context(), saying("ok").wasm())
	require.NoError(t, err)
	require.NoError(t, h.Close(t.Context()))

	modules, err := host.CachedModules(dir)
	require.NoError(t, err)
	require.Len(t, modules, 2)
	names := map[string]string{}
	var bytes, size int64
	for _, m := range modules {
		names[m.Name] = m.Version
		bytes += m.Bytes
		require.Equal(t, canon.WorldProvider, m.World)
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", m.Digest)
		require.Less(t, time.Since(m.Used), day)
	}
	require.Equal(t, map[string]string{"named": "1.2.3", "": ""}, names)
	for _, file := range keptIn(t, dir) {
		info, err := os.Stat(file)
		require.NoError(t, err)
		size += info.Size()
	}
	require.Equal(t, size, bytes)

	// What does not say it in a manifest said it when it was compiled.
	_, err = newHost(t, host.NewConfig()).Load(t.Context(), probe(t))
	require.NoError(t, err)
	modules, err = host.CachedModules(testmodule.CacheDir(t))
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(modules, func(m host.CachedModule) bool { return m.Name == "probe" && m.Version == "1.2.3" }))
}
