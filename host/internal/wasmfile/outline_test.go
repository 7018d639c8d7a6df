package wasmfile_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/host/internal/wasmfile"
)

// sample imports a function a.b (i64) -> (i32), has a memory of 1 to 2 pages, exports
// it and a function f () -> (), and has a custom section x with the content "data".
var sample = concat(
	[]byte("\x00asm\x01\x00\x00\x00"),
	section(1, "\x02\x60\x01\x7e\x01\x7f\x60\x00\x00"),
	section(2, "\x01\x01a\x01b\x00\x00"),
	section(3, "\x01\x01"),
	section(5, "\x01\x01\x01\x02"),
	section(7, "\x02\x06memory\x02\x00\x01f\x00\x01"),
	section(10, "\x01\x02\x00\x0b"),
	section(0, "\x01xdata"),
)

func section(id byte, content string) []byte {
	return append([]byte{id, byte(len(content))}, content...)
}

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestReadTellsWhatTheModuleSays(t *testing.T) {
	outline, err := wasmfile.Read(sample)
	require.NoError(t, err)
	require.Equal(t, &wasmfile.Outline{
		Imports: []wasmfile.Import{{Module: "a", Name: "b", Func: wasmfile.FuncType{
			Params: []api.ValueType{api.ValueTypeI64}, Results: []api.ValueType{api.ValueTypeI32},
		}}},
		Exports: []wasmfile.Export{
			{Name: "memory", Kind: api.ExternTypeMemory},
			{Name: "f", Kind: api.ExternTypeFunc},
		},
		Memories: []wasmfile.Memory{{Min: 1, Max: 2, HasMax: true}},
		Customs:  []wasmfile.Custom{{Name: "x", Data: []byte("data")}},
	}, outline)
}

func TestReadTellsWhyAFileIsNoModule(t *testing.T) {
	header := "\x00asm\x01\x00\x00\x00"
	for name, c := range map[string]struct {
		file string
		want error
		text string
	}{
		"empty":               {"", wasmfile.ErrNotWasm, ""},
		"text":                {"#!/bin/sh\n", wasmfile.ErrNotWasm, ""},
		"header cut off":      {"\x00asm\x01", wasmfile.ErrTruncated, ""},
		"component":           {"\x00asm\x0d\x00\x01\x00", wasmfile.ErrComponent, ""},
		"other version":       {"\x00asm\x02\x00\x00\x00", wasmfile.ErrVersion, ""},
		"section cut off":     {header + "\x01\x05\x00", wasmfile.ErrTruncated, ""},
		"vector cut off":      {header + string(section(3, "\xff\xff\xff\xff\x0f")), wasmfile.ErrTruncated, ""},
		"number too long":     {header + string(section(3, "\x80\x80\x80\x80\x80\x01")), nil, "offset 15: a number is too large"},
		"number too large":    {header + string(section(3, "\xff\xff\xff\xff\x1f")), nil, "a number is too large"},
		"name not UTF-8":      {header + string(section(0, "\x01\xff")), nil, "not valid UTF-8"},
		"unknown value type":  {header + string(section(1, "\x01\x60\x01\x00\x00")), nil, "an unknown value type"},
		"type of an import":   {header + string(section(2, "\x01\x01a\x01b\x00\x00")), nil, "a type that is not there"},
		"kind of an import":   {header + string(section(2, "\x01\x01a\x01b\x09\x00")), nil, "an unknown kind"},
		"function to export":  {header + string(section(7, "\x01\x01f\x00\x00")), nil, "a function that is not there"},
		"type of no function": {header + string(section(1, "\x01\x5f\x00")), nil, "not that of a function"},
		"too many functions":  {header + string(section(10, "\xff\xff\xff\xff\x0f")), wasmfile.ErrTruncated, ""},
		"limits":              {header + string(section(5, "\x01\x08\x00")), nil, "unknown limits"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wasmfile.Read([]byte(c.file))
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			var malformed *wasmfile.FormatError
			require.ErrorAs(t, err, &malformed)
			require.ErrorContains(t, err, c.text)
		})
	}
}

func TestWithCustomReplaces(t *testing.T) {
	first, err := wasmfile.WithCustom(sample, "y", []byte("1"))
	require.NoError(t, err)
	second, err := wasmfile.WithCustom(first, "x", []byte("2"))
	require.NoError(t, err)
	outline, err := wasmfile.Read(second)
	require.NoError(t, err)
	require.Equal(t, []wasmfile.Custom{{Name: "y", Data: []byte("1")}, {Name: "x", Data: []byte("2")}}, outline.Customs)

	_, err = wasmfile.WithCustom([]byte("x"), "x", nil)
	require.ErrorIs(t, err, wasmfile.ErrNotWasm)
}

func TestReadAgreesWithTheCompiler(t *testing.T) {
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(t.Context())
	compiled, err := runtime.CompileModule(t.Context(), sample)
	require.NoError(t, err)
	outline, err := wasmfile.Read(sample)
	require.NoError(t, err)
	require.Equal(t, compiled.ImportedFunctions()[0].ParamTypes(), outline.Imports[0].Func.Params)
	require.Equal(t, compiled.ExportedFunctions()["f"].ParamTypes(), outline.Exports[1].Func.Params)
	require.EqualValues(t, compiled.ExportedMemories()["memory"].Min(), outline.Memories[0].Min)
}

// FuzzRead holds that nothing panics, and that a custom section can be added to
// whatever can be read.
func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Add(sample[:len(sample)-3])
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		before, err := wasmfile.Read(wasm)
		if err != nil {
			return
		}
		with, err := wasmfile.WithCustom(wasm, "added by the test", []byte("data"))
		require.NoError(t, err)
		after, err := wasmfile.Read(with)
		require.NoError(t, err)
		require.Equal(t, "data", string(after.Customs[len(after.Customs)-1].Data))
		require.Equal(t, before.Exports, after.Exports)
		require.Equal(t, before.Imports, after.Imports)
	})
}
