package jsbuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// World is the package of the interface that a module exports, of those that an engine has. A module has one.
type World string

// The worlds of an engine.
const (
	Provider World = canon.Package
	Program  World = canon.ProgramPackage
)

// File is a file of a module, by the name that others import it by.
type File struct {
	Name string
	Text []byte
}

// mark is in the engine's memory before the place for the address and the size of the files, see layout.h.
const mark = "husk:files\n\x01\x02\x03\x04\x00"

const pageSize = 64 << 10

// errNoEngine is the error for a module that is no engine.
var errNoEngine = errors.New("it is no engine of Husk")

// Link returns an engine with files behind its memory, as a module of a world.
func Link(engine []byte, world World, files []File) ([]byte, error) {
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
		case wasmfile.SectionExport:
			exports, count, of := engine[s.Items:s.End], 0, false
			for range s.Count {
				export, name := nextExport(&exports)
				is, other := world.has(name)
				if other {
					continue
				}
				changed, of = append(changed, export...), of || is
				count++
			}
			if !of {
				return nil, fmt.Errorf("its engine makes no module of %s: install a newer version of the SDK", world)
			}
			changed = append(binary.AppendUvarint(nil, uint64(count)), changed...)
		case wasmfile.SectionDataCount:
			changed = binary.AppendUvarint(nil, uint64(len(m.Segments)+1))
		case wasmfile.SectionData:
			changed = append(binary.AppendUvarint(nil, uint64(s.Count+1)), engine[s.Items:s.End]...)
			changed = append(wasmfile.AppendConst(append(changed, 0), wasmfile.OpI32Const, int64(int32(at))), byte(wasmfile.OpEnd))
			changed = wasmfile.AppendSized(changed, content)
		default:
			out = append(out, engine[s.Start:s.End]...)
			continue
		}
		out = wasmfile.AppendSized(append(out, s.ID), changed)
	}
	return out, nil
}

// has reports whether an export is of the world, or of another one.
func (w World) has(name string) (is, other bool) {
	pkg, _, _ := strings.Cut(strings.TrimPrefix(name, "cabi_post_"), "/")
	is = pkg == string(w)
	return is, !is && (pkg == string(Provider) || pkg == string(Program))
}

// nextExport takes an export from a section that was read before, and returns its name, too.
func nextExport(exports *[]byte) (export []byte, name string) {
	all := *exports
	size, at := binary.Uvarint(all)
	end := at + int(size)
	_, index := binary.Uvarint(all[end+1:]) // behind the kind
	*exports = all[end+1+index:]
	return all[:end+1+index], string(all[at:end])
}
