package host

import (
	"fmt"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/hostcbor"
)

// codec is the host's encoding of property values, with a bound on those of requests.
type codec struct{}

func (codec) Marshal(m property.Map) ([]byte, error) { return bounded(hostcbor.Marshal(m)) }

func (codec) MarshalValue(v property.Value) ([]byte, error) {
	return bounded(hostcbor.MarshalValue(v))
}

func (codec) Unmarshal(data []byte) (property.Map, error) { return hostcbor.Unmarshal(data) }

func (codec) UnmarshalValue(data []byte) (property.Value, error) {
	return hostcbor.UnmarshalValue(data)
}

func bounded(data []byte, err error) ([]byte, error) {
	if err == nil && len(data) > MaxRequestBytes {
		return nil, fmt.Errorf("the values take %d bytes, at most %d can be passed", len(data), MaxRequestBytes)
	}
	return data, err
}
