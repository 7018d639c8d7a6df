package jsbuild

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// engineOf is a module with a memory of two pages, and a data segment with the mark.
func engineOf(mark string) []byte {
	segment := append([]byte("before"), mark...)
	segment = append(segment, 0, 0, 0, 0, 0, 0, 0, 0, 'x')
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = wasmfile.AppendSized(append(out, wasmfile.SectionMemory), []byte{1, 1, 2, 4})
	out = wasmfile.AppendSized(append(out, wasmfile.SectionDataCount), []byte{1})
	content := wasmfile.AppendSized([]byte{1, 0, byte(wasmfile.OpI32Const), 16, byte(wasmfile.OpEnd)}, segment)
	return wasmfile.AppendSized(append(out, wasmfile.SectionData), content)
}

func TestLink(t *testing.T) {
	wasm, err := Link(engineOf(mark), []File{{"a", []byte("one")}, {"main", make([]byte, pageSize)}})
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

	_, err = Link(engineOf(mark), []File{{"main", make([]byte, 3*pageSize)}})
	require.ErrorContains(t, err, "for which the engine has no room")
	_, err = Link(engineOf("husk:file"), nil)
	require.ErrorIs(t, err, errNoEngine)
	_, err = Link(engineOf(mark+"12345678"+mark), nil)
	require.ErrorIs(t, err, errNoEngine)
	cut := wasmfile.AppendSized([]byte("\x00asm\x01\x00\x00\x00\x05"), []byte{1, 1, 2, 4})
	cut = wasmfile.AppendSized(append(cut, 0), append([]byte{0}, mark...)) // a custom section, behind which there is no place
	_, err = Link(cut, nil)
	require.ErrorIs(t, err, errNoEngine)
	_, err = Link([]byte("text"), nil)
	require.ErrorIs(t, err, wasmfile.ErrNotWasm)
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
	fails := func(want string) {
		_, err := Build(t.Context(), dir)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "cannot build the provider in "+dir)
	}
	write("provider/package.json", "{")
	fails("package.json: ")
	write("provider/package.json", "{}")
	fails(`its package.json has no "main", and there is none of the files index.ts, index.js`)
	write("provider/index.ts", "export default 1;")
	fails(`run "npm install" there, or "npm install @husk/provider"`)
	write("node_modules/@husk/provider/index.js", "// as it is installed for all packages of a workspace")
	fails("has no engine.wasm: it is a checkout, where ")
	write("node_modules/@husk/provider/engine.wasm", string(engineOf(mark)))
	fails("index.ts has to be translated to JavaScript, and there is no esbuild in node_modules")
	write("node_modules/.bin/esbuild", "#!/bin/sh\necho 'index.ts:1:8: ERROR: No matching export' >&2\nexit 1\n")
	require.NoError(t, os.Chmod(filepath.Join(above, "node_modules", ".bin", "esbuild"), 0o755))
	fails("esbuild does not bundle index.ts:\nindex.ts:1:8: ERROR: No matching export")
}
