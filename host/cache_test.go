package host_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/checkedcbor"
	"github.com/husk-dev/husk/internal/base/filelock"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
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
	t.Parallel()
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
	t.Parallel()
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

// A module that was built is loaded, and then gets a manifest with what it said.
func TestAManifestDoesNotChangeTheCode(t *testing.T) {
	needsCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := saying("ok").wasm()
	load := func(config host.Config, wasm []byte) (*host.Module, error) {
		h, err := host.New(t.Context(), config.WithCacheDir(dir))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		m, err := h.LoadBytes(t.Context(), wasm)
		if err == nil {
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
			require.NoError(t, err)
			answered, err := schema(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, "ok", answered)
		}
		return m, err
	}
	_, err := load(host.NewConfig(), wasm)
	require.NoError(t, err)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		stamped, err := host.AddManifest(wasm, host.Manifest{Name: "hand", Version: version})
		require.NoError(t, err)
		m, err := load(host.NewConfig().WithLimit(limit.CompileTime, 1), stamped)
		require.NoError(t, err, "it is not compiled")
		require.Equal(t, version, m.Manifest.Version)
	}
	require.Len(t, filesOf(t, dir, "*.code"), 1)
	require.Len(t, filesOf(t, dir, "*.module"), 3)
	for _, file := range filesOf(t, dir, "*.code") {
		require.NoError(t, os.Remove(file))
	}
	_, err = load(host.NewConfig().WithLimit(limit.CompileTime, 1), saying("no").wasm())
	require.ErrorContains(t, err, "compiling the module takes longer", "and another one is")
}

// A lock ends with its process, as it does with the file that is open.
func TestAModuleIsCompiledByOneProcess(t *testing.T) {
	t.Parallel()
	needsCompiler(t)
	if runtime.GOOS == "windows" {
		t.Skip("the lock of this test is an open file, which cannot be removed")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := saying("ok")
	cached(t, dir, wasm)
	records := filesOf(t, dir, "*.module")
	require.Len(t, records, 1)
	lock := strings.TrimSuffix(records[0], ".module") + ".compiling"
	for _, file := range filesOf(t, dir, "*.code") {
		require.NoError(t, os.Remove(file)) // so that who does not wait compiles it
	}
	for name, ends := range map[string]func(held *os.File){
		"whose process ends":      func(held *os.File) { require.NoError(t, held.Close()) },
		"that others cannot keep": func(held *os.File) { require.NoError(t, os.Remove(lock)); require.NoError(t, held.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(records[0])
			held, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
			require.NoError(t, err)
			_, err = filelock.Try(held)
			require.NoError(t, err)
			h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit(limit.CompileTime, uint64(time.Hour)))
			require.NoError(t, err)
			loaded := make(chan error, 1)
			go func() {
				_, err := h.LoadBytes(context.Background(), wasm.wasm())
				loaded <- err
			}()
			select {
			case err := <-loaded:
				t.Fatal("it did not wait", err)
			case <-time.After(200 * time.Millisecond):
			}
			ends(held)
			require.NoError(t, <-loaded)
			require.NoError(t, h.Close(t.Context()))
			require.NoFileExists(t, lock)
		})
	}
	t.Run("that is given up", func(t *testing.T) {
		_ = os.Remove(records[0])
		held, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		defer held.Close()
		_, err = filelock.Try(held)
		require.NoError(t, err)
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit(limit.CompileTime, uint64(time.Hour)))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = h.LoadBytes(ctx, wasm.wasm())
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, h.Close(t.Context()), "which waits for nobody's lock")
	})
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
	for _, kind := range []string{"module", "hollow", "data", "base", "answers", "code", "frame"} {
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
	t.Parallel()
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

// A module whose record is not as hosts write it is compiled again.
func TestARecordOfSomethingElseIsNotUsed(t *testing.T) {
	for name, change := range map[string]func(*host.Info){
		"another world":   func(info *host.Info) { info.World = canon.WorldPolicy },
		"no known world":  func(info *host.Info) { info.World = 7 },
		"without exports": func(info *host.Info) { info.Exports = nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			cached(t, dir, saying("ok"))
			h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
			require.NoError(t, err)
			m, err := h.LoadBytes(t.Context(), saying("ok").wasm())
			require.NoError(t, err)
			require.NoError(t, m.Rerecord(change))
			require.NoError(t, h.Close(t.Context()))
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
}

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
	// The data of a module is looked at when it is first needed, and made again then.
	damaged := func(t *testing.T) {
		t.Helper()
		require.NoError(t, use(t, host.NewConfig()))
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
	for _, kept := range kinds {
		t.Run("something else in place of "+kept, func(t *testing.T) {
			for _, spoil := range []func(path string) error{
				func(path string) error { return os.MkdirAll(filepath.Join(path, "within"), 0o700) },
				func(path string) error { return os.Symlink(filepath.Base(path), path) }, // which nobody can read
				func(path string) error { return os.Symlink("nowhere", path) },
			} {
				path := files(kept)[0]
				require.NoError(t, os.Remove(path))
				require.NoError(t, spoil(path))
				damaged(t)
				info, err := os.Lstat(path)
				require.NoError(t, err)
				require.True(t, info.Mode().IsRegular(), "it is made again each time")
			}
		})
		t.Run("without "+kept+" after the module was loaded", func(t *testing.T) {
			h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
			require.NoError(t, err)
			m, err := h.LoadBytes(t.Context(), wasm)
			require.NoError(t, err)
			require.NoError(t, os.Remove(files(kept)[0]))
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Grants: host.Grants{Env: []string{"HUSK_TEST_VARIABLE"}}})
			require.NoError(t, err)
			got, err := schema(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, "ok", got)
			require.NoError(t, h.Close(t.Context()))
			damaged(t)
		})
	}
	t.Run("all are pruned by two at once", func(t *testing.T) {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
		require.NoError(t, err)
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				_, err := host.PruneCache(dir, time.Now().Add(time.Hour))
				assert.NoError(t, err)
			})
		}
		both.Wait()
		require.Empty(t, files("*.code"))
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
		require.NoError(t, err)
		got, err := schema(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, "ok", got)
		require.NoError(t, h.Close(t.Context()))
		damaged(t)
	})
	t.Run("other limits", func(t *testing.T) {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit("module-functions", 5))
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
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit(limit.Memory, memory))
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
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(t.TempDir()).WithLimit(limit.Memory, 64<<10))
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

