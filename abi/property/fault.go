package property

import "strconv"

// Fault is the kind of fault of an encoding or a value. DecodeError and EncodeError wrap it.
type Fault uint8

// The faults of encodings.
const (
	// FaultTruncated: the input ends inside a value.
	FaultTruncated Fault = iota + 1
	// FaultTrailing: bytes follow the value.
	FaultTrailing
	// FaultMalformed: the bytes are not CBOR.
	FaultMalformed
	// FaultIndefiniteLength: a text, array, or map has no length in its head.
	FaultIndefiniteLength
	// FaultNotShortest: a length, tag, integer, or float is not in its shortest form.
	FaultNotShortest
	// FaultType: well-formed CBOR that is not a property value, such as an integer, a byte string, a map whose key is not text,
	// or, for a Map, anything but a map.
	FaultType
	// FaultUnknownTag: a tag that property values do not have.
	FaultUnknownTag
	// FaultTagContents: a known tag whose contents are not what the tag requires.
	FaultTagContents
	// FaultDuplicateKey: a map has a key twice.
	FaultDuplicateKey
	// FaultKeyOrder: a map's keys are not in the order of deterministic CBOR.
	FaultKeyOrder
	// FaultInvalidUTF8: a text is not valid UTF-8.
	FaultInvalidUTF8
	// FaultTooLarge: the encoding is larger than Limits.Size.
	FaultTooLarge
	// FaultTooDeep: values nest deeper than Limits.Depth.
	FaultTooDeep
	// FaultTooManyItems: there are more data items than Limits.Items.
	FaultTooManyItems
)

var faultTexts = [...]string{
	FaultTruncated:        "the input ends inside a value",
	FaultTrailing:         "bytes follow the value",
	FaultMalformed:        "not well-formed CBOR",
	FaultIndefiniteLength: "indefinite lengths are not allowed",
	FaultNotShortest:      "not in the shortest form",
	FaultType:             "not a property value of an allowed type",
	FaultUnknownTag:       "unknown tag",
	FaultTagContents:      "the contents do not fit the tag",
	FaultDuplicateKey:     "duplicate key",
	FaultKeyOrder:         "key out of order (shorter keys first, then bytewise)",
	FaultInvalidUTF8:      "text is not valid UTF-8",
	FaultTooLarge:         "encoding is too large",
	FaultTooDeep:          "values are nested too deep",
	FaultTooManyItems:     "too many data items",
}

func (f Fault) Error() string {
	if f == 0 || int(f) >= len(faultTexts) {
		return "invalid"
	}
	return faultTexts[f]
}

// DecodeError reports bytes that are not the encoding of a property value.
type DecodeError struct {
	Fault Fault
	// Offset is where, in bytes from the start of the input.
	Offset int
	// Limit is the limit that was exceeded, 0 for faults that are not about one.
	Limit int
}

func (e *DecodeError) Error() string {
	return "cannot decode properties: byte " + strconv.Itoa(e.Offset) + ": " + e.Fault.Error() + limitSuffix(e.Limit)
}

// Unwrap returns the fault.
func (e *DecodeError) Unwrap() error { return e.Fault }

// EncodeError reports a value that has no encoding.
type EncodeError struct {
	// Fault is the fault: FaultInvalidUTF8, FaultTagContents (an archive with a member that is neither an asset nor an archive, a
	// source that the kind does not have), or a limit.
	Fault Fault
	// Path is where, as far as the encoder knows; the empty path is the whole value.
	Path Path
	// Limit is the limit that was exceeded, 0 for faults that are not about one.
	Limit int
}

func (e *EncodeError) Error() string {
	where := ""
	if len(e.Path) > 0 {
		where = e.Path.String() + ": "
	}
	return "cannot encode properties: " + where + e.Fault.Error() + limitSuffix(e.Limit)
}

// Unwrap returns the fault.
func (e *EncodeError) Unwrap() error { return e.Fault }

func limitSuffix(limit int) string {
	if limit == 0 {
		return ""
	}
	return " (the limit is " + strconv.Itoa(limit) + ")"
}
