package host

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/hostcbor"
)

// codec is the host's encoding of property values, with a bound in bytes on each that is
// passed to a guest.
type codec struct{ most int }

func (c codec) Marshal(m property.Map) ([]byte, error) { return c.bounded(hostcbor.Marshal(m)) }

func (c codec) MarshalValue(v property.Value) ([]byte, error) {
	return c.bounded(hostcbor.MarshalValue(v))
}

func (codec) Unmarshal(data []byte) (property.Map, error) { return hostcbor.Unmarshal(data) }

func (codec) UnmarshalValue(data []byte) (property.Value, error) {
	return hostcbor.UnmarshalValue(data)
}

func (c codec) bounded(data []byte, err error) ([]byte, error) {
	if err == nil && len(data) > c.most {
		return nil, &ExceededError{LimitRequest, uint64(c.most)}
	}
	return data, err
}
