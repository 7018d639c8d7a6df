package wasmfile

import (
	"math"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
)

func (m *Module) section(s *Section, r *reader) {
	items := func(what string, limit int, each func(i int)) {
		s.Count = r.countOf(what, limit)
		s.Items = r.offset()
		for i := 0; i < s.Count && r.err == nil; i++ {
			each(i)
		}
	}
	limits := m.limits
	switch s.ID {
	case SectionCustom:
		r.limit("custom sections", uint64(len(m.Customs)+1), limits.Customs)
		name := m.name(r)
		if name == NameSection {
			if m.named {
				r.fail("a second name section")
			}
			m.named = true
			names := *r
			r.err = names.names(&nameEdit{limit: limits.Names})
		}
		s.Items = r.offset()
		s.Custom = len(m.Customs)
		if r.err == nil {
			m.Customs = append(m.Customs, Custom{name, r.bytes(uint32(r.left()))})
		}
	case SectionType:
		items("types", limits.Types, func(int) { m.functionType(r) })
	case SectionImport:
		items("imports", limits.Imports, func(int) { m.importEntry(r) })
	case SectionFunction:
		items("functions", limits.Functions, func(int) { m.addFunction(r) })
	case SectionTable:
		items("tables", limits.Tables, func(int) { m.table(r) })
		elements := uint64(0)
		for _, t := range m.Tables {
			elements += uint64(t.Min)
		}
		r.limit("elements in its tables", elements, limits.TableElements)
	case SectionMemory:
		items("memories", math.MaxInt32, func(int) { m.Memories = append(m.Memories, m.memory(r)) })
	case SectionGlobal:
		items("global variables", limits.Globals, func(int) {
			g := r.globalType()
			r.constant(m)
			m.Globals = append(m.Globals, g)
		})
	case SectionExport:
		items("exports", limits.Exports, func(int) { m.export(r) })
	case SectionStart:
		m.HasStart, m.Start = true, m.funcRef(r)
	case SectionElement:
		items("element segments", limits.Segments, func(int) { m.element(r) })
	case SectionDataCount:
		n := r.number("data segments", limits.Segments)
		m.announced = &n
	case SectionCode:
		functions := len(m.Functions) - m.ImportedFunctions
		items("functions", limits.Functions, func(i int) {
			if i >= functions {
				r.fail("code without a function")
				return
			}
			m.Bodies = append(m.Bodies, r.body(m))
		})
	case SectionData:
		items("data segments", limits.Segments, func(int) {
			if m.Segments == nil {
				m.Segments = make([]Segment, 0, s.Count)
			}
			m.segment(r)
		})
	case sectionTag:
		r.refuse(exceptions)
	case sectionStrings:
		r.refuse(strings)
	default:
		r.fail("an unknown section")
	}
}

// name reads a name that is bounded.
func (m *Module) name(r *reader) string {
	size := r.u32()
	if !r.limit("bytes in one name", uint64(size), m.limits.Name) {
		return ""
	}
	s := r.bytes(size)
	if !utf8.Valid(s) {
		r.fail("a name is not valid UTF-8")
	}
	return string(s)
}

func (m *Module) functionType(r *reader) {
	if form := r.byte(); r.err == nil && form != formFunc {
		r.at--
		if p, known := ofForm(form); known {
			r.refuse(p)
		}
		r.fail("a type is not a function type")
		return
	}
	t := FuncType{Params: m.valueTypes(r)}
	t.Results = m.valueTypes(r)
	m.Types = append(m.Types, t)
}

func (m *Module) valueTypes(r *reader) []api.ValueType {
	n := r.countOf("parameters or results of one function", m.limits.Values)
	var types []api.ValueType
	for i := 0; i < n && r.err == nil; i++ {
		types = append(types, r.valueType())
	}
	return types
}

func (m *Module) addFunction(r *reader) FuncType {
	index := r.index("type", len(m.Types))
	if r.err != nil {
		return FuncType{}
	}
	m.Functions = append(m.Functions, index)
	return m.Types[index]
}

// TypeOf is the type of a function, by its index.
func (m *Module) TypeOf(function uint32) FuncType { return m.Types[m.Functions[function]] }

func (m *Module) importEntry(r *reader) {
	i := Import{Module: m.name(r)}
	i.Name = m.name(r)
	i.Kind = r.byte()
	switch i.Kind {
	case api.ExternTypeFunc:
		i.Func = m.addFunction(r)
		m.ImportedFunctions = len(m.Functions)
	case api.ExternTypeTable:
		r.refType()
		r.limits()
	case api.ExternTypeMemory:
		m.memory(r)
	case api.ExternTypeGlobal:
		m.Globals = append(m.Globals, r.globalType())
		m.ImportedGlobals = len(m.Globals)
	case kindTag:
		r.refuse(exceptions)
	case kindGroup, kindGroupOfType:
		r.refuse(compactImports)
	default:
		r.fail("an import of an unknown kind")
	}
	if r.err == nil {
		m.Imports = append(m.Imports, i)
	}
}

