// Package wasmfile reads the outline of a core WebAssembly module, without compiling
// or running any of it: what it imports and exports, and its custom sections. It is
// how package host refuses a module in a millisecond and with a clear reason, before
// the compiler, which validates all the rest, sees it.
//
// See https://webassembly.github.io/spec/core/binary/modules.html.
package wasmfile

import (
	"bytes"
	"errors"

	"github.com/tetratelabs/wazero/api"
)

// Errors for files that are no core module.
var (
	ErrNotWasm   = errors.New("not a WebAssembly module")
	ErrComponent = errors.New("a WebAssembly component, not a core module")
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

// Memory is a memory of the module, in pages of 64 KiB.
type Memory struct {
	Min, Max uint64
	HasMax   bool
}

// Custom is a custom section.
type Custom struct {
	Name string
	Data []byte
}

// Outline is what the file says of itself.
type Outline struct {
	Imports []Import
	Exports []Export
	// Memories are those that the module defines; an imported one is among Imports.
	Memories []Memory
	Customs  []Custom
}

const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionGlobal   = 6
	sectionExport   = 7
	sectionElement  = 9
	sectionCode     = 10
	sectionData     = 11
	sectionTag      = 13
)

var (
	magic = []byte{0, 'a', 's', 'm'}
	// The header's second half is a version and a layer: 1 and 0 for a module.
	moduleHeader    = []byte{1, 0, 0, 0}
	componentLayers = []byte{1, 0}
)

// headerSize is the length of magic number and version in bytes.
const headerSize = 8

func checkHeader(wasm []byte) error {
	if len(wasm) < headerSize {
		if len(wasm) > 0 && bytes.HasPrefix(magic, wasm[:min(len(wasm), len(magic))]) {
			return ErrTruncated
		}
		return ErrNotWasm
	}
	switch {
	case !bytes.Equal(wasm[:4], magic):
		return ErrNotWasm
	case bytes.Equal(wasm[4:headerSize], moduleHeader):
		return nil
	case bytes.Equal(wasm[6:headerSize], componentLayers):
		return ErrComponent
	}
	return ErrVersion
}

// sections calls do for each section with its identifier and content. The reader's
// base is the content's offset in the file.
func sections(wasm []byte, do func(id byte, start int, content *reader)) error {
	if err := checkHeader(wasm); err != nil {
		return err
	}
	r := reader{data: wasm, at: headerSize}
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

// Read reads the outline. Errors are ErrNotWasm, ErrComponent, ErrVersion,
// ErrTruncated, and *FormatError. Custom sections are views of the file.
func Read(wasm []byte) (*Outline, error) {
	p := parser{}
	err := sections(wasm, func(id byte, _ int, r *reader) {
		switch id {
		case sectionCustom:
			name := r.name()
			if r.err == nil {
				p.outline.Customs = append(p.outline.Customs, Custom{name, r.data[r.at:]})
			}
		case sectionType:
			p.types(r)
		case sectionImport:
			p.imports(r)
		case sectionFunction:
			for range r.count() {
				p.function(r)
			}
		case sectionMemory:
			for range r.count() {
				p.outline.Memories = append(p.outline.Memories, memory(r))
			}
		case sectionExport:
			p.exports(r)
		case sectionTable, sectionGlobal, sectionElement, sectionCode, sectionData, sectionTag:
			r.count() // or the compiler would allocate as much as it says
		}
	})
	if err != nil {
		return nil, err
	}
	return &p.outline, nil
}

// parser collects the outline. Sections come in the order of their identifiers, which
// the compiler enforces; a module out of order only finds fewer types here.
type parser struct {
	outline   Outline
	funcTypes []FuncType
	functions []FuncType
}

// Forms of types.
const (
	formFunc   = 0x60
	valueV128  = 0x7b
	kindTag    = 4
	limitMax   = 1 << 0
	limitShare = 1 << 1
	limit64    = 1 << 2
)

func (p *parser) types(r *reader) {
	for range r.count() {
		if form := r.byte(); form != formFunc {
			r.fail("a type is not that of a function")
			return
		}
		t := FuncType{Params: valueTypes(r)}
		t.Results = valueTypes(r)
		p.funcTypes = append(p.funcTypes, t)
	}
}

func valueTypes(r *reader) []api.ValueType {
	view := r.bytes(r.u32())
	for _, t := range view {
		switch t {
		case api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64,
			api.ValueTypeExternref, valueFuncref, valueV128:
		default:
			r.fail("an unknown value type")
			return nil
		}
	}
	return append([]api.ValueType(nil), view...)
}

const valueFuncref = 0x70

// function reads a type index and adds a function of that type.
func (p *parser) function(r *reader) FuncType {
	index := r.u32()
	if r.err == nil && int(index) >= len(p.funcTypes) {
		r.fail("a function of a type that is not there")
	}
	if r.err != nil {
		return FuncType{}
	}
	p.functions = append(p.functions, p.funcTypes[index])
	return p.funcTypes[index]
}

func (p *parser) imports(r *reader) {
	for range r.count() {
		i := Import{Module: r.name()}
		i.Name = r.name()
		i.Kind = r.byte()
		switch i.Kind {
		case api.ExternTypeFunc:
			i.Func = p.function(r)
		case api.ExternTypeTable:
			r.byte()
			memory(r)
		case api.ExternTypeMemory:
			memory(r)
		case api.ExternTypeGlobal:
			r.bytes(2)
		case kindTag:
			r.byte()
			r.u32()
		default:
			r.fail("an import of an unknown kind")
		}
		if r.err != nil {
			return
		}
		p.outline.Imports = append(p.outline.Imports, i)
	}
}

// memory reads the limits of a memory or table.
func memory(r *reader) Memory {
	flags := r.byte()
	if flags&^(limitMax|limitShare|limit64) != 0 {
		r.fail("unknown limits")
		return Memory{}
	}
	bits := 32
	if flags&limit64 != 0 {
		bits = 64
	}
	m := Memory{Min: r.unsigned(bits)}
	if m.HasMax = flags&limitMax != 0; m.HasMax {
		m.Max = r.unsigned(bits)
	}
	return m
}

func (p *parser) exports(r *reader) {
	for range r.count() {
		e := Export{Name: r.name()}
		e.Kind = r.byte()
		index := r.u32()
		if e.Kind == api.ExternTypeFunc && r.err == nil {
			if int(index) >= len(p.functions) {
				r.fail("an export of a function that is not there")
				return
			}
			e.Func = p.functions[index]
		}
		if r.err != nil {
			return
		}
		p.outline.Exports = append(p.outline.Exports, e)
	}
}
