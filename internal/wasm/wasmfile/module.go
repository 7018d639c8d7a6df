// Package wasmfile reads core WebAssembly modules: the binary format of WebAssembly 2.0, within
// limits, every section and every instruction. The host thereby refuses a module in milliseconds and
// with a clear reason, before the compiler checks types. The packages that rewrite modules use the
// same decoder. Nothing is compiled or run here.
//
// A module that was read is in order, complete, and within the file. Every index of a type,
// function, or global names one that exists.
//
// See https://webassembly.github.io/spec/core/binary/modules.html.
package wasmfile

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/base/sorted"
)

// Errors for files that are not core modules.
var (
	ErrNotWasm   = errors.New("not a WebAssembly module")
	ErrComponent = errors.New("a WebAssembly component, not a core module: build it with husk provider build or for wasm32-wasip1, as wasm32-wasip2, jco, and componentize-py make components")
	ErrVersion   = errors.New("a WebAssembly module of an unknown version of the binary format")
)

// FuncType is the type of a function.
type FuncType struct {
	Params, Results []api.ValueType
}

// Import is something that the module needs.
type Import struct {
	Module, Name string
	Kind         api.ExternType
	// Func is the type of an imported function.
	Func FuncType
}

// Export is something that the module offers.
type Export struct {
	Name string
	Kind api.ExternType
	// Func is the type of an exported function.
	Func FuncType
}

// Range is the limits of a memory in pages of 64 KiB, or of a table in elements.
type Range struct {
	Min, Max uint32
	HasMax   bool
}

// Table is a table that the module defines.
type Table struct {
	Type api.ValueType
	Range
}

// Global is a global variable.
type Global struct {
	Type    api.ValueType
	Mutable bool
}

// Custom is a custom section.
type Custom struct {
	Name string
	Data []byte
}

// Section is the place of a section in the file.
type Section struct {
	ID byte
	// Start is the begin of the section, and Items the begin of its content, behind any count.
	Start, Items, End int
	Count             int
	// Custom is the index of a custom section in Module.Customs.
	Custom int
}

// Body is the place of a function: local variables from Start, instructions from Code to End.
type Body struct {
	Start, Code, End int
	// Locals is the number of local variables, without parameters.
	Locals int
}

// FuncRef is the place of the index of a function outside of code.
type FuncRef struct {
	Start, End int
	Index      uint32
}

// Segment is a data segment.
type Segment struct {
	// Known is set if the segment is copied to Offset of the first memory at the start.
	Known  bool
	Offset uint32
	Data   []byte
}

// Module is the content of a file. Indexes of functions and globals count imports first.
type Module struct {
	Types   []FuncType
	Imports []Import
	Exports []Export
	// Functions are the types of all functions, Globals all globals.
	Functions []uint32
	Globals   []Global
	// ImportedFunctions and ImportedGlobals count the imported ones.
	ImportedFunctions, ImportedGlobals int
	// Tables and Memories are the ones that the module defines.
	Tables   []Table
	Memories []Range
	Customs  []Custom
	Segments []Segment
	// UsesSegments is set if code names data segments.
	UsesSegments bool
	// ChangesTables is set if code changes tables or names their segments.
	ChangesTables bool
	// Start is the function that runs at the start, if HasStart is set.
	HasStart bool
	Start    uint32

	Sections []Section
	Bodies   []Body
	FuncRefs []FuncRef

	wasm   []byte
	limits Limits
	named  bool
	// memories counts imported memories, too.
	memories int
	// announced is the number of data segments in the data count section, nil without one.
	announced *int
}

// SectionName names a section by its identifier.
func SectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count"}
	if int(id) >= len(names) {
		return "unknown"
	}
	return names[id]
}

// Section identifiers.
const (
	SectionCustom    = 0
	SectionType      = 1
	SectionImport    = 2
	SectionFunction  = 3
	SectionTable     = 4
	SectionMemory    = 5
	SectionGlobal    = 6
	SectionExport    = 7
	SectionStart     = 8
	SectionElement   = 9
	SectionCode      = 10
	SectionData      = 11
	SectionDataCount = 12
	sectionTag       = 13
	sectionStrings   = 14
)

