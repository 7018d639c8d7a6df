package jsbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// engineOf is a module with a memory of two pages, a data segment with the mark, and exports of two worlds.
func engineOf(mark string) []byte {
	segment := append([]byte("before"), mark...)
	segment = append(segment, 0, 0, 0, 0, 0, 0, 0, 0, 'x')
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = wasmfile.AppendSized(append(out, wasmfile.SectionType), []byte{1, 0x60, 0, 0})
	out = wasmfile.AppendSized(append(out, wasmfile.SectionFunction), []byte{1, 0})
	out = wasmfile.AppendSized(append(out, wasmfile.SectionMemory), []byte{1, 1, 2, 4})
	exports := []byte{byte(len(exported))}
	for _, name := range exported {
		exports = append(wasmfile.AppendSized(exports, []byte(name)), 0, 0)
	}
	exports[len(exports)-2], exports[len(exports)-1] = 2, 0 // a memory
	out = wasmfile.AppendSized(append(out, wasmfile.SectionExport), exports)
	out = wasmfile.AppendSized(append(out, wasmfile.SectionDataCount), []byte{1})
	out = wasmfile.AppendSized(append(out, wasmfile.SectionCode), []byte{1, 2, 0, byte(wasmfile.OpEnd)})
	content := wasmfile.AppendSized([]byte{1, 0, byte(wasmfile.OpI32Const), 16, byte(wasmfile.OpEnd)}, segment)
	return wasmfile.AppendSized(append(out, wasmfile.SectionData), content)
}

var exported = []string{
	"cabi_realloc", "husk:provider/provider@0.2.0#check", "cabi_post_husk:provider/provider@0.2.0#check", "husk:program/program@0.1.0#run",
	"cabi_post_husk:program/program@0.1.0#run", "husk:feature/read-first", "memory",
}

func TestLink(t *testing.T) {
	wasm, err := Link(engineOf(mark), Provider, []File{{"a", []byte("one")}, {"main", make([]byte, pageSize)}})
	require.NoError(t, err)
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, []wasmfile.Range{{Min: 4, Max: 4, HasMax: true}}, m.Memories)
	require.Len(t, m.Segments, 2)
	at, files := m.Segments[1].Offset, m.Segments[1].Data
	require.EqualValues(t, 2*pageSize, at)
	require.Equal(t, "\x01\x00\x00\x00\x03\x00\x00\x00a\x00one\x00\x04\x00\x00\x00\x00\x00\x01\x00main\x00", string(files[:27]))
	place := m.Segments[0].Data[len("before")+len(mark):]
	require.Equal(t, at, binary.LittleEndian.Uint32(place))
	require.EqualValues(t, len(files), binary.LittleEndian.Uint32(place[4:]))
	require.Equal(t, byte('x'), place[8])

	_, err = Link(engineOf(mark), Provider, []File{{"main", make([]byte, 3*pageSize)}})
	require.ErrorContains(t, err, "for which the engine has no room")
	_, err = Link(engineOf("husk:file"), Provider, nil)
	require.ErrorIs(t, err, errNoEngine)
	_, err = Link(engineOf(mark+"12345678"+mark), Provider, nil)
	require.ErrorIs(t, err, errNoEngine)
	cut := wasmfile.AppendSized([]byte("\x00asm\x01\x00\x00\x00\x05"), []byte{1, 1, 2, 4})
	cut = wasmfile.AppendSized(append(cut, 0), append([]byte{0}, mark...)) // a custom section, behind which there is no place
	_, err = Link(cut, Provider, nil)
	require.ErrorIs(t, err, errNoEngine)
	_, err = Link([]byte("text"), Provider, nil)
	require.ErrorIs(t, err, wasmfile.ErrNotWasm)
}

