package canon

import (
	"math"
	"unsafe"
)

// Own is the memory of the program itself, which is a module that answers calls. Its host has
// placed the parameters there, and reads the answer where it lies. As the canonical ABI has
// it, the host is trusted to pass what the contract says: text is not looked through again.
type Own struct {
	// Begin and Size are where the arena is, see [ArenaExport]: what lies there need not be
	// taken from the Memory.
	Begin, Size uint32
	// Codec decodes and encodes the properties of the call.
	Codec Codec

	// pins keep the first so many things that the answer refers to, and more the others.
	pins   [8]unsafe.Pointer
	pinned int
	more   []unsafe.Pointer
	// records is for the lists of most answers.
	records [32]uint64
}

// Release lets go of the answer, which nobody reads any more.
func (o *Own) Release() {
	o.pins, o.pinned = [len(o.pins)]unsafe.Pointer{}, 0
	o.more = nil
}

// keep keeps what is at p until the answer is released, and returns the address.
func (o *Own) keep(p unsafe.Pointer) uint32 {
	if n := o.pinned; n < len(o.pins) {
		o.pins[n], o.pinned = p, n+1
	} else {
		o.more = append(o.more, p)
	}
	return uint32(uintptr(p))
}

// room is where the elements of the answer's lists may lie.
func (o *Own) room() []byte {
	return BytesAt(unsafe.Pointer(&o.records), uint32(unsafe.Sizeof(o.records)))
}

// placed returns the bytes that a string or a list of bytes consists of, which belong to
// whoever asks; ok is false where they are none, or lie elsewhere.
func (o *Own) placed(b []byte) (data []byte, ok bool) {
	ptr, n := extent(b)
	if ptr-o.Begin >= o.Size {
		return nil, false
	}
	return BytesAt(unsafe.Add(nil, uintptr(ptr)), n), true
}

// BytesAt is unsafe.Slice for bytes. To make sure that n elements of one byte fit into the
// memory, the compiler has that call a function that multiplies, in WebAssembly.
func BytesAt(p unsafe.Pointer, n uint32) []byte { return (*[math.MaxInt32]byte)(p)[:n:n] }

// taken is placed for what lies elsewhere.
func (l *lifter) taken(b []byte, field string) []byte {
	ptr, n := extent(b)
	if n == 0 {
		return nil
	}
	data, err := l.mem.Take(ptr, n)
	if err != nil {
		l.fail(field, err)
	}
	return data
}
