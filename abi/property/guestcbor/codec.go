// Package guestcbor encodes and decodes property values as wit/property.cddl
// says, in calls of guests, on both sides. It is small and uses no reflection: in a
// guest, where code runs some ten times slower, that halves the module and makes
// calls several times faster than a general CBOR library does.
//
// The tests in internal/testkit/cbororacle do the same with such a library. Fuzzing compares the two.
package guestcbor

import "github.com/husk-dev/husk/abi/property"

// Codec encodes and decodes within limits. The zero Codec has the default limits.
// It is safe for concurrent use.
type Codec struct {
	limits property.Limits
}

// New returns a codec with the limits; zero fields of them are the defaults.
func New(limits property.Limits) Codec { return Codec{limits} }

// Marshal returns the encoding of m. Errors are *property.EncodeError.
func Marshal(m property.Map) ([]byte, error) { return Codec{}.Marshal(m) }

// MarshalValue returns the encoding of v. Errors are *property.EncodeError.
func MarshalValue(v property.Value) ([]byte, error) { return Codec{}.MarshalValue(v) }

// AppendValue appends the encoding of v to dst. Errors are *property.EncodeError, with an unchanged dst.
func AppendValue(dst []byte, v property.Value) ([]byte, error) { return Codec{}.appendValue(dst, v) }

// Unmarshal decodes an object. Errors are *property.DecodeError.
//
// The strings of the result share data, which nobody may change while the result is in use.
func Unmarshal(data []byte) (property.Map, error) { return Codec{}.Unmarshal(data) }

// UnmarshalValue decodes a value of any kind; see Unmarshal.
func UnmarshalValue(data []byte) (property.Value, error) { return Codec{}.UnmarshalValue(data) }

// Marshal is the function Marshal within the limits of c.
func (c Codec) Marshal(m property.Map) ([]byte, error) { return c.Append(nil, m) }

// MarshalValue is the function MarshalValue within the limits of c.
func (c Codec) MarshalValue(v property.Value) ([]byte, error) { return c.appendValue(nil, v) }

// Append appends the encoding of m to dst, see AppendValue.
func (c Codec) Append(dst []byte, m property.Map) ([]byte, error) {
	return c.appendValue(dst, property.Object(m))
}
