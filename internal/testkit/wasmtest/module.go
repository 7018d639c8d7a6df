// Package wasmtest writes small WebAssembly modules for tests, valid ones and ones with errors that
// no compiler would make.
package wasmtest

import (
	"encoding/binary"
	"strings"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Module is a module to write. Indexes are WebAssembly's: imports come first.
type Module struct {
	Types   []Type
	Imports []Import
	// Functions are the functions that the module defines.
	Functions []Function
	// Tables and Memories are encoded; see Limits.
	Tables, Memories []string
	Globals          []Global
	Exports          []Export
	// Start is 1 more than the index of the function that runs at the start, 0 for none.
	Start int
	// Elements are the indexes of functions that are in the first table from 0 on.
	Elements []uint32
	Data     []Data
	Customs  []Custom
}

// Type is the type of a function. Value types are written as their bytes.
type Type struct{ Params, Results string }

// Import is an imported function.
type Import struct {
	Module, Name string
	Type         int
}

// Function has local variables, a byte for each, and code without its end.
type Function struct {
	Type   int
	Locals string
	Code   string
}

// Global has a type, and an expression without its end.
type Global struct {
	Type    byte
	Mutable bool
	Init    string
}

// Kinds of exports.
const (
	KindFunction = 0
	KindTable    = 1
	KindMemory   = 2
	KindGlobal   = 3
)

// Export is one export.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Data is a data segment of the first memory, or a passive one.
type Data struct {
	Offset  int32
	Passive bool
	Content string
}

// Custom is a custom section at the end.
type Custom struct{ Name, Content string }

// Value types.
const (
	I32       = "\x7f"
	I64       = "\x7e"
	F32       = "\x7d"
	F64       = "\x7c"
	V128      = "\x7b"
	Funcref   = "\x70"
	Externref = "\x6f"
)

// Limits writes the limits of a table, whose type comes before, or of a memory.
func Limits(least uint32, most ...uint32) string {
	if len(most) == 0 {
		return "\x00" + Unsigned(uint64(least))
	}
	return "\x01" + Unsigned(uint64(least)) + Unsigned(uint64(most[0]))
}

// Encode writes the module.
func (m Module) Encode() []byte {
	out := "\x00asm\x01\x00\x00\x00"
	section := func(id byte, items []string) {
		if len(items) > 0 {
			out += Section(id, Unsigned(uint64(len(items)))+strings.Join(items, ""))
		}
	}
	section(1, each(m.Types, func(t Type) string { return "\x60" + Text(t.Params) + Text(t.Results) }))
	section(2, each(m.Imports, func(i Import) string {
		return Text(i.Module) + Text(i.Name) + "\x00" + Unsigned(uint64(i.Type))
	}))
	section(3, each(m.Functions, func(f Function) string { return Unsigned(uint64(f.Type)) }))
	section(4, m.Tables)
	section(5, m.Memories)
	section(6, each(m.Globals, func(g Global) string {
		mutable := "\x00"
		if g.Mutable {
			mutable = "\x01"
		}
		return string([]byte{g.Type}) + mutable + g.Init + End
	}))
	section(7, each(m.Exports, func(e Export) string {
		return Text(e.Name) + string([]byte{e.Kind}) + Unsigned(uint64(e.Index))
	}))
	if m.Start > 0 {
		out += Section(8, Unsigned(uint64(m.Start-1)))
	}
	if len(m.Elements) > 0 {
		indexes := each(m.Elements, func(i uint32) string { return Unsigned(uint64(i)) })
		section(9, []string{"\x00" + I32Const(0) + End + Unsigned(uint64(len(indexes))) + strings.Join(indexes, "")})
	}
	for _, d := range m.Data {
		if d.Passive { // code may name segments only where their number is known before
			out += Section(12, Unsigned(uint64(len(m.Data))))
			break
		}
	}
	section(10, each(m.Functions, func(f Function) string {
		locals := each([]byte(f.Locals), func(t byte) string { return "\x01" + string([]byte{t}) })
		return Text(Unsigned(uint64(len(locals))) + strings.Join(locals, "") + f.Code + End)
	}))
	section(11, each(m.Data, func(d Data) string {
		if d.Passive {
			return "\x01" + Text(d.Content)
		}
		return "\x00" + I32Const(d.Offset) + End + Text(d.Content)
	}))
	for _, c := range m.Customs {
		out += Section(0, Text(c.Name)+c.Content)
	}
	return []byte(out)
}

func each[T any](items []T, write func(T) string) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = write(item)
	}
	return out
}

// Section writes a section with its length.
func Section(id byte, content string) string { return string([]byte{id}) + Text(content) }

// Text writes a length and that many bytes.
func Text(s string) string { return Unsigned(uint64(len(s))) + s }

// Unsigned writes an unsigned number.
func Unsigned(v uint64) string { return string(binary.AppendUvarint(nil, v)) }

// Signed writes a signed number.
func Signed(v int64) string { return string(wasmfile.AppendSigned(nil, v)) }
