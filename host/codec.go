package host

import (
	"bytes"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host/limit"
)

// codec is the host's encoding of property values, with a bound in bytes on each that is
// passed to a guest.
type codec struct {
	most   int
	call   *callBuffers
	ledger *ledger
}

// callBuffers is what crosses the boundary between the host and an instance.
type callBuffers struct {
	// in and out count the bytes of property values.
	in, out atomic.Uint64
	// sent are the maps that the running call has encoded, and buffer holds their
	// encodings: olds and news are often the same map, and what a guest answers is often
	// what it was sent.
	sent   []sentMap
	buffer *[]byte
}

type sentMap struct {
	properties property.Map
	encoding   []byte
}

// begin gives a call a buffer, and end takes it back.
func (t *callBuffers) begin(buffers *buffers) { t.buffer = buffers.take() }

func (t *callBuffers) end(buffers *buffers) {
	clear(t.sent)
	t.sent = t.sent[:0]
	buffers.put(t.buffer)
	t.buffer = nil
}

func (c codec) Marshal(m property.Map) ([]byte, error) {
	for _, s := range c.call.sent {
		if s.properties.Is(m) {
			return c.bounded(s.encoding, nil)
		}
	}
	data, err := c.bounded(c.append(func(to []byte) ([]byte, error) { return guestcbor.Append(to, m) }))
	if err == nil {
		c.call.sent = append(c.call.sent, sentMap{m, data})
	}
	return data, err
}

func (c codec) MarshalValue(v property.Value) ([]byte, error) {
	return c.bounded(c.append(func(to []byte) ([]byte, error) { return guestcbor.AppendValue(to, v) }))
}

// append returns what encode appends to the call's buffer. What was appended before stays
// as it is, even if the buffer has to be moved.
func (c codec) append(encode func([]byte) ([]byte, error)) ([]byte, error) {
	begin := len(*c.call.buffer)
	buffer, err := encode(*c.call.buffer)
	if err != nil {
		return nil, err
	}
	*c.call.buffer = buffer
	return buffer[begin:len(buffer):len(buffer)], nil
}

// Unmarshal decodes data, which may be memory of a guest: what is decoded shares the
// bytes of a copy, made before anything is read.
func (c codec) Unmarshal(data []byte) (property.Map, error) {
	c.call.out.Add(uint64(len(data)))
	for _, s := range c.call.sent {
		if bytes.Equal(s.encoding, data) {
			return s.properties, nil
		}
	}
	v, err := c.decode(data)
	if err != nil {
		return property.Map{}, err
	}
	m, ok := v.AsObject()
	if !ok {
		return property.Map{}, &property.DecodeError{Fault: property.FaultType}
	}
	return m, nil
}

func (c codec) UnmarshalValue(data []byte) (property.Value, error) {
	c.call.out.Add(uint64(len(data)))
	return c.decode(data)
}

// itemBytes is what a decoded data item takes at most, beside the text; see [property.Limits].
const itemBytes = 100

// decode decodes a value, which takes more than its encoding.
func (c codec) decode(data []byte) (property.Value, error) {
	v, items, err := guestcbor.Codec{}.UnmarshalCounted(bytes.Clone(data))
	if err == nil {
		err = c.ledger.pass(uint64(items) * itemBytes)
	}
	return v, err
}

func (c codec) bounded(data []byte, err error) ([]byte, error) {
	if err == nil && len(data) > c.most {
		return nil, &limit.ExceededError{Limit: limit.Request, Most: uint64(c.most)}
	}
	c.call.in.Add(uint64(len(data)))
	return data, err
}
