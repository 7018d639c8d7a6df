package host_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/checkedcbor"
)

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
		"limit on table sizes":        host.NewConfig().WithTableElements(5),
		"limit on a module's nesting": withLimit(t, host.NewConfig(), "module-nesting", 7),
	} {
		err := usePrecompiled(t, config.WithPrecompiled(dir))
		var refused *host.PrecompiledError
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Differences, 1)
		require.Equal(t, what, refused.Differences[0].What)
	}
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)))
	require.NoError(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir).WithMemoryLimit(16<<20)), "which is no part of the code")

	// A directory of a Husk that wrote its manifests in JSON.
	require.NoError(t, os.Rename(manifests[0], strings.TrimSuffix(manifests[0], ".manifest")+".json"))
	require.ErrorContains(t, usePrecompiled(t, host.NewConfig().WithPrecompiled(dir)), "it was compiled for the format version (an older one), and here it is ")
	require.NoError(t, os.Rename(strings.TrimSuffix(manifests[0], ".manifest")+".json", manifests[0]))

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
