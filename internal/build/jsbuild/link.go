package jsbuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// File is a file of a provider, by the name that others import it by.
type File struct {
	Name string
	Text []byte
}

// mark is in the engine's memory before the place for the address and the size of the files, see layout.h.
const mark = "husk:files\n\x01\x02\x03\x04\x00"

const pageSize = 64 << 10

// errNoEngine is the error for a module that is no engine.
var errNoEngine = errors.New("it is no engine of Husk")

// Link returns an engine with files behind its memory.
func Link(engine []byte, files []File) ([]byte, error) {
	m, err := wasmfile.Read(engine, wasmfile.DefaultLimits())
	if err != nil {
		return nil, err
	}
	place := bytes.Index(engine, []byte(mark))
	if place < 0 || bytes.Count(engine, []byte(mark)) > 1 || len(engine)-place < len(mark)+8 || len(m.Memories) != 1 {
		return nil, errNoEngine
	}
	var content []byte
	for _, f := range files {
		content = binary.LittleEndian.AppendUint32(content, uint32(len(f.Name)))
		content = binary.LittleEndian.AppendUint32(content, uint32(len(f.Text)))
		content = append(append(content, f.Name...), 0)
		content = append(append(content, f.Text...), 0)
	}
	memory := m.Memories[0]
	at := memory.Min * pageSize
	memory.Min += uint32((len(content) + pageSize - 1) / pageSize)
	if memory.HasMax && memory.Min > memory.Max {
		return nil, fmt.Errorf("its files have %d bytes, for which the engine has no room", len(content))
	}
	engine = bytes.Clone(engine)
	binary.LittleEndian.PutUint32(engine[place+len(mark):], at)
	binary.LittleEndian.PutUint32(engine[place+len(mark)+4:], uint32(len(content)))

	out := append([]byte{}, engine[:wasmfile.HeaderSize]...)
	for _, s := range m.Sections {
		var changed []byte
		switch s.ID {
		case wasmfile.SectionMemory:
			changed = []byte{1, 0}
			if memory.HasMax {
				changed[1] = 1
			}
			changed = binary.AppendUvarint(changed, uint64(memory.Min))
			if memory.HasMax {
				changed = binary.AppendUvarint(changed, uint64(memory.Max))
			}
		case wasmfile.SectionDataCount:
			changed = binary.AppendUvarint(nil, uint64(len(m.Segments)+1))
		case wasmfile.SectionData:
			changed = append(binary.AppendUvarint(nil, uint64(s.Count+1)), engine[s.Items:s.End]...)
			changed = append(changed, 0, byte(wasmfile.OpI32Const))
			changed = append(appendSigned(changed, int32(at)), byte(wasmfile.OpEnd))
			changed = wasmfile.AppendSized(changed, content)
		default:
			out = append(out, engine[s.Start:s.End]...)
			continue
		}
		out = wasmfile.AppendSized(append(out, s.ID), changed)
	}
	return out, nil
}

// appendSigned appends an integer in signed LEB128.
func appendSigned(out []byte, v int32) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
