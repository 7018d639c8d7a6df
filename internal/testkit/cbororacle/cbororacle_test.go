// Package cbororacle is the oracle for tests of package guestcbor: it decodes property values by
// wit/property.cddl, with a general CBOR library. An input must be what that library makes of the result,
// so that the oracle also judges what guestcbor encodes.
//
// It builds on fxamacker/cbor, which is made for hostile input, and adds what a general library
// cannot know: the value kinds, the limits across the whole input, and that an input must be its
// own encoding. Fuzzing compares the two packages: they accept the same inputs and write the same
// bytes. Only tests use the oracle.
package cbororacle

import (
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/husk-dev/husk/abi/property"
)

// Codec decodes within limits. Make one with New. It is safe for
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

// UnmarshalValue decodes a value of any kind. Errors are *property.DecodeError.
// The result keeps no part of data.
func UnmarshalValue(data []byte) (property.Value, error) { return defaultCodec.UnmarshalValue(data) }

// Tags of property values, see wit/property.cddl.
const (
	tagUnknown   = 48500
	tagSecret    = 48501
	tagOutput    = 48502
	tagAsset     = 48503
	tagArchive   = 48504
	tagReference = 48505
)

// Sources of assets and archives on the wire.
const (
	sourceNone   = uint64(0)
	sourceText   = uint64(1)
	sourcePath   = uint64(2)
	sourceURI    = uint64(3)
	sourceAssets = uint64(4)
)

// isBlob reports whether v may be a member of an archive.
func isBlob(v property.Value) bool {
	return v.Kind() == property.KindAsset || v.Kind() == property.KindArchive
}
