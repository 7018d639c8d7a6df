package host

import (
	"bytes"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// codec is the host's encoding of property values, with a bound in bytes on each that is
// passed to a guest.
type codec struct{ most int }

func (c codec) Marshal(m property.Map) ([]byte, error) { return c.bounded(guestcbor.Marshal(m)) }

func (c codec) MarshalValue(v property.Value) ([]byte, error) {
	return c.bounded(guestcbor.MarshalValue(v))
}

// Unmarshal decodes data, which may be memory of a guest: what is decoded shares the
// bytes of a copy, made before anything is read.
func (codec) Unmarshal(data []byte) (property.Map, error) {
	return guestcbor.Unmarshal(bytes.Clone(data))
}

func (codec) UnmarshalValue(data []byte) (property.Value, error) {
	return guestcbor.UnmarshalValue(bytes.Clone(data))
}

func (c codec) bounded(data []byte, err error) ([]byte, error) {
	if err == nil && len(data) > c.most {
		return nil, &ExceededError{LimitRequest, uint64(c.most)}
	}
	return data, err
}
