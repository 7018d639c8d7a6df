//go:build wasip1

package bindings

import (
	"unsafe"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// codec is the encoding of the properties of one call, which the host is trusted with. Most properties
// are never decoded, and go back as they came. Equal encodings, such as olds and news, are one map, so
// that a comparison takes no time.
type codec struct {
	// opened are the first so many that a call had.
	opened [4]opened
	n      int
}

// opened is a map, and its encoding.
type opened struct {
	encoding string
	property.Map
}

// begin prepares the codec for another call.
func (c *codec) begin() {
	c.opened, c.n = [len(c.opened)]opened{}, 0
}

func (c *codec) Unmarshal(data []byte) (property.Map, error) {
	text := unsafe.String(unsafe.SliceData(data), len(data))
	for i := range c.n {
		o := &c.opened[i]
		if len(o.encoding) != len(text) {
			continue
		}
		if unsafe.StringData(o.encoding) == unsafe.StringData(text) {
			return o.Map, nil
		}
		if property.EqualText(o.encoding, text) {
			reuse(data)
			return o.Map, nil
		}
	}
	m, err := guestcbor.OpenTrusted(data)
	if err == nil && m.Len() > 0 && c.n < len(c.opened) {
		c.opened[c.n] = opened{text, m}
		c.n++
	}
	return m, err
}

func (c *codec) UnmarshalValue(data []byte) (property.Value, error) {
	return guestcbor.OpenTrustedValue(data)
}

func (c *codec) Marshal(m property.Map) ([]byte, error) {
	if encoding, ok := m.Encoding(); ok {
		// Nobody changes it.
		return canon.BytesAt(unsafe.Pointer(unsafe.StringData(encoding)), uint32(len(encoding))), nil
	}
	return guestcbor.Marshal(m)
}

func (c *codec) MarshalValue(v property.Value) ([]byte, error) { return guestcbor.MarshalValue(v) }
