// Package part makes a module of some of the functions of another. In its place a function
// that is left out traps at once; all that runs without one does exactly what it does in
// the whole module, with the same memory, globals, and tables.
//
// A provider runs a tenth of its code until it has answered its first calls, so that a process
// which is to answer a few need not load the rest. Whoever runs a part takes a trap as the
// sign that the whole is needed.
package part

import (
	"encoding/binary"
	"slices"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// Of answers the part of a valid module with those functions, by their indexes, that keeps
// reports. Imports that are not kept trap, too. Custom sections are left out: what a part
// says when it traps is of no interest.
func Of(m *wasmfile.Module, keeps func(function int) bool) []byte {
	p := &part{m: m, moved: make([]uint32, len(m.Functions)), missing: make([]bool, len(m.Types)), refs: m.FuncRefs}
	p.plan(keeps)
	out := slices.Clone(m.Bytes(0, wasmfile.HeaderSize))
	// A module of imports alone has no code; its part has that of the functions that trap.
	for _, s := range m.SectionsWith(wasmfile.SectionFunction, wasmfile.SectionCode) {
		if s.ID == wasmfile.SectionCustom {
			continue
		}
		out = append(out, s.ID)
		content := p.section(s)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out
}

type part struct {
	m *wasmfile.Module
	// kept are the indexes of the functions that the module defines and the part keeps.
	kept []int
	// moved are the new indexes of all functions. Those of what is left out are those of a
	// function of the same type that traps.
	moved []uint32
	// traps are the types of these functions, which come last; missing tells for which types
	// there is one.
	traps   []uint32
	missing []bool
	// refs are the indexes of functions outside of code that were not written yet.
	refs []wasmfile.FuncRef
}

// plan gives functions their new indexes.
func (p *part) plan(keeps func(int) bool) {
	m := p.m
	next := uint32(m.ImportedFunctions)
	for f := m.ImportedFunctions; f < len(m.Functions); f++ {
		if keeps(f) {
			p.kept = append(p.kept, f)
			p.moved[f] = next
			next++
		}
	}
	at := make([]uint32, len(m.Types)) // of the function that traps
	for f, t := range m.Functions {
		if keeps(f) {
			if f < m.ImportedFunctions {
				p.moved[f] = uint32(f)
			}
			continue
		}
		if !p.missing[t] {
			p.missing[t] = true
			p.traps = append(p.traps, t)
			at[t] = next
			next++
		}
		p.moved[f] = at[t]
	}
}

// section answers the content of a section.
func (p *part) section(s wasmfile.Section) []byte {
	switch s.ID {
	case wasmfile.SectionFunction:
		out := p.count()
		for _, f := range p.kept {
			out = binary.AppendUvarint(out, uint64(p.m.Functions[f]))
		}
		for _, t := range p.traps {
			out = binary.AppendUvarint(out, uint64(t))
		}
		return out
	case wasmfile.SectionCode:
		out := p.count()
		for _, f := range p.kept {
			body := p.body(f - p.m.ImportedFunctions)
			out = binary.AppendUvarint(out, uint64(len(body)))
			out = append(out, body...)
		}
		for range p.traps {
			out = append(out, "\x03\x00\x00\x0b"...) // no local variables, unreachable, end
		}
		return out
	}
	var out []byte
	start := s.Start + 1 // the identifier
	_, size := binary.Uvarint(p.m.Bytes(start, s.End))
	start += size
	for len(p.refs) > 0 && p.refs[0].Start < s.End {
		ref := p.refs[0]
		p.refs = p.refs[1:]
		out = append(out, p.m.Bytes(start, ref.Start)...)
		out = binary.AppendUvarint(out, uint64(p.moved[ref.Index]))
		start = ref.End
	}
	return append(out, p.m.Bytes(start, s.End)...)
}

// count begins a section with an item for each function.
func (p *part) count() []byte {
	return binary.AppendUvarint(nil, uint64(len(p.kept)+len(p.traps)))
}

// body is the code of the i-th function that the module defines, with its local variables.
func (p *part) body(i int) []byte {
	b := p.m.Bodies[i]
	out := slices.Clone(p.m.Bytes(b.Start, b.Code))
	code := p.m.Code(i)
	bytes := code.Bytes()
	written := 0
	var in wasmfile.Instruction
	for code.Next(&in) {
		if in.Op == wasmfile.OpCall || in.Op == wasmfile.OpRefFunc {
			out = append(out, bytes[written:in.Start+1]...)
			out = binary.AppendUvarint(out, uint64(p.moved[in.Index]))
			written = in.End
		}
	}
	return append(out, bytes[written:]...)
}
