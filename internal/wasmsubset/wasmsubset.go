// Package wasmsubset extracts a module with a subset of the functions of another. A function
// outside of the subset traps at once. Code that calls no such function behaves exactly as in the
// whole module, with the same memory, globals, and tables.
//
// A provider runs a tenth of its code for its first calls, so a short process need not load the
// rest. A caller takes a trap as the sign that the call needs the whole module.
package wasmsubset

import (
	"encoding/binary"
	"slices"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// Extract returns the subset of a valid module with the functions for whose index keeps reports
// true. Other functions trap, also imports. The subset has no custom sections, because nobody reads
// the message of its traps.
func Extract(m *wasmfile.Module, keeps func(function int) bool) []byte {
	p := &subset{m: m, moved: make([]uint32, len(m.Functions)), missing: make([]bool, len(m.Types)), refs: m.FuncRefs}
	p.plan(keeps)
	out := slices.Clone(m.Bytes(0, wasmfile.HeaderSize))
	// A module of imports alone has no code. Its subset has the functions that trap.
	for _, s := range m.SectionsWith(wasmfile.SectionFunction, wasmfile.SectionCode) {
		if s.ID == wasmfile.SectionCustom {
			continue
		}
		out = wasmfile.AppendSized(append(out, s.ID), p.section(s))
	}
	return out
}

type subset struct {
	m *wasmfile.Module
	// defined lists the functions of the subset that the module defines, by index.
	defined []int
	// moved maps each function to its new index. A function outside of the subset gets the index
	// of the trapping function of its type.
	moved []uint32
	// traps lists the types of the trapping functions, which come last. missing marks these
	// types.
	traps   []uint32
	missing []bool
	// refs lists the function indexes outside of code that are still to be written.
	refs []wasmfile.FuncRef
}

// plan assigns the new indexes.
func (p *subset) plan(keeps func(int) bool) {
	m := p.m
	next := uint32(m.ImportedFunctions)
	for f := m.ImportedFunctions; f < len(m.Functions); f++ {
		if keeps(f) {
			p.defined = append(p.defined, f)
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

func (p *subset) section(s wasmfile.Section) []byte {
	switch s.ID {
	case wasmfile.SectionFunction:
		out := p.count()
		for _, f := range p.defined {
			out = binary.AppendUvarint(out, uint64(p.m.Functions[f]))
		}
		for _, t := range p.traps {
			out = binary.AppendUvarint(out, uint64(t))
		}
		return out
	case wasmfile.SectionCode:
		out := p.count()
		for _, f := range p.defined {
			out = wasmfile.AppendSized(out, p.body(f-p.m.ImportedFunctions))
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

// count returns the item count of a section with an item for each function.
func (p *subset) count() []byte {
	return binary.AppendUvarint(nil, uint64(len(p.defined)+len(p.traps)))
}

// body returns the local variables and code of the i-th function that the module defines.
func (p *subset) body(i int) []byte {
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