// Order returns the place of a section among the others. Custom sections may be anywhere.
func Order(id byte) int {
	switch {
	case id == SectionDataCount:
		return 2*SectionCode - 1
	default:
		return 2 * int(id)
	}
}

// SectionsWith returns the module's sections, with an empty one for each needed one it lacks.
func (m *Module) SectionsWith(needed ...byte) []Section {
	sorted.By(needed, func(a, b byte) int { return cmp.Compare(Order(a), Order(b)) })
	var out []Section
	for _, s := range m.Sections {
		for s.ID != SectionCustom && len(needed) > 0 && Order(needed[0]) <= Order(s.ID) {
			if needed[0] != s.ID {
				out = append(out, Section{ID: needed[0]})
			}
			needed = needed[1:]
		}
		out = append(out, s)
	}
	for _, id := range needed {
		out = append(out, Section{ID: id})
	}
	return out
}

var (
	magic = []byte{0, 'a', 's', 'm'}
	// The header's second half is a version and a layer: 1 and 0 for a module.
	moduleHeader    = []byte{1, 0, 0, 0}
	componentLayers = []byte{1, 0}
)

// HeaderSize is the length of magic number and version in bytes.
const HeaderSize = 8

func checkHeader(wasm []byte) error {
	if len(wasm) < HeaderSize {
		if len(wasm) > 0 && bytes.HasPrefix(magic, wasm[:min(len(wasm), len(magic))]) {
			return ErrTruncated
		}
		return ErrNotWasm
	}
	switch {
	case !bytes.Equal(wasm[:4], magic):
		return ErrNotWasm
	case bytes.Equal(wasm[4:HeaderSize], moduleHeader):
		return nil
	case bytes.Equal(wasm[6:HeaderSize], componentLayers):
		return ErrComponent
	}
	return ErrVersion
}

// sections calls do for each section with its identifier, start, and content.
func sections(wasm []byte, do func(id byte, start int, content *reader)) error {
	if err := checkHeader(wasm); err != nil {
		return err
	}
	r := reader{data: wasm, at: HeaderSize}
	for r.err == nil && r.left() > 0 {
		start := r.at
		id := r.byte()
		size := r.u32()
		base := r.at
		content := reader{data: r.bytes(size), base: base, err: r.err}
		if r.err != nil {
			break
		}
		do(id, start, &content)
		if content.err != nil {
			return content.err
		}
	}
	return r.err
}

// Size is the length of the file in bytes.
func (m *Module) Size() int { return len(m.wasm) }

// Bytes is a part of the file.
func (m *Module) Bytes(start, end int) []byte { return m.wasm[start:end] }

// Read reads a module. Errors are ErrNotWasm, ErrComponent, ErrVersion, ErrTruncated, *FormatError, *LimitError, and
// *UnsupportedError, with the parts read until then. The module shares the bytes of the file.
func Read(wasm []byte, limits Limits) (*Module, error) {
	m := &Module{wasm: wasm, limits: limits}
	last := 0
	err := sections(wasm, func(id byte, start int, r *reader) {
		if id != SectionCustom {
			order := Order(id)
			if id < sectionTag && order <= last {
				r.fail("a section is not in its place, or there twice")
			}
			last = order
		}
		s := Section{ID: id, Start: start, Items: r.base, End: r.base + len(r.data)}
		m.section(&s, r)
		if r.err == nil && r.left() > 0 {
			r.fail("a section goes on after its end")
		}
		m.Sections = append(m.Sections, s)
	})
	switch {
	case err != nil:
	case len(m.Bodies) != len(m.Functions)-m.ImportedFunctions:
		err = &FormatError{Offset: len(wasm), What: "functions without code"}
	case m.announced != nil && *m.announced != len(m.Segments):
		err = &FormatError{Offset: len(wasm), What: "another number of data segments than was announced"}
	}
	return m, err
}
