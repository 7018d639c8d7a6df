//go:build wasip1

package bindings

import (
	"sync"
	"unsafe"

	"github.com/husk-dev/husk/abi/canon"
)

// arena holds small parameters: names, URNs, and most properties, see canon.ArenaExport. The variables
// of this file are global because a module has one memory.
var arena struct {
	// free and end are the addresses between which the host may write: it moves free on.
	free, end uint32
	// chunk is the memory between them. before is the previous chunk, which may hold something
	// that nobody has taken over yet. A reference to a part keeps all of a chunk.
	chunk, before []byte
}

// received holds blocks that the host allocated and nobody has taken yet, usually in order. The lock is
// for goroutines that run while another waits for the garbage collector in cabi_realloc.
var received struct {
	sync.Mutex
	blocks [][]byte
	// spares are large blocks that nobody uses any more.
	spares [2][]byte
}

const (
	// chunkSize is the size of the arena in bytes: enough for the parameters of some calls.
	chunkSize = 16 << 10
	// leastFree is the number of bytes below which there is a new chunk for the next call.
	leastFree = 4 << 10
	// mostSpare is the size up to which a block is kept to be used again.
	mostSpare = 256 << 10
)

// offer returns the address of the bounds of the arena.
//
//go:wasmexport husk_arena
func offer() uint32 {
	if arena.chunk == nil {
		renew()
	}
	return uint32(uintptr(unsafe.Pointer(&arena.free)))
}

func renew() {
	arena.before, arena.chunk = arena.chunk, words(chunkSize)
	own.Begin, own.Size = address(arena.chunk), chunkSize
	arena.free, arena.end = own.Begin, own.Begin+chunkSize
}

// reallocate gives the host memory for parameters outside of the arena.
//
//go:wasmexport cabi_realloc
func reallocate(old, oldSize, align, size uint32) uint32 {
	if size == 0 {
		return align // not null, which other languages' pointers cannot be
	}
	received.Lock()
	block := allocate(size)
	if old != 0 && oldSize != 0 {
		copy(block, takeBlock(old, oldSize))
	}
	received.blocks = append(received.blocks, block)
	received.Unlock()
	return address(block)
}

// allocate returns memory that is aligned to 8, the most that the ABI needs. The lock is held.
func allocate(size uint32) []byte {
	aligned := (int(size) + 7) &^ 7
	for i, spare := range received.spares {
		if cap(spare) >= aligned && cap(spare) < 2*aligned {
			received.spares[i] = nil
			return spare[:size]
		}
	}
	return words(aligned)[:size]
}

// reuse takes a block that nobody refers to. A small one may be a part of a chunk, which is not reused.
func reuse(block []byte) {
	if len(block) <= chunkSize || cap(block) > mostSpare || address(block)%8 != 0 {
		return
	}
	received.Lock()
	defer received.Unlock()
	for i, spare := range received.spares {
		if cap(spare) < cap(block) {
			received.spares[i] = block
			return
		}
	}
}

// words returns so many bytes, a multiple of 8.
func words(size int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, size/8)))), size)
}

// takeBlock removes the received block of that address and size; nil for none. The lock is held.
func takeBlock(ptr, size uint32) []byte {
	for i, block := range received.blocks {
		if address(block) == ptr && len(block) == int(size) {
			last := len(received.blocks) - 1
			copy(received.blocks[i:], received.blocks[i+1:])
			received.blocks[last] = nil
			received.blocks = received.blocks[:last]
			return block
		}
	}
	return nil
}

// address returns where data lies. Go's garbage collector does not move it.
func address(data []byte) uint32 { return uint32(uintptr(unsafe.Pointer(&data[0]))) }

// frame is the memory of one call. It keeps the results of the call readable for the host.
type frame struct {
	pins  [][]byte
	first [6][]byte // pins of most calls
	codec codec
}

func (f *frame) View(ptr, n uint32) ([]byte, error) { return f.Take(ptr, n) }

func (f *frame) Take(ptr, n uint32) ([]byte, error) {
	if ptr-own.Begin >= own.Size {
		received.Lock()
		block := takeBlock(ptr, n)
		received.Unlock()
		if block != nil {
			return block, nil
		}
	}
	// The arena, the area for an import's result, or several values of a host in one allocation. Such
	// memory lives until the export returns, or as long as Go refers to it.
	return canon.BytesAt(unsafe.Add(nil, uintptr(ptr)), n), nil
}

// Charge allows everything: the host is trusted.
func (f *frame) Charge(uint64) error { return nil }

func (f *frame) Store(data []byte, _ uint32) (uint32, error) {
	if f.pins == nil {
		f.pins = f.first[:0]
	}
	f.pins = append(f.pins, data) // a Go allocation is aligned for its size
	return address(data), nil
}

func (f *frame) Codec() canon.Codec { return &f.codec }
