package canon

import "github.com/husk-dev/husk/abi/property"

// Memory is a module's linear memory as one call sees it, from the side of the
// host or of the guest itself.
type Memory interface {
	// View returns n > 0 bytes at ptr, to be read before anything else runs in the
	// module. The error is ErrOutOfBounds where there are not as many.
	View(ptr, n uint32) ([]byte, error)
	// Take returns n > 0 bytes at ptr to keep.
	Take(ptr, n uint32) ([]byte, error)
	// Charge accounts for n bytes that the caller is about to allocate for what it
	// reads, and fails where the call may use no more.
	Charge(n uint64) error
	// Store makes data, which is not empty, readable for the module in an allocation
	// of its own, and returns its address. It neither keeps nor changes data on the
	// host; in the guest it may be data itself, which then must not change.
	Store(data []byte, align uint32) (ptr uint32, err error)
	// Codec returns the encoding of property values.
	Codec() Codec
}

// Codec is the encoding of property values, as wit/property.cddl defines it. On the
// host it must not keep what it decodes from; in the guest it may.
type Codec interface {
	Marshal(property.Map) ([]byte, error)
	MarshalValue(property.Value) ([]byte, error)
	Unmarshal([]byte) (property.Map, error)
	UnmarshalValue([]byte) (property.Value, error)
}

// Numbers in memory are little-endian. (encoding/binary imports reflect.)

func u16(b []byte) uint16 { _ = b[1]; return uint16(b[0]) | uint16(b[1])<<8 }

func u32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func u64(b []byte) uint64 { return uint64(u32(b)) | uint64(u32(b[4:]))<<32 }

func putU16(b []byte, v uint16) { _ = b[1]; b[0], b[1] = byte(v), byte(v>>8) }

func putU32(b []byte, v uint32) {
	_ = b[3]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

func putU64(b []byte, v uint64) { putU32(b, uint32(v)); putU32(b[4:], uint32(v>>32)) }
