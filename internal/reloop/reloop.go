// Package reloop gives functions that Go's compiler has made their loops and branches back.
//
// A function of Go in WebAssembly can be entered in its middle, so that goroutines can change
// while it calls another: its parameter says where. So Go writes each as one loop around a
// jump table, and jumps by entering that again. Every jump then goes by the table, every value
// that outlives one goes by memory, and fuel is taken for all of the function each time.
//
// Nearly always, a function is entered at its begin. So a function is given two bodies: the one
// that it had becomes a copy at the end of the module, for entries in the middle, and its own
// becomes the same code with blocks, loops, and direct branches in place of the table. At its
// begin it goes on to the copy where its parameter is not 0. All that it keeps is in memory and in
// globals, as before, so that either can go on where the other has left off.
//
// What is rewritten does what it did before, whoever wrote it. A function that is not of the form
// at [flow] stays as it is. The form does not say everything, so package equivalence proves of each
// function that was rewritten that it does the same; where that fails, the original stays. As the
// engine checks the copies, no invalid module becomes a valid one.
package reloop

import (
	"encoding/binary"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/equivalence"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// Version changes with what [Of] makes of a module, so that nothing counts as its result that was
// kept under an earlier version.
const Version = "3." + equivalence.Version

// Of rewrites those functions of a module that are chosen by their indexes, where it can and where
// it is proven that they do the same. It returns nil if there are none, or the result would be beyond
// the limits. The copies come after all functions, in the order of copied, which has the indexes of
// their originals.
func Of(m *wasmfile.Module, limits wasmfile.Limits, chosen func(function int) bool) (rewritten *wasmfile.Module, copied []int) {
	refused := make(map[int]bool)
	for {
		wasm, copied := propose(m, func(function int) bool { return chosen(function) && !refused[function] })
		if wasm == nil {
			return nil, nil
		}
		rewritten, err := wasmfile.Read(wasm, limits)
		if err != nil {
			return nil, nil
		}
		unproven, err := equivalence.Check(m, rewritten)
		if err != nil {
			return nil, nil
		}
		if len(unproven) == 0 {
			return rewritten, copied
		}
		for _, function := range unproven {
			refused[function] = true
		}
	}
}

// propose rewrites functions without a proof.
func propose(m *wasmfile.Module, chosen func(function int) bool) (wasm []byte, copied []int) {
	bodies := make([][]byte, len(m.Bodies))
	for i := range m.Bodies {
		function := m.ImportedFunctions + i
		if !resumable(m.Types[m.Functions[function]]) || !chosen(function) {
			continue
		}
		if f := read(m, i); f != nil {
			copyOf := len(m.Functions) + len(copied)
			if bodies[i] = f.write(uint32(copyOf)); bodies[i] != nil {
				copied = append(copied, function)
			}
		}
	}
	if copied == nil {
		return nil, nil
	}
	return assemble(m, bodies, copied), copied
}

// resumable reports whether functions of a type may be Go's.
func resumable(t wasmfile.FuncType) bool {
	i32 := []api.ValueType{api.ValueTypeI32}
	return slices.Equal(t.Params, i32) && slices.Equal(t.Results, i32)
}

// assemble puts bodies in the place of those that the module has, and adds the copies.
func assemble(m *wasmfile.Module, bodies [][]byte, copied []int) []byte {
	size := m.Size()
	out := append(make([]byte, 0, size+size/2), m.Bytes(0, wasmfile.HeaderSize)...)
	var content []byte
	for _, s := range m.Sections {
		switch s.ID {
		case wasmfile.SectionFunction:
			content = binary.AppendUvarint(content[:0], uint64(s.Count+len(copied)))
			content = append(content, m.Bytes(s.Items, s.End)...)
			for _, function := range copied {
				content = binary.AppendUvarint(content, uint64(m.Functions[function]))
			}
		case wasmfile.SectionCode:
			content = binary.AppendUvarint(content[:0], uint64(s.Count+len(copied)))
			for i, b := range m.Bodies {
				if bodies[i] != nil {
					content = appendBody(content, m.Bytes(b.Start, b.Code), bodies[i])
				} else {
					content = appendBody(content, m.Bytes(b.Start, b.End))
				}
			}
			for _, function := range copied {
				b := m.Bodies[function-m.ImportedFunctions]
				content = appendBody(content, m.Bytes(b.Start, b.End))
			}
		case wasmfile.SectionCustom:
			content = custom(m, m.Customs[s.Custom], copied)
		default:
			out = append(out, m.Bytes(s.Start, s.End)...)
			continue
		}
		out = append(out, s.ID)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out
}

func appendBody(out []byte, parts ...[]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	out = binary.AppendUvarint(out, uint64(size))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// custom is a custom section. Copies have the names of what they are copies of.
func custom(m *wasmfile.Module, c wasmfile.Custom, copied []int) []byte {
	data := c.Data
	if c.Name == wasmfile.NameSection {
		if named, err := wasmfile.NameCopies(data, uint32(len(m.Functions)), copied); err == nil {
			data = named // without, only stack traces say less
		}
	}
	out := binary.AppendUvarint(nil, uint64(len(c.Name)))
	return append(append(out, c.Name...), data...)
}
