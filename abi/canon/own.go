package canon

import (
	"math"
	"unsafe"
)

// Own is the memory of the program itself, a module that serves calls. Its host places the
// parameters there, and reads the result where it lies. By the canonical ABI the host is trusted:
// texts are not checked again.
type Own struct {
	// Begin and Size are the arena, see [ArenaExport]. Data there is not read through the Memory.
	Begin, Size uint32
	// Codec decodes and encodes the properties of the call.
	Codec Codec

	// pins keep the first things that the result refers to, and more the others.
	pins   [8]unsafe.Pointer
	pinned int
	more   []unsafe.Pointer
	// records is for the lists of most results.
	records [32]uint64
}

// Release lets go of the result, which nobody reads any more.
func (o *Own) Release() {
	o.pins, o.pinned = [len(o.pins)]unsafe.Pointer{}, 0
	o.more = nil
}

// keep keeps the memory at p until Release, and returns its address.
func (o *Own) keep(p unsafe.Pointer) uint32 {
	if n := o.pinned; n < len(o.pins) {
		o.pins[n], o.pinned = p, n+1
	} else {
		o.more = append(o.more, p)
	}
	return uint32(uintptr(p))
}

// room is for the elements of the result's lists.
func (o *Own) room() []byte {
	return BytesAt(unsafe.Pointer(&o.records), uint32(unsafe.Sizeof(o.records)))
}

// placed returns the bytes of a string or list of bytes, for the caller to own. ok is false if there
// are none, or they lie elsewhere.
func (o *Own) placed(b []byte) (data []byte, ok bool) {
	ptr, n := extent(b)
	if ptr-o.Begin >= o.Size {
		return nil, false
	}
	return BytesAt(unsafe.Add(nil, uintptr(ptr)), n), true
}

// BytesAt is unsafe.Slice for bytes, without its check, which takes a call in WebAssembly.
func BytesAt(p unsafe.Pointer, n uint32) []byte { return (*[math.MaxInt32]byte)(p)[:n:n] }

// taken is placed for bytes elsewhere.
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
