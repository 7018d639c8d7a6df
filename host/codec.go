package host

import (
	"bytes"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// codec is the host's encoding of property values, with a bound in bytes on each that is
// passed to a guest.
type codec struct {
	most    int
	traffic *traffic
}

// traffic counts the bytes of property values that cross the boundary.
type traffic struct{ in, out atomic.Uint64 }

func (c codec) Marshal(m property.Map) ([]byte, error) { return c.bounded(guestcbor.Marshal(m)) }

func (c codec) MarshalValue(v property.Value) ([]byte, error) {
	return c.bounded(guestcbor.MarshalValue(v))
}

// Unmarshal decodes data, which may be memory of a guest: what is decoded shares the
// bytes of a copy, made before anything is read.
func (c codec) Unmarshal(data []byte) (property.Map, error) {
	c.traffic.out.Add(uint64(len(data)))
	return guestcbor.Unmarshal(bytes.Clone(data))
}

func (c codec) UnmarshalValue(data []byte) (property.Value, error) {
	c.traffic.out.Add(uint64(len(data)))
	return guestcbor.UnmarshalValue(bytes.Clone(data))
}

func (c codec) bounded(data []byte, err error) ([]byte, error) {
	if err == nil && len(data) > c.most {
		return nil, &ExceededError{LimitRequest, uint64(c.most)}
	}
	c.traffic.in.Add(uint64(len(data)))
	return data, err
}