// A module has the exports of one world, and the others that are of none.
func TestLinkedWorlds(t *testing.T) {
	for world, left := range map[World][]int{Provider: {0, 1, 2, 5, 6}, Program: {0, 3, 4, 5, 6}} {
		wasm, err := Link(engineOf(mark), world, nil)
		require.NoError(t, err)
		m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		require.NoError(t, err)
		require.Len(t, m.Exports, len(left))
		for i, e := range m.Exports {
			require.Equal(t, exported[left[i]], e.Name)
			require.Equal(t, e.Name == "memory", e.Kind == api.ExternTypeMemory)
		}
	}
	old := bytes.ReplaceAll(engineOf(mark), []byte("husk:program"), []byte("husk:progrom"))
	_, err := Link(old, Program, nil)
	require.EqualError(t, err, "its engine makes no module of husk:program: install a newer version of the SDK")
	_, err = Link(old, Provider, nil)
	require.NoError(t, err)
}

// What is missing is said with what to do.
func TestWhatIsMissing(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "provider")
	write := func(name, text string) {
		path := filepath.Join(above, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	root := above
	fails := func(want string) {
		_, err := Build(t.Context(), dir, root)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "cannot build the module in "+dir)
	}
	write("provider/package.json", "{")
	fails("package.json: ")
	write("provider/package.json", `{"husk": {"world": "policy"}}`)
	fails(`package.json: the world of husk is provider or program, and not "policy"`)
	write("provider/package.json", "{}")
	fails(`its package.json has no "main", and there is none of the files index.ts, index.js`)
	write("provider/index.ts", "export default 1;")
	fails(`run "npm install" there, or "npm install @husk/provider"`)
	write("node_modules/@husk/provider/index.js", "// as it is installed for all packages of a workspace")
	fails("engine.wasm: the package is of a checkout, where ")
	write("node_modules/@husk/provider/engine.wasm", string(engineOf(mark)))
	write("node_modules/@husk/provider/engine.sha256", strings.Repeat("0", 64)+"  engine.wasm\n")
	fails("engine.wasm is not the engine that engine.sha256 beside it names: install the package anew")
	sum := sha256.Sum256(engineOf(mark))
	write("node_modules/@husk/provider/engine.sha256", hex.EncodeToString(sum[:])+"  engine.wasm\n")
	fails("index.ts has to be translated to JavaScript, and there is no esbuild in node_modules")
	write("node_modules/.bin/esbuild", "#!/bin/sh\necho 'index.ts:1:8: ERROR: No matching export' >&2\nexit 1\n")
	require.NoError(t, os.Chmod(filepath.Join(above, "node_modules", ".bin", "esbuild"), 0o755))
	fails("esbuild does not bundle index.ts:\nindex.ts:1:8: ERROR: No matching export")

	// What is above the root is not looked at, and esbuild's own look is checked.
	root = dir
	fails(`run "npm install" there, or "npm install @husk/provider" if package.json does not list it; husk looks up to ` + root)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "node_modules", "@husk"), os.DirFS(filepath.Join(above, "node_modules", "@husk"))))
	fails("there is no esbuild in node_modules")
	bundler := filepath.Join(dir, "node_modules", ".bin", "esbuild")
	bundles := func(input string) {
		write("provider/node_modules/.bin/esbuild", `#!/bin/sh
for a; do case $a in
--metafile=*) echo '{"inputs": {"index.ts": {}, "`+input+`": {}}}' >"${a#*=}" ;;
--outfile=*) echo bundled >"${a#*=}" ;;
--tsconfig=*) exit 1 ;;
esac; done
`)
		require.NoError(t, os.Chmod(bundler, 0o755))
	}
	write("tsconfig.json", `{"compilerOptions": {"paths": {"*": ["/elsewhere/*"]}}}`)
	bundles("../node_modules/words/index.js")
	fails(filepath.Join(above, "node_modules", "words", "index.js") + " is in a directory above: install it in the provider's; husk looks up to " + root)
	for _, input := range []string{"node_modules/words/index.js", "../linked/node_modules/words/index.js", "../shared.ts"} {
		bundles(input)
		wasm, err := Build(t.Context(), dir, root)
		require.NoError(t, err)
		require.Contains(t, string(wasm), "main\x00bundled")
	}
}
