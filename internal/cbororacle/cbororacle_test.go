// Package cbororacle is the oracle for tests of package guestcbor: it encodes and decodes property
// values by wit/property.cddl, with a general CBOR library.
//
// It builds on fxamacker/cbor, which is made for hostile input, and adds what a general library
// cannot know: the value kinds, the limits across the whole input, and that an input must be its
// own encoding. Fuzzing compares the two packages: they accept the same inputs and write the same
// bytes. Only tests use the oracle.
package cbororacle

import (
	"bytes"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/husk-dev/husk/abi/property"
)

// Codec encodes and decodes within limits. Make one with New. It is safe for
// concurrent use.
type Codec struct {
	limits property.Limits
	decode cbor.DecMode
	encode cbor.UserBufferEncMode
}

var defaultCodec = New(property.Limits{})

// itemsPerLevel is how many data items nest in one level of a value at most: the
// tag, the array, and the map of a literal archive. The nesting limit of
// fxamacker/cbor counts data items; with this factor (and a tag's array in the
// innermost level) it is never tighter than Limits.Depth.
const itemsPerLevel = 3

// New returns a codec with the limits; zero fields of them are the defaults.
func New(limits property.Limits) *Codec {
	limits = limits.WithDefaults()
	// The number of all data items is checked beforehand.
	const maxElements = math.MaxInt32
	decode, err := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		BignumTag:        cbor.BignumTagForbidden,
		UTF8:             cbor.UTF8RejectInvalid,
		DefaultMapType:   reflect.TypeFor[map[string]any](),
		MaxNestedLevels:  itemsPerLevel*limits.Depth + 4,
		MaxArrayElements: maxElements,
		MaxMapPairs:      maxElements,
	}.DecMode()
	if err != nil {
		panic(err) // the options do not depend on input
	}
	encode, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return &Codec{limits: limits, decode: decode, encode: encode}
}

// MarshalValue returns the encoding of v. Errors are *property.EncodeError.
func MarshalValue(v property.Value) ([]byte, error) { return defaultCodec.MarshalValue(v) }

// UnmarshalValue decodes a value of any kind. Errors are *property.DecodeError.
// The result keeps no part of data.
func UnmarshalValue(data []byte) (property.Value, error) { return defaultCodec.UnmarshalValue(data) }

// Marshal returns the encoding of m. Errors are *property.EncodeError.
func (c *Codec) Marshal(m property.Map) ([]byte, error) { return c.Append(nil, m) }

// MarshalValue returns the encoding of v.
func (c *Codec) MarshalValue(v property.Value) ([]byte, error) { return c.appendValue(nil, v) }

// Append appends the encoding of m to dst. If it fails, it returns dst unchanged.
func (c *Codec) Append(dst []byte, m property.Map) ([]byte, error) {
	return c.appendValue(dst, property.Object(m))
}

func (c *Codec) appendValue(dst []byte, v property.Value) ([]byte, error) {
	b := builder{items: c.limits.Items - 1, depth: c.limits.Depth}
	item := b.item(v)
	if b.fault != 0 {
		return dst, b.err(c.limits)
	}
	out := bytes.NewBuffer(dst)
	if err := c.encode.MarshalToBuffer(item, out); err != nil {
		return dst, &property.EncodeError{Fault: property.FaultMalformed}
	}
	if out.Len()-len(dst) > c.limits.Size {
		return dst, &property.EncodeError{Fault: property.FaultTooLarge, Limit: c.limits.Size}
	}
	return out.Bytes(), nil
}
