package wasmfile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// sample has one of everything.
func sample() Module {
	return Module{
		Types:   []Type{{Params: I64, Results: I32}, {}},
		Imports: []Import{{Module: "a", Name: "b", Type: 0}},
		Functions: []Function{
			{Type: 1, Locals: I32 + F64, Code: Loop + I32Const(-1) + BrIf(0) + End + I64Const(1<<62) + Call(0) + Drop},
			{Type: 1},
		},
		Tables:   []string{Funcref + Limits(2, 10)},
		Memories: []string{Limits(1, 2)},
		Globals:  []Global{{Type: I32[0], Mutable: true, Init: I32Const(7)}, {Type: Funcref[0], Init: RefFunc(2)}},
		Exports:  []Export{{Name: "memory", Kind: KindMemory}, {Name: "f", Kind: KindFunction, Index: 1}, {Name: "g", Kind: KindGlobal}},
		Start:    1 + 2,
		Elements: []uint32{1, 2},
		Data:     []Data{{Offset: 8, Content: "one"}, {Offset: 16, Content: "two"}},
		Customs:  []Custom{{Name: "x", Content: "data"}},
	}
}

func read(wasm []byte) (*wasmfile.Module, error) {
	return wasmfile.Read(wasm, wasmfile.DefaultLimits())
}

func TestReadTellsWhatTheModuleSays(t *testing.T) {
	m, err := read(sample().Encode())
	require.NoError(t, err)
	taken := wasmfile.FuncType{Params: []api.ValueType{api.ValueTypeI64}, Results: []api.ValueType{api.ValueTypeI32}}
	require.Equal(t, []wasmfile.FuncType{taken, {}}, m.Types)
	require.Equal(t, []wasmfile.Import{{Module: "a", Name: "b", Func: taken}}, m.Imports)
	require.Equal(t, []uint32{0, 1, 1}, m.Functions)
	require.Equal(t, 1, m.ImportedFunctions)
	require.Equal(t, []wasmfile.Export{
		{Name: "memory", Kind: api.ExternTypeMemory},
		{Name: "f", Kind: api.ExternTypeFunc},
		{Name: "g", Kind: api.ExternTypeGlobal},
	}, m.Exports)
	require.Equal(t, []wasmfile.Table{{Type: 0x70, Range: wasmfile.Range{Min: 2, Max: 10, HasMax: true}}}, m.Tables)
	require.Equal(t, []wasmfile.Range{{Min: 1, Max: 2, HasMax: true}}, m.Memories)
	require.Equal(t, []wasmfile.Global{{Type: api.ValueTypeI32, Mutable: true}, {Type: 0x70}}, m.Globals)
	require.Equal(t, []wasmfile.Custom{{Name: "x", Data: []byte("data")}}, m.Customs)
	require.True(t, m.HasStart)
	require.Equal(t, []wasmfile.Segment{
		{Known: true, Offset: 8, Data: []byte("one")}, {Known: true, Offset: 16, Data: []byte("two")},
	}, m.Segments)
	var indexes []uint32
	for _, ref := range m.FuncRefs {
		indexes = append(indexes, ref.Index)
	}
	require.Equal(t, []uint32{2, 1, 2, 1, 2}, indexes, "in a global, an export, the start, and elements")

	var ops []wasmfile.Opcode
	code := m.Code(0)
	var in wasmfile.Instruction
	for code.Next(&in) {
		ops = append(ops, in.Op)
	}
	require.Equal(t, []wasmfile.Opcode{
		wasmfile.OpLoop, wasmfile.OpI32Const, wasmfile.OpBrIf, wasmfile.OpEnd, wasmfile.OpI64Const, wasmfile.OpCall, 0x1a, wasmfile.OpEnd,
	}, ops)
	require.Equal(t, 2, m.Bodies[0].Locals)
}

const header = "\x00asm\x01\x00\x00\x00"

// inCode is a module with a function of the code, which may be anything.
func inCode(code string) string {
	return string(Module{Types: []Type{{}}, Functions: []Function{{Code: code}}}.Encode())
}