// Kinds of imports and exports that no module may have.
const (
	kindTag         = 4
	kindGroupOfType = 0x7e
	kindGroup       = 0x7f
)

func (r *reader) limits() Range {
	const (
		hasMax   = 1 << 0
		shared   = 1 << 1
		wide     = 1 << 2
		pageSize = 1 << 3
	)
	flags := r.byte()
	switch {
	case r.err != nil:
		return Range{}
	case flags&^(hasMax|shared|wide|pageSize) != 0:
		r.fail("unknown limits")
	case flags&wide != 0:
		r.refuse(memory64)
	case flags&shared != 0:
		r.refuse(threads)
	case flags&pageSize != 0:
		r.refuse(pageSizes)
	}
	l := Range{Min: r.u32()}
	if l.HasMax = flags&hasMax != 0; l.HasMax {
		l.Max = r.u32()
	}
	return l
}

// memory reads the limits of a memory. There may be one.
func (m *Module) memory(r *reader) Range {
	const addressable = 1 << 16 // pages, which make 4 GiB
	if m.memories++; m.memories > 1 {
		r.refuse(multiMemory)
	}
	at := r.at
	l := r.limits()
	if r.err == nil && (l.Min > addressable || l.Max > addressable) {
		r.at = at
		r.fail("a memory of more than 4 GiB")
	}
	return l
}

func (m *Module) table(r *reader) {
	if r.err == nil && r.left() > 0 && r.data[r.at] == 0x40 {
		r.refuse(references)
	}
	t := Table{Type: r.refType()}
	t.Range = r.limits()
	m.Tables = append(m.Tables, t)
}

func (r *reader) globalType() Global {
	g := Global{Type: r.valueType()}
	switch mutable := r.byte(); {
	case mutable > 1:
		r.at--
		r.fail("a global variable is neither constant nor variable")
	default:
		g.Mutable = mutable == 1
	}
	return g
}

// funcRef reads the index of a function outside of code.
func (m *Module) funcRef(r *reader) uint32 {
	start := r.offset()
	index := r.index("function", len(m.Functions))
	m.addFuncRef(start, r.offset(), index)
	return index
}

func (m *Module) addFuncRef(start, end int, index uint32) {
	m.FuncRefs = append(m.FuncRefs, FuncRef{start, end, index})
}

func (m *Module) export(r *reader) {
	e := Export{Name: m.name(r)}
	e.Kind = r.byte()
	switch e.Kind {
	case api.ExternTypeFunc:
		index := m.funcRef(r)
		if r.err == nil {
			e.Func = m.TypeOf(index)
		}
	case api.ExternTypeGlobal:
		r.index("global", len(m.Globals))
	case api.ExternTypeTable, api.ExternTypeMemory:
		r.u32()
	case kindTag:
		r.refuse(exceptions)
	default:
		r.fail("an export of an unknown kind")
	}
	if r.err == nil {
		m.Exports = append(m.Exports, e)
	}
}

// element reads an element segment in one of its eight forms.
func (m *Module) element(r *reader) {
	const (
		notActive   = 1 << 0 // passive, or with the next bit declarative
		explicit    = 1 << 1 // the table, or of the declarative
		expressions = 1 << 2
	)
	flags := r.u32()
	if flags > 7 {
		r.fail("an unknown form of an element segment")
		return
	}
	if flags&notActive == 0 {
		if flags&explicit != 0 {
			r.u32()
		}
		r.constant(m)
	}
	if flags&(notActive|explicit) != 0 {
		switch {
		case flags&expressions != 0:
			r.refType()
		case r.byte() != 0:
			r.fail("an element segment of an unknown kind")
		}
	}
	n := r.countOf("elements in one segment", m.limits.TableElements)
	for i := 0; i < n && r.err == nil; i++ {
		if flags&expressions != 0 {
			r.constant(m)
		} else {
			m.funcRef(r)
		}
	}
}

// segment reads a data segment in one of its three forms.
func (m *Module) segment(r *reader) {
	var s Segment
	switch form := r.u32(); form {
	case 0, 2:
		if form == 2 && r.u32() != 0 {
			r.refuse(multiMemory)
		}
		offset, known := r.constant(m)
		s.Known, s.Offset = known, uint32(offset)
	case 1:
	default:
		r.fail("an unknown form of a data segment")
	}
	s.Data = r.bytes(r.u32())
	if r.err == nil {
		m.Segments = append(m.Segments, s)
	}
}
