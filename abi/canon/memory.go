package canon

import "github.com/husk-dev/husk/abi/property"

// Memory is a module's linear memory as one call sees it, on the side of the host or of the guest.
type Memory interface {
	// View returns n > 0 bytes at ptr, to be read before the module runs again. The error is
	// ErrOutOfBounds if there are fewer.
	View(ptr, n uint32) ([]byte, error)
	// Take returns n > 0 bytes at ptr to keep.
	Take(ptr, n uint32) ([]byte, error)
	// Charge accounts for n bytes before they are allocated, and fails if the call may use no more.
	Charge(n uint64) error
	// Store puts data, which is not empty, into an allocation of its own in the module, and returns
	// its address. The host neither keeps nor changes data. In the guest the allocation may be data
	// itself, which then must not change.
	Store(data []byte, align uint32) (ptr uint32, err error)
	// Codec returns the encoding of property values.
	Codec() Codec
}

// Codec encodes property values as wit/property.cddl says. A host's must not keep its input.
type Codec interface {
	Marshal(property.Map) ([]byte, error)
	MarshalValue(property.Value) ([]byte, error)
	Unmarshal([]byte) (property.Map, error)
	UnmarshalValue([]byte) (property.Value, error)
}

// extent reads the address and number of bytes or elements.
func extent(b []byte) (ptr, n uint32) {
	v := u64(b)
	return uint32(v), uint32(v >> 32)
}

// putExtent is the reverse of extent.
func putExtent(b []byte, ptr, n uint32) { putU64(b, uint64(ptr)|uint64(n)<<32) }
