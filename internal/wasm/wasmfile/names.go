package wasmfile

import (
	"cmp"
	"encoding/binary"

	"github.com/husk-dev/husk/internal/base/sorted"
)

// NameSection is the custom section with the names of functions, for stack traces.
const NameSection = "name"

// NamedFunction is a function that gets a name.
type NamedFunction struct {
	Index uint32
	Name  string
}

// InsertFunction returns the content of a name section with the name of a function that was inserted at its index, and the names
// of further functions after all. Names of data segments are dropped.
func InsertFunction(names []byte, inserted NamedFunction, further ...NamedFunction) ([]byte, error) {
	edit := &nameEdit{
		limit: len(names), out: make([]byte, 0, len(names)+256),
		writes: true, inserted: inserted, further: further,
	}
	r := reader{data: names}
	err := r.names(edit)
	return edit.out, err
}

// withNames returns the content of a name section with the names of added functions. If the names
// cannot be read, it returns the content as it is: only stack traces say less then.
func (m *Module) withNames(names []byte, added []AddedFunction) []byte {
	known := make(map[uint32]string)
	r := reader{data: names}
	if r.names(&nameEdit{limit: len(names), each: func(f NamedFunction) { known[f.Index] = f.Name }}) != nil {
		return names
	}
	var further []NamedFunction
	for i, f := range added {
		if name, ok := known[f.Like]; ok {
			further = append(further, NamedFunction{uint32(len(m.Functions) + i), name})
		}
	}
	if further == nil {
		return names
	}
	with, err := InsertFunction(names, further[0], further[1:]...)
	if err != nil {
		return names
	}
	return with
}

// nameEdit checks a name section, and writes a new one if writes is set.
type nameEdit struct {
	limit    int // of names
	count    int
	writes   bool
	out      []byte
	inserted NamedFunction
	further  []NamedFunction
	// each is called with each name of a function, unless it is nil.
	each func(NamedFunction)
}

// Subsections of the name section.
const (
	namesModule    = 0
	namesFunctions = 1
	namesLocals    = 2
	namesLabels    = 3
	namesData      = 9
)

// names reads a name section, and checks every count and length: wazero trusts them.
func (r *reader) names(e *nameEdit) error {
	for r.err == nil && r.left() > 0 {
		id := r.byte()
		sub := reader{base: r.offset()}
		sub.data = r.bytes(r.u32())
		if r.err != nil {
			break
		}
		sub.base = r.offset() - len(sub.data)
		var content []byte
		switch id {
		case namesModule:
			sub.name()
			content = sub.data
		case namesFunctions:
			content = sub.functionNames(e)
		case namesLocals, namesLabels:
			content = sub.indirectNames(e)
		default:
			sub.at = len(sub.data)
			content = sub.data
		}
		if sub.err == nil && sub.left() > 0 {
			sub.fail("names go on after their end")
		}
		r.err = sub.err
		if e.writes && id != namesData {
			e.out = AppendSized(append(e.out, id), content)
		}
	}
	return r.err
}

func (r *reader) entries(e *nameEdit) int {
	n := r.count()
	e.count += n
	r.limit("names", uint64(e.count), e.limit)
	return n
}

func (r *reader) functionNames(e *nameEdit) []byte {
	n := r.entries(e)
	var all []NamedFunction
	for i := 0; i < n && r.err == nil; i++ {
		f := NamedFunction{Index: r.index("function", maxIndex), Name: r.name()}
		if e.each != nil {
			e.each(f)
		}
		if e.writes {
			all = append(all, NamedFunction{e.moved(f.Index), f.Name})
		}
	}
	if !e.writes {
		return nil
	}
	all = append(append(all, e.inserted), e.further...)
	sorted.By(all, func(a, b NamedFunction) int { return cmp.Compare(a.Index, b.Index) })
	out := binary.AppendUvarint(nil, uint64(len(all)))
	for _, f := range all {
		out = binary.AppendUvarint(out, uint64(f.Index))
		out = binary.AppendUvarint(out, uint64(len(f.Name)))
		out = append(out, f.Name...)
	}
	return out
}

func (e *nameEdit) moved(function uint32) uint32 {
	if function >= e.inserted.Index {
		return function + 1
	}
	return function
}

// maxIndex bounds the indexes of functions.
const maxIndex = 1 << 27

// indirectNames reads names within functions: of locals, or labels.
func (r *reader) indirectNames(e *nameEdit) []byte {
	n := r.entries(e)
	out := binary.AppendUvarint(nil, uint64(n))
	for i := 0; i < n && r.err == nil; i++ {
		function := r.index("function", maxIndex)
		start := r.at
		inner := r.entries(e)
		for j := 0; j < inner && r.err == nil; j++ {
			r.u32()
			r.name()
		}
		if e.writes {
			out = binary.AppendUvarint(out, uint64(e.moved(function)))
			out = append(out, r.data[start:r.at]...)
		}
	}
	return out
}
