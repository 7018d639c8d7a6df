package testmodule

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
)

// source writes a module of Go, which has a package that imports another one.
func source(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.24\n",
		"a/a.go":          "package a\n\nimport _ \"example.com/m/b\"\n",
		"a/a_test.go":     "package a\n",
		"b/b.go":          "package b\n\nimport _ \"embed\"\n\n//go:embed data.txt\nvar Data string\n",
		"b/data.txt":      "data",
		"unused/other.go": "package unused\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestAChangedHostHasAnotherCache(t *testing.T) {
	if builtSince().IsZero() {
		t.Skip("it is not known here when this program was built")
	}
	dir := source(t)
	key := func() string {
		key, err := hostKey(dir, "example.com/m/a", time.Now().Add(time.Hour))
		require.NoError(t, err)
		return key
	}
	first := key()
	require.Regexp(t, "^host-[0-9a-f]{32}$", first)
	require.Equal(t, first, key(), "nothing changed")
	write(t, filepath.Join(dir, "a/a_test.go"), "package a // changed")
	write(t, filepath.Join(dir, "unused/other.go"), "package unused // changed")
	require.Equal(t, first, key(), "it is no part of the host")

	all := map[string]bool{first: true}
	for name, text := range map[string]string{
		"a/a.go":     "package a\n\nimport _ \"example.com/m/b\" // changed\n",
		"b/data.txt": "other data",
		"b/more.go":  "package b\n",
	} {
		write(t, filepath.Join(dir, name), text)
		changed := key()
		require.NotContains(t, all, changed, name)
		all[changed] = true
	}
}

// The source may be newer than what this process was built from: what it compiles is not what a
// process that is built of the source would compile.
func TestSourceThatIsNewerThanTheProcess(t *testing.T) {
	dir := source(t)
	for name, built := range map[string]time.Time{"built before": time.Now().Add(-time.Minute), "unknown": {}} {
		key, err := hostKey(dir, "example.com/m/a", built)
		require.NoError(t, err)
		require.Regexp(t, "^program-[0-9a-f]{32}$", key, name)
	}
}

func TestCachesThatNobodyUsesAreRemoved(t *testing.T) {
	all, now := t.TempDir(), time.Now()
	opened := func(name string, ago time.Duration) {
		write(t, filepath.Join(all, name, usedFile), "")
		write(t, filepath.Join(all, name, "compiled", "code"), "code")
		require.NoError(t, os.Chtimes(filepath.Join(all, name, usedFile), now, now.Add(-ago)))
	}
	opened("now", 0)
	opened("yesterday", 24*time.Hour)
	opened("last week", 7*24*time.Hour)
	require.NoError(t, prune(all, now))
	requireCaches(t, all, "now", "yesterday")

	for n := range mostCaches {
		opened(string(rune('a'+n)), time.Hour)
	}
	require.NoError(t, prune(all, now))
	requireCaches(t, all, "a", "b", "c", "now")
}

func requireCaches(t *testing.T, all string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(all)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, want, names)
}

// A module is compiled by the first host that loads it. The user of a command has the same cache.
func TestAModuleIsCompiledOnce(t *testing.T) {
	Skip(t)
	if !host.CompilerSupported() {
		t.Skip("there is no compiler here")
	}
	const dir = "../../../guest-sdk/internal/testprovider/module"
	digest := Load(t, dir, host.NewConfig()).Digest
	environment := User(t, t.TempDir())
	require.Contains(t, environment, "HUSK_CACHE_DIR="+filepath.Dir(CacheDir(t)))

	h := Host(t, host.NewConfig())
	kept, err := host.CachedModules(CacheDir(t))
	require.NoError(t, err)
	var digests []string
	for _, m := range kept {
		digests = append(digests, m.Digest)
	}
	require.Contains(t, digests, digest)
	m, err := h.LoadBytes(context.Background(), Build(t, dir))
	require.NoError(t, err)
	require.Equal(t, digest, m.Digest)
}
