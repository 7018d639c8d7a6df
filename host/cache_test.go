package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
)

func TestTheCacheIsPrivate(t *testing.T) {
	needsCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	require.NoError(t, os.Chmod(dir, 0o777))
	stale := filepath.Join(dir, "husk-run-1")
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "files"), 0o700))
	require.NoError(t, os.Chtimes(stale, time.Time{}, time.Now().Add(-48*time.Hour)))
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoDirExists(t, stale, "what a host left that was killed is removed")
	_, err = h.LoadBytes(t.Context(), assembly{}.wasm())
	require.NoError(t, err)
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return err
	}))
	require.NoError(t, h.Close(t.Context()))
	left, err := filepath.Glob(filepath.Join(dir, "husk-run-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	_, err = host.New(t.Context(), host.NewConfig().WithCacheDir(link))
	require.ErrorContains(t, err, "is not a directory")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = host.New(t.Context(), host.NewConfig().WithCacheDir(file))
	require.ErrorContains(t, err, file)
}

// needsCompiler skips a test where nothing is compiled, and nothing kept.
func needsCompiler(t *testing.T) {
	t.Helper()
	if !host.CompilerSupported() {
		t.Skip("there is no compiler here")
	}
}

// cached loads a module with a cache, calls it, and answers the files of the only entry.
func cached(t *testing.T, dir string, module assembly) (code, frame string) {
	t.Helper()
	needsCompiler(t)
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	answered, err := schema(t.Context(), assemble(t, h, module))
	require.NoError(t, err)
	require.Equal(t, "ok", answered)
	require.NoError(t, h.Close(t.Context()))
	codes, err := filepath.Glob(filepath.Join(dir, "*.code"))
	require.NoError(t, err)
	require.Len(t, codes, 1)
	return codes[0], strings.TrimSuffix(codes[0], ".code") + ".frame"
}

// saying is a module that answers get-schema with two letters.
func saying(letters string) assembly {
	return assembly{
		bodies: map[string]code{"get-schema": returns(answer)},
		data:   map[uint32]string{answer: words(0, contents, 2), contents: letters},
	}
}

func TestCompiledCodeIsTakenFromTheCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	code, frame := cached(t, dir, saying("ok"))
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, file := range []string{code, frame} {
		require.NoError(t, os.Chtimes(file, old, old))
	}
	cached(t, dir, saying("ok"))
	for _, file := range []string{code, frame} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.True(t, info.ModTime().Equal(old), "%s was written again", file)
	}
}

func TestWhatWasPutIntoTheCacheIsNotRun(t *testing.T) {
	flipped := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
	}
	all := map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"foreign": func([]byte) []byte { return []byte(strings.Repeat("something else ", 20)) },
		"longer":  func(b []byte) []byte { return append(b, 0) },
		// The header of the code has where its functions begin, which wazero does not check.
		"flipped bit at the begin": flipped(30),
		"flipped bit at the end":   flipped(-20),
		"flipped bit amid":         func(b []byte) []byte { b[len(b)*2/3] ^= 1; return b },
	}
	for name, damage := range all {
		for which, file := range map[string]int{"code": 0, "frame": 1} {
			t.Run(which+"/"+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "cache")
				code, frame := cached(t, dir, saying("ok"))
				path := []string{code, frame}[file]
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				damaged := damage(append([]byte{}, content...))
				require.NoError(t, os.WriteFile(path, damaged, 0o600))
				cached(t, dir, saying("ok"))
				repaired, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NotEqual(t, damaged, repaired)
			})
		}
	}
	t.Run("a file that is none", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		_, frame := cached(t, dir, saying("ok"))
		require.NoError(t, os.Remove(frame))
		require.NoError(t, os.Mkdir(frame, 0o700))
		cached(t, dir, saying("ok"))
	})
}

func TestCodeOfAnotherModuleOrCacheIsNotRun(t *testing.T) {
	// The other code has the same size, and gives an answer from elsewhere.
	own, others := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "others")
	copyFile := func(from, to string) {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, content, 0o600))
	}
	code, frame := cached(t, own, saying("ok"))
	other := saying("no")
	other.bodies["get-schema"] = returns(answer2)
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(others))
	require.NoError(t, err)
	_, err = h.LoadBytes(t.Context(), other.wasm())
	require.NoError(t, err)
	require.NoError(t, h.Close(t.Context()))
	found, err := filepath.Glob(filepath.Join(others, "*.code"))
	require.NoError(t, err)
	foreign := strings.TrimSuffix(found[0], ".code")
	copyFile(foreign+".code", code)
	copyFile(foreign+".frame", frame)
	planted, err := os.ReadFile(code)
	require.NoError(t, err)
	cached(t, own, saying("ok"))
	repaired, err := os.ReadFile(code)
	require.NoError(t, err)
	require.NotEqual(t, planted, repaired)

	// A whole cache from elsewhere, with its key, is of no use where there is another one.
	before, err := os.Stat(code)
	require.NoError(t, err)
	user, err := os.UserConfigDir()
	require.NoError(t, err)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	copyFile(filepath.Join(user, "husk", "cache.key"), filepath.Join(own, "cache.key"))
	cached(t, own, saying("ok"))
	after, err := os.Stat(code)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "it was not compiled again")
}

