package entropy

import (
	"bytes"
	"encoding/binary"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// names are the names of a module's functions, from the table by which Go's runtime finds the function of an address
// (runtime.pcHeader) in the module's data. Nothing in it is trusted.
type names struct {
	data []byte
	// texts is the begin of the names, and functions the begin of the table of functions, whose entries lead from there to the
	// facts of a function.
	texts, functions uint64
}

// The table begins with a magic number, two zeros, the length of the smallest instruction, and the length of a pointer. The
// number of functions, of files, an address, and five offsets follow. The first and the last offset lead to names and functions.
var tableMagic = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

const (
	tableCount     = 8
	tableTexts     = 32
	tableFunctions = 64
	tableHeader    = 72

	// entrySize is the length of an entry: the begin of a function, and the place of its facts in
	// the table. There, the place of its name follows the first number.
	entrySize = 8
	nameAt    = 4

	// mostData bounds the part of the module's data that is looked at.
	mostData = 64 << 20
	// longestName bounds the read part of a name in bytes. Those that matter are shorter.
	longestName = 256
)

// readNames returns nil if there is no such table with as many functions as the module defines.
func readNames(m *wasmfile.Module) *names {
	for _, s := range m.Segments {
		if !s.Known {
			continue
		}
		for at := 0; ; at++ {
			next := bytes.Index(s.Data[at:], tableMagic)
			if next < 0 {
				break
			}
			at += next
			header := s.Data[at:]
			if len(header) >= tableCount+8 && binary.LittleEndian.Uint64(header[tableCount:]) == uint64(len(m.Bodies)) {
				data := dataFrom(m, uint64(s.Offset)+uint64(at))
				return &names{
					data:  data,
					texts: binary.LittleEndian.Uint64(data[tableTexts:]), functions: binary.LittleEndian.Uint64(data[tableFunctions:]),
				}
			}
		}
	}
	return nil
}

// dataFrom returns the module's data from an address on, with zeros in the gaps, and at least as
// much as the table's header.
func dataFrom(m *wasmfile.Module, from uint64) []byte {
	end := from + tableHeader
	for _, s := range m.Segments {
		if s.Known {
			end = max(end, uint64(s.Offset)+uint64(len(s.Data)))
		}
	}
	data := make([]byte, min(end-from, mostData))
	for _, s := range m.Segments {
		start, content := uint64(s.Offset), s.Data
		if !s.Known || start+uint64(len(content)) <= from {
			continue
		}
		if start < from {
			start, content = from, content[from-start:]
		}
		copy(data[min(start-from, uint64(len(data))):], content)
	}
	return data
}

// name returns the name of the i-th function that the module defines. In a truncated table, it may be empty or another
// function's.
func (n *names) name(i int) string {
	known := n.word(n.functions + uint64(i)*entrySize + 4)
	name := n.word(n.functions + uint64(known) + nameAt)
	text := n.data[min(n.texts+uint64(name), uint64(len(n.data))):]
	text, _, _ = bytes.Cut(text[:min(len(text), longestName)], []byte{0})
	return string(text)
}

// word returns the number at any place, 0 behind the end.
func (n *names) word(at uint64) uint32 {
	const size = 4
	if len(n.data) < size || at > uint64(len(n.data)-size) {
		return 0
	}
	return binary.LittleEndian.Uint32(n.data[at:])
}
