package guestcall

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host/limit"
)

// Codec is the host's encoding of property values. The size of each value is bounded.
type Codec struct {
	Most int
	Call *CallBuffers
	// Pass counts bytes that are held until the guest calls the host again, or its call ends.
	Pass func(bytes uint64) error
}

// CallBuffers has the data that crosses the boundary between the host and an instance.
type CallBuffers struct {
	// In and Out count the bytes of property values.
	In, Out atomic.Uint64
	// sent are the maps that the running call has encoded, into buffer: olds and news are often the same map, and a guest often
	// returns a map that it was sent.
	sent   []sentMap
	buffer *[]byte
}

type sentMap struct {
	properties property.Map
	encoding   []byte
}

// Begin gives a call a buffer, and End takes it back.
func (t *CallBuffers) Begin(buffers *Buffers) { t.buffer = buffers.take() }

func (t *CallBuffers) End(buffers *Buffers) {
	clear(t.sent)
	t.sent = t.sent[:0]
	buffers.put(t.buffer)
	t.buffer = nil
}

// Marshal encodes a property map. The encoding is part of the call's buffer.
func (c Codec) Marshal(m property.Map) ([]byte, error) {
	for _, s := range c.Call.sent {
		if s.properties.Is(m) {
			return c.bounded(s.encoding)
		}
	}
	data, err := c.append(property.Object(m))
	if err == nil {
		c.Call.sent = append(c.Call.sent, sentMap{m, data})
	}
	return data, err
}

// MarshalValue encodes a value like Marshal.
func (c Codec) MarshalValue(v property.Value) ([]byte, error) { return c.append(v) }

// append appends the encoding of a value to the call's buffer.
func (c Codec) append(v property.Value) ([]byte, error) {
	begin := len(*c.Call.buffer)
	buffer, err := guestcbor.AppendValue(*c.Call.buffer, v)
	if err != nil {
		return nil, err
	}
	*c.Call.buffer = buffer
	return c.bounded(buffer[begin:len(buffer):len(buffer)])
}

// Unmarshal decodes a copy of data, which may be memory of a guest. The map shares the copy's bytes.
func (c Codec) Unmarshal(data []byte) (property.Map, error) {
	c.Call.Out.Add(uint64(len(data)))
	for _, s := range c.Call.sent {
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

// UnmarshalValue decodes a value like Unmarshal.
func (c Codec) UnmarshalValue(data []byte) (property.Value, error) {
	c.Call.Out.Add(uint64(len(data)))
	return c.decode(data)
}

// itemBytes is the most memory of a decoded data item, beside its text; see [property.Limits].
const itemBytes = 100

// decode decodes a value, which takes more than its encoding.
func (c Codec) decode(data []byte) (property.Value, error) {
	v, items, err := guestcbor.Codec{}.UnmarshalCounted(bytes.Clone(data))
	if err == nil {
		err = c.Pass(uint64(items) * itemBytes)
	}
	return v, err
}

// bounded counts an encoding, unless it is too large.
func (c Codec) bounded(data []byte) ([]byte, error) {
	if len(data) > c.Most {
		return nil, &limit.ExceededError{Limit: limit.Request, Most: uint64(c.Most)}
	}
	c.Call.In.Add(uint64(len(data)))
	return data, nil
}

// Buffers are the buffers that calls encode property values into, for all instances of a host.
type Buffers struct{ idle sync.Pool }

// keptBuffer is the size in bytes up to which a buffer is used again.
const keptBuffer = 1 << 20

// take returns an empty buffer, which may be nil.
func (b *Buffers) take() *[]byte {
	if buffer, ok := b.idle.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// put takes a buffer that nobody reads any more.
func (b *Buffers) put(buffer *[]byte) {
	if cap(*buffer) <= keptBuffer {
		*buffer = (*buffer)[:0]
		b.idle.Put(buffer)
	}
}
