package meter

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Start is the export that is the start function of a detached module.
const Start = prefix + "start"

// Detachable reports whether the host can lay out the memory of a valid module: it has one memory of its own, and segments at
// known places inside of it, which no code names. The linkers of Go, C, and Rust make such modules.
func Detachable(m *wasmfile.Module) bool {
	if m.UsesSegments || len(m.Memories) != 1 {
		return false
	}
	size := uint64(m.Memories[0].Min) * pageSize
	return !slices.ContainsFunc(m.Segments, func(s wasmfile.Segment) bool {
		return !s.Known || uint64(s.Offset)+uint64(len(s.Data)) > size
	})
}

// Lay writes a detached module's data segments into its memory, as the start of an instance would.
func Lay(m *wasmfile.Module, memory []byte) {
	for _, s := range m.Segments {
		copy(memory[s.Offset:], s.Data)
	}
}

// Frozen reports whether an instance's memory and numeric globals are all of its state. If so, an
// instance with copies of them continues in its place. globals are the names of the globals.
func Frozen(m *wasmfile.Module) (globals []string, frozen bool) {
	if m.ChangesTables || !Detachable(m) {
		return nil, false
	}
	for index, g := range m.Globals {
		switch {
		case !g.Mutable:
		case index < m.ImportedGlobals || !numeric(g.Type):
			return nil, false
		default:
			globals = append(globals, GlobalName(index))
		}
	}
	return globals, true
}

func numeric(t api.ValueType) bool {
	switch t {
	case api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64:
		return true
	}
	return false
}

func detached(section byte) bool {
	return section == wasmfile.SectionStart || section == wasmfile.SectionData || section == wasmfile.SectionDataCount
}

func (w *rewriter) skip(s wasmfile.Section) {
	for len(w.refs) > 0 && w.refs[0].Start < s.End {
		w.refs = w.refs[1:]
	}
}
