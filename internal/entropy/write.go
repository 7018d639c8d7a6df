package entropy

import (
	"encoding/binary"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// writer writes the module that counts. A call that is counted leads to a function that counts
// it and goes on to what was called. Functions of Go have a parameter and a result, which it
// passes on. Such a function is never entered again in its middle, as it is not one of Go's: who
// goes on with a goroutine goes on with what was called.
type writer struct {
	m       *wasmfile.Module
	account Account
	// added are the functions, by what they lead to, in the order in which they are written.
	added   []addition
	targets map[addition]uint32
}

// addition is a function that counts.
type addition struct {
	source uint32
	kept   bool
}

// write returns nil if a call is not one of Go's.
func write(s *survey) (wasm []byte, account *Account) {
	m := s.m
	first := len(m.Globals)
	w := &writer{m: m, account: Account{Clock: first, Random: first + 1, Watched: first + 2, Words: s.words}, targets: make(map[addition]uint32)}
	goFunction := []api.ValueType{api.ValueTypeI32}
	for _, at := range s.sites {
		of := m.Types[m.Functions[at.source]]
		if !slices.Equal(of.Params, goFunction) || !slices.Equal(of.Results, goFunction) {
			return nil, nil
		}
		a := addition{at.source, at.kept}
		if _, known := w.targets[a]; !known {
			w.targets[a] = uint32(len(m.Functions) + len(w.added))
			w.added = append(w.added, a)
		}
	}
	return w.module(s), &w.account
}

func (w *writer) module(s *survey) []byte {
	m := w.m
	out := slices.Clone(m.Bytes(0, wasmfile.HeaderSize))
	for _, section := range m.SectionsWith(wasmfile.SectionGlobal) {
		var content []byte
		switch section.ID {
		case wasmfile.SectionFunction:
			content = w.count(section, len(w.added))
			for _, a := range w.added {
				content = binary.AppendUvarint(content, uint64(m.Functions[a.source]))
			}
		case wasmfile.SectionGlobal:
			content = w.count(section, 3)
			content = append(content, api.ValueTypeI64, 1, byte(wasmfile.OpI64Const), 0, byte(wasmfile.OpEnd))
			content = append(content, api.ValueTypeI64, 1, byte(wasmfile.OpI64Const), 0, byte(wasmfile.OpEnd))
			content = append(content, api.ValueTypeI32, 1, byte(wasmfile.OpI32Const), 0, byte(wasmfile.OpEnd))
		case wasmfile.SectionCode:
			content = w.code(section, s)
		case wasmfile.SectionCustom:
			content = w.custom(m.Customs[section.Custom])
		default:
			out = append(out, m.Bytes(section.Start, section.End)...)
			continue
		}
		out = append(out, section.ID)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out
}

// count begins a section with the items that it has, and announces more.
func (w *writer) count(s wasmfile.Section, more int) []byte {
	if s.ID == wasmfile.SectionCode {
		return binary.AppendUvarint(nil, uint64(s.Count+more))
	}
	return append(binary.AppendUvarint(nil, uint64(s.Count+more)), w.m.Bytes(s.Items, s.End)...)
}

func (w *writer) code(section wasmfile.Section, s *survey) []byte {
	out := w.count(section, len(w.added))
	sites := s.sites
	for i, b := range w.m.Bodies {
		of := 0
		for of < len(sites) && sites[of].body == i {
			of++
		}
		body := w.body(i, sites[:of])
		sites = sites[of:]
		out = binary.AppendUvarint(out, uint64(b.Code-b.Start+len(body)))
		out = append(out, w.m.Bytes(b.Start, b.Code)...)
		out = append(out, body...)
	}
	for _, a := range w.added {
		body := w.counts(a, s.sources[a.source])
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out
}

// body is the code of the i-th function that the module defines, with other targets for some
// calls.
func (w *writer) body(i int, sites []site) []byte {
	code := w.m.Code(i)
	raw := code.Bytes()
	if len(sites) == 0 {
		return raw
	}
	var out []byte
	from := 0
	for _, s := range sites {
		out = append(out, raw[from:s.callStart]...)
		out = appendCall(out, w.targets[addition{s.source, s.kept}])
		from = s.callEnd
	}
	return append(out, raw[from:]...)
}

// Opcodes that only added code needs.
const (
	opI64Sub   = 0x7d
	emptyBlock = 0x40
)

// counts is the code of a function that counts.
func (w *writer) counts(a addition, of *source) []byte {
	out := []byte{0} // no local variables
	global, weight, op := w.account.Random, of.weight, byte(opI64Add)
	switch {
	case of.clock:
		global = w.account.Clock
	case !a.kept:
		weight, op = 1, opI64Sub
		out = appendGlobal(out, wasmfile.OpGlobalGet, w.account.Watched)
		out = append(out, byte(wasmfile.OpIf), emptyBlock, byte(wasmfile.OpI32Const), Caught)
		out = appendGlobal(out, wasmfile.OpGlobalSet, w.account.Watched)
		out = append(out, byte(wasmfile.OpUnreachable), byte(wasmfile.OpEnd))
	}
	out = appendGlobal(out, wasmfile.OpGlobalGet, global)
	out = append(out, byte(wasmfile.OpI64Const))
	out = append(wasmfile.AppendSigned(out, int64(weight)), op)
	out = appendGlobal(out, wasmfile.OpGlobalSet, global)
	out = append(out, byte(wasmfile.OpLocalGet), 0)
	return append(appendCall(out, a.source), byte(wasmfile.OpEnd))
}

func appendGlobal(out []byte, op wasmfile.Opcode, global int) []byte {
	return binary.AppendUvarint(append(out, byte(op)), uint64(global))
}

func appendCall(out []byte, function uint32) []byte {
	return binary.AppendUvarint(append(out, byte(wasmfile.OpCall)), uint64(function))
}

// custom is a custom section. Added functions have the names of what they lead to.
func (w *writer) custom(c wasmfile.Custom) []byte {
	data := c.Data
	if c.Name == wasmfile.NameSection {
		var called []int
		for _, a := range w.added {
			called = append(called, int(a.source))
		}
		if named, err := wasmfile.NameCopies(data, uint32(len(w.m.Functions)), called); err == nil {
			data = named // without, only stack traces say less
		}
	}
	out := binary.AppendUvarint(nil, uint64(len(c.Name)))
	return append(append(out, c.Name...), data...)
}
