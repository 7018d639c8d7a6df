package nativewire

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// first is the first address that is used: 0 stands for none.
const first = 16

// memory is the memory of one call, which only grows. It is a [canon.Memory] for whoever calls or serves, and a [canon.Instance]
// for the imports of package canon.
type memory struct{ bytes []byte }

func newMemory(bytes []byte) *memory {
	if len(bytes) < first {
		bytes = make([]byte, first)
	}
	return &memory{bytes}
}

func (m *memory) Read(offset, n uint32) ([]byte, bool) {
	if uint64(offset)+uint64(n) > uint64(len(m.bytes)) {
		return nil, false
	}
	return m.bytes[offset : offset+n : offset+n], true
}

func (m *memory) Write(offset uint32, data []byte) bool {
	to, ok := m.Read(offset, uint32(len(data)))
	copy(to, data)
	return ok
}

func (m *memory) View(ptr, n uint32) ([]byte, error) {
	data, ok := m.Read(ptr, n)
	if !ok {
		return nil, canon.ErrOutOfBounds
	}
	return data, nil
}

func (m *memory) Take(ptr, n uint32) ([]byte, error) {
	data, err := m.View(ptr, n)
	return slices.Clone(data), err
}

func (m *memory) Charge(uint64) error { return nil }

func (m *memory) Store(data []byte, align uint32) (uint32, error) {
	for align > 1 && len(m.bytes)%int(align) != 0 {
		m.bytes = append(m.bytes, 0)
	}
	ptr := uint32(len(m.bytes))
	m.bytes = append(m.bytes, data...)
	return ptr, nil
}

func (m *memory) Codec() canon.Codec { return guestcbor.Codec{} }

// Memory implements [canon.Instance].
func (m *memory) Memory() canon.LinearMemory { return m }

// Call implements [canon.Instance], with the export that allocates. A module's other own exports release memory, which this one
// does as a whole.
func (m *memory) Call(_ context.Context, export int, stack []uint64) error {
	if export == 0 {
		ptr, err := m.Store(make([]byte, stack[3]), uint32(stack[2]))
		stack[0] = uint64(ptr)
		return err
	}
	return nil
}