func TestAKeyThatOthersCouldKnowIsReplaced(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	dir := filepath.Join(t.TempDir(), "cache")
	cached(t, dir, saying("ok"))
	user, err := os.UserConfigDir()
	require.NoError(t, err)
	key := filepath.Join(user, "husk", "cache.key")
	if _, err := os.Stat(user); err != nil { // made by no host
		key = filepath.Join(dir, "cache.key")
	}
	for name, spoil := range map[string]func() error{
		"read by others": func() error { return os.Chmod(key, 0o644) },
		"cut off":        func() error { return os.Truncate(key, 8) },
		"a directory":    func() error { return os.Mkdir(key, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			before, err := os.ReadFile(key)
			require.NoError(t, err)
			if name == "a directory" {
				require.NoError(t, os.Remove(key))
			}
			require.NoError(t, spoil())
			cached(t, dir, saying("ok"))
			after, err := os.ReadFile(key)
			require.NoError(t, err)
			require.Len(t, after, 32)
			require.NotEqual(t, before, after)
		})
	}
}

func TestACacheThatCannotBeWrittenIsNone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	answered, err := schema(t.Context(), assemble(t, h, saying("ok")))
	require.NoError(t, err)
	require.Equal(t, "ok", answered)
	require.NoError(t, h.Close(t.Context()))
}

// Modules that are compiled at once, or loaded, are each themselves.
func TestModulesAreCompiledAtOnce(t *testing.T) {
	needsCompiler(t)
	const modules = 8
	for name, c := range map[string]struct {
		step  int // between the addresses that their code has
		codes int
	}{
		"with different code": {16, modules},
		"with the same code":  {0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			load := func() {
				h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
				require.NoError(t, err)
				var all sync.WaitGroup
				for n := range modules {
					all.Go(func() {
						at := int32(answer + c.step*n)
						module, err := h.LoadBytes(context.Background(), assembly{
							bodies: map[string]code{"get-schema": returns(at)},
							data:   map[uint32]string{uint32(at): words(0, contents, 2), contents: fmt.Sprint(n + 10)},
						}.wasm())
						if !assert.NoError(t, err) {
							return
						}
						p, err := module.NewProvider(context.Background(), host.ProviderOptions{Lenient: true})
						if !assert.NoError(t, err) {
							return
						}
						answered, err := schema(context.Background(), p)
						assert.NoError(t, err)
						assert.Equal(t, fmt.Sprint(n+10), answered)
					})
				}
				all.Wait()
				require.NoError(t, h.Close(context.Background()))
			}
			load()
			old := time.Now().Add(-time.Hour).Truncate(time.Second)
			codes := filesOf(t, dir, "*.code")
			require.Len(t, codes, c.codes)
			for _, file := range codes {
				require.NoError(t, os.Chtimes(file, old, old))
			}
			load()
			for _, file := range codes {
				info, err := os.Stat(file)
				require.NoError(t, err)
				require.True(t, info.ModTime().Equal(old), "%s was compiled again", file)
			}
		})
	}
}

func filesOf(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	return files
}

// later is a clock that is ahead, as if the files of a test were old.
type later struct{ host.Clock }

func (c later) Now() time.Time { return c.Clock.Now().Add(time.Hour) }

// A module's file need not be hashed each time, but whatever becomes of it, what is loaded is
// what is in it.
func TestAFileThatChangedIsSeen(t *testing.T) {
	needsCompiler(t)
	module := func(says string) []byte {
		return assembly{
			bodies: map[string]code{"get-schema": returns(answer)},
			data:   map[uint32]string{answer: words(0, contents, uint32(len(says))), contents: says},
		}.wasm()
	}
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	path := filepath.Join(dir, "module.wasm")
	loads := func(clock host.Clock, says string) {
		t.Helper()
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(cache).WithClock(clock))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.Load(t.Context(), path)
		require.NoError(t, err)
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
		require.NoError(t, err)
		defer p.Close()
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, says, got)
	}
	seen := func() []string {
		files, err := filepath.Glob(filepath.Join(cache, "*.seen"))
		require.NoError(t, err)
		return files
	}
	require.NoError(t, os.WriteFile(path, module("one"), 0o600))
	info, err := os.Stat(path)
	require.NoError(t, err)
	loads(host.SystemClock(), "one")
	require.Empty(t, seen(), "a file that may still change without a trace")
	old := later{host.SystemClock()}
	loads(old, "one")
	if len(seen()) == 0 {
		t.Skip("the system does not tell when a file has changed")
	}
	loads(old, "one")

	// Of the same size and, as far as programs can tell, of the same time.
	require.NoError(t, os.WriteFile(path, module("two"), 0o600))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	loads(old, "two")
	loads(old, "two")

	other := filepath.Join(dir, "other.wasm")
	require.NoError(t, os.WriteFile(other, module("six"), 0o600))
	require.NoError(t, os.Rename(other, path))
	loads(old, "six")

	for _, damage := range []string{"", "not sealed"} {
		require.NoError(t, os.WriteFile(seen()[0], []byte(damage), 0o600))
		loads(old, "six")
	}
}