func TestReadTellsWhyAFileIsNoModule(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want error
		text string
	}{
		"empty":                   {"", wasmfile.ErrNotWasm, ""},
		"text":                    {"#!/bin/sh\n", wasmfile.ErrNotWasm, ""},
		"header cut off":          {"\x00asm\x01", wasmfile.ErrTruncated, ""},
		"component":               {"\x00asm\x0d\x00\x01\x00", wasmfile.ErrComponent, ""},
		"other version":           {"\x00asm\x02\x00\x00\x00", wasmfile.ErrVersion, ""},
		"section cut off":         {header + "\x01\x05\x00", wasmfile.ErrTruncated, ""},
		"vector cut off":          {header + Section(3, "\x7f"), wasmfile.ErrTruncated, ""},
		"number too long":         {header + Section(3, "\x80\x80\x80\x80\x80\x01"), nil, "offset 15: a number is too large"},
		"number too large":        {header + Section(3, "\xff\xff\xff\xff\x1f"), nil, "a number is too large"},
		"constant too long":       {inCode("\x41\x80\x80\x80\x80\x80\x00" + Drop), nil, "a number is too large"},
		"constant too large":      {inCode("\x41\xff\xff\xff\xff\x4f" + Drop), nil, "a number is too large"},
		"name not UTF-8":          {header + Section(0, "\x01\xff"), nil, "not valid UTF-8"},
		"unknown value type":      {header + Section(1, "\x01\x60\x01\x00\x00"), nil, "an unknown value type"},
		"type of an import":       {header + Section(2, "\x01\x01a\x01b\x00\x00"), nil, "there is no type 0"},
		"kind of an import":       {header + Section(2, "\x01\x01a\x01b\x09\x00"), nil, "an unknown kind"},
		"function to export":      {header + Section(7, "\x01\x01f\x00\x00"), nil, "there is no function 0"},
		"type of no function":     {header + Section(1, "\x01\x30\x00"), nil, "not a function type"},
		"limits":                  {header + Section(5, "\x01\x10\x00"), nil, "unknown limits"},
		"memory too large":        {header + Section(5, "\x01"+Limits(0, 65537)), nil, "a memory of more than 4 GiB"},
		"unknown section":         {header + Section(15, ""), nil, "an unknown section"},
		"sections out of order":   {header + Section(3, "\x00") + Section(1, "\x00"), nil, "not in its place"},
		"section twice":           {header + Section(1, "\x00") + Section(1, "\x00"), nil, "there twice"},
		"section too long":        {header + Section(1, "\x00\x00"), nil, "a section goes on after its end"},
		"function without code":   {header + Section(1, "\x01\x60\x00\x00") + Section(3, "\x01\x00"), nil, "functions without code"},
		"code without a function": {header + Section(10, "\x01\x02\x00\x0b"), nil, "code without a function"},
		"function cut off":        {inCode(Block), wasmfile.ErrTruncated, ""},
		"function goes on":        {inCode(End + Nop), nil, "a function goes on after its end"},
		"no constant":             {header + Section(6, "\x01\x7f\x00\x45\x0b"), nil, "an expression that is not constant"},
		"too much of a constant":  {header + Section(6, "\x01\x7f\x00\x41\x00\x01\x0b"), nil, "an expression that is not constant"},
		"mutability":              {header + Section(6, "\x01\x7f\x02\x41\x00\x0b"), nil, "neither constant nor variable"},
		"number of segments":      {header + Section(12, "\x01"), nil, "another number of data segments"},
		"form of a segment":       {header + Section(11, "\x01\x03"), nil, "an unknown form of a data segment"},
		"form of elements":        {header + Section(9, "\x01\x08"), nil, "an unknown form of an element segment"},
		"second names":            {header + Section(0, "\x04name") + Section(0, "\x04name"), nil, "a second name section"},
		"count of names":          {header + Section(0, "\x04name\x01\x05\xff\xff\xff\xff\x0f"), wasmfile.ErrTruncated, ""},
		"length of names":         {header + Section(0, "\x04name\x00\x03\x01a\x00"), nil, "names go on after their end"},
		"vector opcode":           {inCode("\xfd\x8c\x00"), nil, "an opcode is not in its shortest form"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read([]byte(c.file))
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

func TestReadRefusesWhatIsNotInWebAssembly2(t *testing.T) {
	of := func(form string) string { return header + Section(1, "\x01"+form) }
	param := func(valueType string) string { return of("\x60\x01" + valueType + "\x00") }
	limited := func(limits string) string { return header + Section(5, "\x01"+limits) }
	number := func(expression string) string { return header + Section(6, "\x01\x7f\x00"+expression) }
	for proposal, files := range map[string]map[string]string{
		"tail-call":          {"return_call": inCode("\x12\x00"), "return_call_indirect": inCode("\x13\x00\x00")},
		"exception-handling": {"try": inCode("\x06\x40"), "try_table": inCode("\x1f\x40"), "throw_ref": inCode("\x0a"), "tag section": header + Section(13, "\x00"), "exnref": param("\x69"), "tag import": header + Section(2, "\x01\x01a\x01b\x04\x00\x00"), "tag export": header + Section(7, "\x01\x01a\x04\x00")},
		"function-references": {"call_ref": inCode("\x14\x00"), "ref.as_non_null": inCode("\xd4"), "br_on_non_null": inCode("\xd6\x00"), "reference type": param("\x64\x00"), "nullable": param("\x63\x70"), "ref.null of a type": inCode("\xd0\x00" + Drop),
			"table with a value": header + Section(4, "\x01\x40\x00"+Funcref+Limits(1)+RefNull+End)},
		"gc": {"struct type": of("\x5f\x00"), "recursive types": of("\x4e\x00"), "subtype": of("\x50\x00"), "struct.new": inCode("\xfb\x00\x00"), "ref.eq": inCode("\xd3"), "anyref": param("\x6e"), "reference to any": param("\x63\x6e"),
			"block of eqref": inCode("\x02\x6d" + Unreachable + End + Drop), "table of i31ref": header + Section(4, "\x01\x6c"+Limits(1)), "ref.i31 in a constant": number(I32Const(1) + "\xfb\x1c" + End), "another global": header + Section(6, "\x02\x7f\x00"+I32Const(1)+End+"\x7f\x00"+GlobalGet(0)+End)},
		"stringref":                 {"string.const": inCode("\xfb\x82\x01\x00"), "stringref": param("\x67"), "string section": header + Section(14, "\x00")},
		"custom-descriptors":        {"descriptor": of("\x4d\x00")},
		"stack-switching":           {"suspend": inCode("\xe2\x00"), "cont type": of("\x5d\x00"), "contref": param("\x68")},
		"threads":                   {"atomic": inCode("\xfe\x03\x00"), "shared memory": limited("\x03\x01\x01")},
		"shared-everything-threads": {"global.atomic.get": inCode("\xfe\x4f\x00\x00"), "shared type": of("\x65\x5f\x00")},
		"memory64":                  {"memory": limited("\x04\x01"), "table": header + Section(4, "\x01"+Funcref+"\x04\x01")},
		"multi-memory": {"access": inCode(I32Const(0) + "\x28\x42\x01\x00" + Drop), "growing": inCode(I32Const(0) + "\x40\x01" + Drop), "copying": inCode(I32Const(0) + I32Const(0) + I32Const(0) + "\xfc\x0a\x00\x01"),
			"two memories": header + Section(5, "\x02"+Limits(1)+Limits(1)), "one more than the imported": header + Section(2, "\x01\x01a\x01b\x02"+Limits(1)) + Section(5, "\x01"+Limits(1)),
			"data of the second": header + Section(5, "\x01"+Limits(1)) + Section(11, "\x01\x02\x01"+I32Const(0)+End+"\x00")},
		"custom-page-sizes":      {"memory": limited("\x08\x01\x00")},
		"relaxed-simd":           {"i8x16.relaxed_swizzle": inCode("\xfd\x80\x02")},
		"half-precision":         {"f16x8.splat": inCode("\xfd\xa0\x02"), "f32.load_f16": inCode("\xfc\x30\x01\x00")},
		"wide-arithmetic":        {"i64.add128": inCode("\xfc\x13")},
		"memory-control":         {"memory.discard": inCode("\xfc\x12\x00")},
		"extended-const":         {"global": number(I32Const(0) + I32Const(0) + I32Add + End), "segment": header + Section(5, "\x01"+Limits(1)) + Section(11, "\x01\x00"+I32Const(1)+I32Const(2)+I32Mul+End+"\x00")},
		"compact-import-section": {"group": header + Section(2, "\x01\x01a\x00\x7f\x01\x01b\x00\x00")},
		"":                       {"gap in the vectors": inCode("\xfd\x9a\x01"), "unknown misc": inCode("\xfc\x17"), "unknown opcode": inCode("\x27")},
	} {
		for name, file := range files {
			t.Run(proposal+", "+name, func(t *testing.T) {
				_, err := read([]byte(file))
				var unsupported *wasmfile.UnsupportedError
				require.ErrorAs(t, err, &unsupported)
				require.Equal(t, proposal, unsupported.Proposal)
				require.NotEmpty(t, unsupported.What)
				require.Equal(t, proposal == "", unsupported.Instead == "")
				require.ErrorContains(t, err, "which is not supported: ")
			})
		}
	}
	_, err := read([]byte(inCode(I32Const(0) + I32Load + Drop)))
	require.NoError(t, err)
	_, err = read([]byte(number(I32Const(0) + I32Const(0) + I32Add + End)))
	require.EqualError(t, err, "the module uses constants that are computed (the WebAssembly proposal extended-const) at offset 15, which is not supported: "+
		"build it with -mno-extended-const (clang, Emscripten) or -C target-feature=-extended-const (Rust)")
	_, err = read([]byte(inCode("\xfd\x9a\x01")))
	require.ErrorContains(t, err, "the module uses the unknown opcode 0xfd 0x9a at offset")
}

func TestReadCapsEveryCount(t *testing.T) {
	three := wasmfile.Limits{
		Types: 3, Values: 3, Imports: 3, Exports: 3, Functions: 3, Tables: 3, Globals: 3, TableElements: 3,
		Segments: 3, Customs: 3, Name: 3, Names: 3, Body: 40, Locals: 3, Nesting: 3, Branches: 40, Loops: 3, Targets: 3, Merges: 40,
	}
	items := func(id byte, item string) string { return header + Section(id, "\x04"+strings.Repeat(item, 4)) }
	for name, c := range map[string]struct {
		file string
		what string
	}{
		"types":              {items(1, "\x60\x00\x00"), "types"},
		"parameters":         {header + Section(1, "\x01\x60\x04\x7f\x7f\x7f\x7f\x00"), "parameters or results of one function"},
		"imports":            {items(2, "\x00\x00\x03\x7f\x00"), "imports"},
		"functions":          {header + Section(1, "\x01\x60\x00\x00") + Section(3, "\x04\x00\x00\x00\x00"), "functions"},
		"tables":             {items(4, Funcref+Limits(0)), "tables"},
		"elements":           {header + Section(4, "\x02"+Funcref+Limits(2)+Funcref+Limits(2)), "elements in its tables"},
		"globals":            {items(6, "\x7f\x00\x41\x00\x0b"), "global variables"},
		"exports":            {items(7, ""), "exports"},
		"element segments":   {items(9, ""), "element segments"},
		"data segments":      {items(11, ""), "data segments"},
		"announced ones":     {header + Section(12, "\x04"), "data segments"},
		"an element segment": {header + Section(4, "\x01"+Funcref+Limits(1)) + Section(9, "\x01\x00\x41\x00\x0b\x04\x00\x00\x00\x00"), "elements in one segment"},
		"custom sections":    {header + strings.Repeat(Section(0, "\x01x"), 4), "custom sections"},
		"a name":             {header + Section(0, "\x04abcd"), "bytes in one name"},
		"names":              {header + Section(0, "\x04name\x01\x09\x04\x00\x00\x00\x00\x00\x00\x00\x00"), "names"},
		"code":               {inCode(strings.Repeat(Nop, 2)), "bytes of code in one function"},
		"locals":             {header + Section(1, "\x01\x60\x00\x00") + Section(3, "\x01\x00") + Section(10, "\x01\x04\x01\x04\x7f\x0b"), "local variables in one function"},
		"blocks":             {inCode(strings.Repeat(Block, 4) + strings.Repeat(End, 4)), "blocks inside of each other"},
		"labels":             {inCode(I32Const(0) + "\x0e\x04\x00\x00\x00\x00\x00"), "labels of jumps in one function"},
		"labels of two":      {inCode(strings.Repeat(I32Const(0)+"\x0e\x02\x00\x00\x00", 2)), "labels of jumps in one function"},
		"loops":              {inCode(strings.Repeat(Loop+End, 4)), "loops in one function"},
		"branches":           {inCode(Block + Br(0) + I32Const(0) + BrIf(0) + End + I32Const(0) + If + End), "blocks and branches in one function"},
		"merges":             {header + Section(1, "\x01\x60\x01\x7f\x00") + Section(3, "\x01\x00") + Section(10, "\x01\x0a\x01\x01\x7f"+strings.Repeat(Block+End, 2)+End), "branches times variables in one function"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := three
			switch name {
			case "merges":
				limits.Merges = 3
			case "branches":
				limits.Branches = 3
			case "code":
				limits.Body = 3
			case "names":
				limits.Name = 4
			}
			_, err := wasmfile.Read([]byte(c.file), limits)
			var limit *wasmfile.LimitError
			require.ErrorAs(t, err, &limit)
			require.Equal(t, &wasmfile.LimitError{What: c.what, Count: 4, Limit: 3}, limit)
			_, known := reflect.TypeFor[wasmfile.Limits]().FieldByName(limit.Field())
			require.True(t, known, "the limit has a name")
		})
	}
}

func TestInsertFunctionMovesNames(t *testing.T) {
	subsection := func(id byte, content string) string { return Section(id, content) }
	before := subsection(0, Text("m")) +
		subsection(1, "\x02\x00"+Text("a")+"\x01"+Text("b")) +
		subsection(2, "\x01\x01\x01\x00"+Text("x")) +
		subsection(9, "\x01\x00"+Text("data")) +
		subsection(7, "\x01\x00"+Text("g"))
	after, err := wasmfile.InsertFunction([]byte(before), wasmfile.NamedFunction{Index: 1, Name: "new"}, wasmfile.NamedFunction{Index: 3, Name: "last"})
	require.NoError(t, err)
	require.Equal(t, subsection(0, Text("m"))+
		subsection(1, "\x04\x00"+Text("a")+"\x01"+Text("new")+"\x02"+Text("b")+"\x03"+Text("last"))+
		subsection(2, "\x01\x02\x01\x00"+Text("x"))+
		subsection(7, "\x01\x00"+Text("g")), string(after))
}

func TestWithCustomReplaces(t *testing.T) {
	first, err := wasmfile.WithCustom(sample().Encode(), "y", []byte("1"))
	require.NoError(t, err)
	second, err := wasmfile.WithCustom(first, "x", []byte("2"))
	require.NoError(t, err)
	module, err := read(second)
	require.NoError(t, err)
	require.Equal(t, []wasmfile.Custom{{Name: "y", Data: []byte("1")}, {Name: "x", Data: []byte("2")}}, module.Customs)

	_, err = wasmfile.WithCustom([]byte("x"), "x", nil)
	require.ErrorIs(t, err, wasmfile.ErrNotWasm)
}

func TestReadAgreesWithTheCompiler(t *testing.T) {
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(t.Context())
	wasm := sample().Encode()
	compiled, err := runtime.CompileModule(t.Context(), wasm)
	require.NoError(t, err)
	module, err := read(wasm)
	require.NoError(t, err)
	require.Equal(t, compiled.ImportedFunctions()[0].ParamTypes(), module.Imports[0].Func.Params)
	require.Equal(t, compiled.ExportedFunctions()["f"].ParamTypes(), module.Exports[1].Func.Params)
	require.EqualValues(t, compiled.ExportedMemories()["memory"].Min(), module.Memories[0].Min)
}

// FuzzRead holds that nothing panics, and that a custom section can be added to
// whatever can be read.
func FuzzRead(f *testing.F) {
	wasm := sample().Encode()
	f.Add(wasm)
	f.Add(wasm[:len(wasm)-3])
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		before, err := read(wasm)
		if err != nil || len(before.Customs) == wasmfile.DefaultLimits().Customs {
			return
		}
		with, err := wasmfile.WithCustom(wasm, "added by the test", []byte("data"))
		require.NoError(t, err)
		after, err := read(with)
		require.NoError(t, err)
		require.Equal(t, "data", string(after.Customs[len(after.Customs)-1].Data))
		require.Equal(t, before.Exports, after.Exports)
		require.Equal(t, before.Imports, after.Imports)
	})
}

func TestHollowKeepsAllButTheCode(t *testing.T) {
	whole := sample().Encode()
	hollow, err := wasmfile.Hollow(whole, "whole", []byte("sum"))
	require.NoError(t, err)
	before, err := read(whole)
	require.NoError(t, err)
	after, err := read(hollow)
	require.NoError(t, err)
	require.Equal(t, before.Types, after.Types)
	require.Equal(t, before.Functions, after.Functions)
	require.Equal(t, before.Exports, after.Exports)
	require.Equal(t, before.Globals, after.Globals)
	require.Equal(t, before.Start, after.Start)
	require.Contains(t, after.Customs, wasmfile.Custom{Name: "whole", Data: []byte("sum")})
	require.Len(t, after.Bodies, len(before.Bodies))
	for _, body := range after.Bodies {
		require.Equal(t, "\x00\x0b", string(after.Bytes(body.Code, body.End)))
	}
	runtime := wazero.NewRuntime(t.Context())
	defer runtime.Close(t.Context())
	_, err = runtime.CompileModule(t.Context(), hollow)
	require.NoError(t, err)
	_, err = wasmfile.Hollow(whole[:len(whole)-1], "", nil)
	require.ErrorIs(t, err, wasmfile.ErrTruncated)
}
