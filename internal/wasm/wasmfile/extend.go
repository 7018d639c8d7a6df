package wasmfile

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// Extension has the changes that [Module.Extend] makes in a module.
type Extension struct {
	// Code replaces the instructions of functions that the module defines. A nil entry keeps them.
	Code [][]byte
	// Functions come after all functions of the module.
	Functions []AddedFunction
	// Globals are the types of mutable globals that come after all of the module. Each is 0 at the start.
	Globals []api.ValueType
}

// AddedFunction is a function with the type and the name of a function that the module defines.
type AddedFunction struct {
	Like uint32
	// Body is the local variables and the instructions. If it is nil, they are the same as Like's.
	Body []byte
}

// Extend returns a copy of a valid module with an extension.
func (m *Module) Extend(x Extension) []byte {
	sections := m.Sections
	if len(x.Globals) > 0 {
		sections = m.SectionsWith(SectionGlobal)
	}
	out := append(make([]byte, 0, len(m.wasm)+len(m.wasm)/2), m.wasm[:HeaderSize]...)
	var content []byte
	for _, s := range sections {
		content = content[:0]
		switch s.ID {
		case SectionFunction:
			content = m.appendItems(content, s, len(x.Functions))
			for _, f := range x.Functions {
				content = binary.AppendUvarint(content, uint64(m.Functions[f.Like]))
			}
		case SectionGlobal:
			content = m.appendItems(content, s, len(x.Globals))
			for _, t := range x.Globals {
				zero := OpI32Const
				if t == api.ValueTypeI64 {
					zero = OpI64Const
				}
				content = append(content, t, 1, byte(zero), 0, byte(OpEnd))
			}
		case SectionCode:
			content = binary.AppendUvarint(content, uint64(s.Count+len(x.Functions)))
			for i, b := range m.Bodies {
				code := m.wasm[b.Code:b.End]
				if x.Code[i] != nil {
					code = x.Code[i]
				}
				content = AppendSized(content, m.wasm[b.Start:b.Code], code)
			}
			for _, f := range x.Functions {
				body := f.Body
				if body == nil {
					b := m.Bodies[int(f.Like)-m.ImportedFunctions]
					body = m.wasm[b.Start:b.End]
				}
				content = AppendSized(content, body)
			}
		case SectionCustom:
			custom := m.Customs[s.Custom]
			if custom.Name == NameSection {
				custom.Data = m.withNames(custom.Data, x.Functions)
			}
			content = append(AppendSized(content, []byte(custom.Name)), custom.Data...)
		default:
			out = append(out, m.wasm[s.Start:s.End]...)
			continue
		}
		out = AppendSized(append(out, s.ID), content)
	}
	return out
}

// appendItems begins the content of a section with its items, and announces more.
func (m *Module) appendItems(out []byte, s Section, more int) []byte {
	return append(binary.AppendUvarint(out, uint64(s.Count+more)), m.wasm[s.Items:s.End]...)
}

// AppendSized appends parts with their length before them.
func AppendSized(out []byte, parts ...[]byte) []byte {
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