// starting is a module that has all that is kept of one: code, data, and a base image.
func starting() assembly {
	a := saying("ok")
	a.bodies["_initialize"] = nop
	return a
}

// precompiled is a directory with the module, as an image would have it.
func precompiled(t *testing.T, config host.Config) (dir string) {
	t.Helper()
	needsCompiler(t)
	dir = filepath.Join(t.TempDir(), "precompiled")
	h, err := host.New(t.Context(), config.WithCacheDir(filepath.Join(t.TempDir(), "cache")))
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	m, err := h.LoadBytes(t.Context(), starting().wasm())
	require.NoError(t, err)
	require.NoError(t, m.Precompile(dir))
	return dir
}

// usePrecompiled loads the module in a host that may not compile it, and has it answer
// once from the base image and once from its own start.
func usePrecompiled(t *testing.T, config host.Config) error {
	t.Helper()
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	h, err := host.New(t.Context(), config)
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	m, err := h.LoadBytes(t.Context(), starting().wasm())
	if err != nil {
		return err
	}
	for _, grants := range []host.Grants{{}, {Env: []string{"HUSK_TEST_VARIABLE"}}} {
		p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Grants: grants})
		require.NoError(t, err)
		answered, err := schema(t.Context(), p)
		require.NoError(t, p.Close())
		if err != nil {
			return err
		}
		require.Equal(t, "ok", answered)
	}
	return nil
}

// tree is the content of all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(content)
		return err
	}))
	return files
}

// What runs came from the directory: the host has no other machine code, since each
// function of the hollow module that it gives to wazero is one that traps, and wazero
// gets it with a context that has ended.
func TestPrecompiledModulesAreLoadedAndNotCompiled(t *testing.T) {
	dir := precompiled(t, host.NewConfig())
	before := tree(t, dir)
	var kinds []string
	for name := range before {
		kind := filepath.Ext(name)
		if strings.HasPrefix(name, "wazero-") {
			kind = "wazero's"
		}
		kinds = append(kinds, kind)
	}
	require.ElementsMatch(t, []string{".manifest", ".module", ".hollow", ".base", ".data", ".frame", ".code", "wazero's"}, kinds)

	// Neither a home nor a place for temporary files is needed, and nothing is written.
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "AppData", "LocalAppData"} {
		t.Setenv(name, nowhere)
	}
	ignored := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithCacheDir(ignored).WithPrecompiled(dir)))
	require.Equal(t, before, tree(t, dir))
	require.NoDirExists(t, ignored)
	require.NoDirExists(t, nowhere)

	// Another one is not compiled in passing.
	h, err := host.New(t.Context(), host.NewConfig().WithPrecompiled(dir))
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	_, err = h.LoadBytes(t.Context(), saying("no").wasm())
	require.ErrorIs(t, err, host.ErrNotPrecompiled)
	require.ErrorContains(t, err, "husk provider compile")
	require.Equal(t, before, tree(t, dir))
}

