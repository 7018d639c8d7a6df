package codecache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
)

// leb returns a number, or a section or function with its length, as WebAssembly encodes it.
func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sized(content []byte) []byte { return append(leb(len(content)), content...) }

// sums returns a module that exports the function f: it calls the other functions in turn, which each add
// many numbers to their parameter.
func sums(functions int) []byte {
	var bodies, calls []byte
	for n := range functions {
		body := []byte{0, 0x20, 0} // no locals, local.get 0
		for range 200 {
			body = append(body, 0x41, byte(n%64), 0x6a, 0x20, 0, 0x73) // i32.const n, i32.add, local.get 0, i32.xor
		}
		bodies = append(bodies, sized(append(body, 0x0b))...)
		calls = append(append(calls, 0x10), leb(n)...)
	}
	bodies = append(bodies, sized(append(append([]byte{0, 0x20, 0}, calls...), 0x0b))...)
	module := []byte("\x00asm\x01\x00\x00\x00")
	for _, section := range []struct {
		id      byte
		content []byte
	}{
		{1, []byte{1, 0x60, 1, 0x7f, 1, 0x7f}},
		{3, append(leb(functions+1), make([]byte, functions+1)...)},
		{7, append([]byte{1, 1, 'f', 0}, leb(functions)...)},
		{10, append(leb(functions+1), bodies...)},
	} {
		module = append(append(module, section.id), sized(section.content)...)
	}
	return module
}

// harness is a cache with a runtime that finds its machine code, and compiles none.
type harness struct {
	*Cache
	runtime wazero.Runtime
	hollow  []byte
}

const largeModule, smallModule = 100, 1

func newHarness(t *testing.T, functions int) *harness {
	t.Helper()
	settings := wazero.NewRuntimeConfigCompiler()
	c, err := Open(filepath.Join(t.TempDir(), "cache"))
	require.NoError(t, err)
	h := &harness{Cache: c, runtime: wazero.NewRuntimeWithConfig(t.Context(), settings.WithCompilationCache(c.Compiled))}
	t.Cleanup(func() {
		require.NoError(t, h.runtime.Close(context.Background()))
		require.NoError(t, c.Close(context.Background()))
		require.NoDirExists(t, c.run)
	})
	h.hollow, err = Hollow(sums(functions))
	require.NoError(t, err)
	kept, err := c.Compile(t.Context(), settings, sums(functions), h.hollow)
	require.NoError(t, err)
	require.True(t, kept)
	return h
}

func (h *harness) loaded(t *testing.T) wazero.CompiledModule {
	t.Helper()
	compiled, err := h.Load(h.hollow, func() (wazero.CompiledModule, error) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		return h.runtime.CompileModule(ended, h.hollow)
	})
	require.NoError(t, err)
	return compiled
}

// mapped reports whether the text is mapped as code, and not only copied.
func (h *harness) mapped(t *testing.T) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range bytes.Lines(maps) {
		if bytes.Contains(line, []byte(" r-xp ")) && bytes.Contains(line, []byte(h.CodeName(h.hollow)+textSuffix)) {
			return true
		}
	}
	return false
}

func (h *harness) requireRuns(t *testing.T, compiled wazero.CompiledModule, functions int) {
	t.Helper()
	m, err := h.runtime.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(""))
	require.NoError(t, err)
	got, err := m.ExportedFunction("f").Call(t.Context(), 7)
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
	want := uint32(7)
	for n := range functions {
		parameter := want
		for range 200 {
			want = (want + uint32(n%64)) ^ parameter
		}
	}
	require.Equal(t, want, uint32(got[0]))
}

func needsMapping(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("machine code is copied here")
	}
}

func TestTextsAreMapped(t *testing.T) {
	needsMapping(t)
	for name, limit := range map[string]int64{"without a limit on memory": debug.SetMemoryLimit(-1), "with little memory": lowMemory / 2} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
			h := newHarness(t, largeModule)
			first := h.loaded(t)
			require.True(t, h.mapped(t))
			h.requireRuns(t, first, largeModule)
			again := h.loaded(t) // wazero has it in memory
			h.requireRuns(t, again, largeModule)
			require.NoError(t, first.Close(t.Context()))
			require.NoError(t, again.Close(t.Context()))
			h.requireRuns(t, h.loaded(t), largeModule)
			require.False(t, h.copies.Load())
			files, err := os.ReadDir(h.files)
			require.NoError(t, err)
			require.Empty(t, files)
		})
	}
}

func TestTwoCachesMapTheSameModule(t *testing.T) {
	needsMapping(t)
	one, other := newHarness(t, largeModule), newHarness(t, largeModule)
	a, b := one.loaded(t), other.loaded(t)
	require.True(t, one.mapped(t) && other.mapped(t))
	one.requireRuns(t, a, largeModule)
	other.requireRuns(t, b, largeModule)
}

func TestSmallTextsAreCopied(t *testing.T) {
	h := newHarness(t, smallModule)
	h.mapText = func(*os.File, int, []byte) (bool, error) { panic("it is too small") }
	h.requireRuns(t, h.loaded(t), smallModule)
}

