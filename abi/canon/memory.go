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

// extent reads what says where bytes or elements lie: their address and number.
func extent(b []byte) (ptr, n uint32) {
	v := u64(b)
	return uint32(v), uint32(v >> 32)
}

// putExtent is the reverse of extent.
func putExtent(b []byte, ptr, n uint32) { putU64(b, uint64(ptr)|uint64(n)<<32) }