func TestPrecompiledForSomethingElse(t *testing.T) {
	dir := precompiled(t, host.NewConfig())
	manifests, err := filepath.Glob(filepath.Join(dir, "*.manifest"))
	require.NoError(t, err)
	require.Len(t, manifests, 1)
	good, err := os.ReadFile(manifests[0])
	require.NoError(t, err)

	for what, made := range map[string]string{
		"platform":              "plan9/mips",
		"processor":             "amd64 sse4.1 lzcnt and more",
		"wazero version":        "v0.0.1",
		"metering version":      "0",
		"format version":        "0",
		"limit on memory":       "65536 bytes",
		"limit on table sizes":  "1",
		"limit on module names": "3", // is no longer looked at
	} {
		t.Run(what, func(t *testing.T) {
			var manifest map[string]any
			require.NoError(t, checkedcbor.Unmarshal(good, &manifest))
			needs := manifest["For"].(map[any]any)
			here, _ := needs[what].(string)
			require.NotEqual(t, made, here)
			needs[what] = made
			changed, err := checkedcbor.Marshal(manifest)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(manifests[0], changed, 0o600))
			err = usePrecompiled(t, host.NewConfig().WithPrecompiled(dir))
			var refused *host.PrecompiledError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, []host.Difference{{What: what, Compiled: made, Here: here}}, refused.Differences)
			require.ErrorContains(t, err, "it was compiled for the "+what+" "+made+", and here it is ")
		})
	}
	require.NoError(t, os.WriteFile(manifests[0], good, 0o600))
	for what, config := range map[string]host.Config{
		"limit on table sizes":        host.NewConfig().WithLimit(limit.TableElements, 5),
		"limit on a module's nesting": host.NewConfig().WithLimit("module-nesting", 7),
	} {
		err := usePrecompiled(t, config.WithPrecompiled(dir))
		var refused *host.PrecompiledError
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Differences, 1)
		require.Equal(t, what, refused.Differences[0].What)
	}
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)))
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir).WithLimit(limit.Memory, 16<<20)), "which is no part of the code")

	// Code that wazero would not take is told of where there is none for its version.
	code, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(code[0], filepath.Join(dir, "elsewhere")))
	require.ErrorContains(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)), "no such file")
	require.NoDirExists(t, code[0])
}

func TestDamagedPrecompiledModules(t *testing.T) {
	dir := precompiled(t, host.NewConfig())
	for name, content := range tree(t, dir) {
		path := filepath.Join(dir, name)
		for what, damaged := range map[string][]byte{
			"cut off": []byte(content[:len(content)/2]),
			"empty":   {},
			"flipped": append([]byte(content[:len(content)/3]), append([]byte{content[len(content)/3] ^ 1}, content[len(content)/3+1:]...)...),
		} {
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			err := usePrecompiled(t, host.NewConfig().WithPrecompiled(dir))
			require.ErrorContains(t, err, "the precompiled code of the module sha256:", "%s %s", name, what)
			require.ErrorContains(t, err, "again with `husk provider compile`")
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(damaged, after))
		}
		require.NoError(t, os.Remove(path))
		var refused *host.PrecompiledError
		require.ErrorAs(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)), &refused, "%s is missed when the module is loaded", name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)))
}

func TestPrecompiledModulesMustBeTheOperatorsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have other permissions")
	}
	dir := precompiled(t, host.NewConfig())
	paths := []string{"."}
	for name := range tree(t, dir) {
		paths = append(paths, name)
		if strings.HasPrefix(name, "wazero-") {
			paths = append(paths, filepath.Dir(name))
		}
	}
	for _, name := range paths {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, info.Mode()|0o020))
		require.ErrorContains(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)),
			path+" can be written by others, who could put machine code into it: chmod -R go-w it")
		require.NoError(t, os.Chmod(path, info.Mode()))
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(path, 12345, 0))
			require.ErrorContains(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)), path+" belongs to another user")
			require.NoError(t, os.Chown(path, 0, 0))
		}
	}
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)))
}

func TestWhereNothingIsPrecompiled(t *testing.T) {
	_, err := host.New(t.Context(), host.NewConfig().WithPrecompiled(t.TempDir()).WithInterpreter())
	require.ErrorContains(t, err, "this host runs modules in the interpreter")

	h, err := host.New(t.Context(), host.NewConfig().WithInterpreter())
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	m, err := h.LoadBytes(t.Context(), saying("ok").wasm())
	require.NoError(t, err)
	require.ErrorContains(t, m.Precompile(t.TempDir()), "its host has no machine code to give")

	needsCompiler(t)
	_, err = host.New(t.Context(), host.NewConfig().WithPrecompiled(filepath.Join(t.TempDir(), "none")))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
