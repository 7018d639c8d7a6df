// Package strictcbor encodes records of files as CBOR (RFC 8949), each in one way, and decodes them
// within limits. Package checkedcbor adds a checksum. A property map of a provider is encoded by package
// property, and not here.
package strictcbor

import (
	"sync"

	"github.com/fxamacker/cbor/v2"
)

const (
	// maxElements bounds the elements of one array, and the pairs of one map.
	maxElements = 1 << 20
	// maxNesting bounds how deep values are nested.
	maxNesting = 16
)

var encoding = sync.OnceValue(func() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
})

var decoding = sync.OnceValue(func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       maxElements,
		MaxNestedLevels:   maxNesting,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constant
	}
	return mode
})

// Raw is a value that is decoded later.
type Raw = cbor.RawMessage

// Marshal encodes a value. Fields are named as for encoding/json.
func Marshal(v any) ([]byte, error) { return encoding().Marshal(v) }

// Unmarshal decodes a value. It is an error if anything follows, or if the value has a field that v has
// not, or one twice.
func Unmarshal(data []byte, v any) error { return decoding().Unmarshal(data, v) }

// UnmarshalFirst decodes a value, and returns the bytes behind it.
func UnmarshalFirst(data []byte, v any) (rest []byte, err error) {
	return decoding().UnmarshalFirst(data, v)
}