func TestTextsThatCannotBeMappedAreCopied(t *testing.T) {
	for name, fail := range map[string]func(*os.File, int, []byte) (bool, error){
		"not found":  func(*os.File, int, []byte) (bool, error) { return false, nil },
		"no rights":  func(*os.File, int, []byte) (bool, error) { return true, os.ErrPermission },
		"no /proc":   func(*os.File, int, []byte) (bool, error) { return false, os.ErrNotExist },
		"no support": func(*os.File, int, []byte) (bool, error) { return false, errors.ErrUnsupported },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, largeModule)
			h.mapText = fail
			h.requireRuns(t, h.loaded(t), largeModule)
			require.True(t, h.copies.Load())
			h.mapText = func(*os.File, int, []byte) (bool, error) { panic("it failed before") }
			h.requireRuns(t, h.loaded(t), largeModule)
		})
	}
}

// What is precompiled needs no directory to write to if it can be mapped.
func TestPrecompiledTexts(t *testing.T) {
	for name, functions := range map[string]int{"large": largeModule, "small": smallModule} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, functions)
			require.NoError(t, h.Write("m"+HollowSuffix, h.hollow))
			require.NoError(t, h.WriteRecord("m", Record{Digest: "d", Code: h.CodeName(h.hollow)}, 1))
			dir := filepath.Join(t.TempDir(), "precompiled")
			require.NoError(t, h.Precompile(dir, "m", "d", nil))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "wazero-of-another-version"), 0o755))
			opened, err := OpenDirectory(dir)
			require.NoError(t, err)
			elsewhere, err := newLoader(t.TempDir())
			require.NoError(t, err)
			elsewhere.mapText = func(*os.File, int, []byte) (bool, error) { return false, errors.ErrUnsupported }
			for way, l := range map[string]*loader{"mapped": opened.loader, "copied": elsewhere} {
				t.Run(way, func(t *testing.T) {
					directory := &Directory{dir, l}
					m, err := directory.Module("d", "d", nil)
					require.NoError(t, err)
					runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCompilationCache(l.Compiled))
					compiled, err := m.Load(h.hollow, func() (wazero.CompiledModule, error) { return runtime.CompileModule(t.Context(), h.hollow) })
					require.NoError(t, err)
					(&harness{runtime: runtime}).requireRuns(t, compiled, functions)
					require.NoError(t, runtime.Close(t.Context()))
					require.NoError(t, directory.Close(t.Context()))
				})
			}
		})
	}
}

// Whoever could put a directory in the place of one that is in use could have its code run.
func TestOnlyDirectoriesOfKilledProcessesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	live, err := newLoader(parent)
	require.NoError(t, err)
	killed, err := newLoader(parent)
	require.NoError(t, err)
	require.NoError(t, killed.lock.Close())
	begun := filepath.Join(parent, strings.ReplaceAll(runPattern, "*", "begun"))
	require.NoError(t, os.Mkdir(begun, 0o700))
	young, err := newLoader(parent)
	require.NoError(t, err)
	require.DirExists(t, killed.run)
	require.DirExists(t, begun)
	require.NoError(t, young.Close(t.Context()))

	old := time.Now().Add(-time.Hour)
	for _, run := range []string{live.run, killed.run, begun} {
		require.NoError(t, os.Chtimes(run, old, old))
	}
	next, err := newLoader(parent)
	require.NoError(t, err)
	require.DirExists(t, live.run)
	require.NoDirExists(t, killed.run)
	require.NoDirExists(t, begun)
	require.NoError(t, next.Close(t.Context()))
	require.NoError(t, live.Close(t.Context()))
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestATextOfAnotherFrameIsNotLoaded(t *testing.T) {
	h, other := newHarness(t, largeModule), newHarness(t, largeModule/2)
	text, err := os.ReadFile(filepath.Join(other.dir, other.CodeName(other.hollow)+textSuffix))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, h.CodeName(h.hollow)+textSuffix), text, 0o600))
	_, err = h.Load(h.hollow, func() (wazero.CompiledModule, error) { panic("it is not compiled") })
	require.ErrorIs(t, err, ErrNotCached)
}

func TestFilesOfWazeroAreDivided(t *testing.T) {
	c, err := newCompiler(t.Context(), wazero.NewRuntimeConfigCompiler(), t.TempDir())
	require.NoError(t, err)
	defer c.close()
	path, err := c.compile(t.Context(), sums(smallModule))
	require.NoError(t, err)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	f, text, err := divide(filepath.Base(path), file)
	require.NoError(t, err)
	require.Len(t, text, f.Size)
	require.NotEmpty(t, text)

	whole := filepath.Join(t.TempDir(), "whole")
	require.NoError(t, f.write(whole, text, 0o600))
	written, err := os.ReadFile(whole)
	require.NoError(t, err)
	require.Equal(t, file, written)

	for end := range len(file) - len(f.After) {
		_, _, err := divide("", file[:end])
		require.ErrorIs(t, err, errForeignFormat, "%d bytes", end)
	}
	for at := range len(f.Before) + len(text) {
		altered := bytes.Clone(file)
		altered[at] ^= 0x80
		if f, text, err := divide("", altered); err == nil { // else it was noticed
			require.Equal(t, altered, append(binary.LittleEndian.AppendUint32(append(bytes.Clone(f.Before), text...), f.Sum), f.After...))
		}
	}
	_, _, err = divide("", bytes.Repeat([]byte{0xff}, 100))
	require.ErrorIs(t, err, errForeignFormat)
}
