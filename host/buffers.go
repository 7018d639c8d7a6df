package host

import "sync"

// buffers are what calls encode property values into, for all instances of a host.
type buffers struct{ idle sync.Pool }

// keptBuffer is the size, in bytes, up to which a buffer is used again: nearly all
// requests are smaller.
const keptBuffer = 1 << 20

// take returns an empty buffer, which may be nil.
func (b *buffers) take() *[]byte {
	if buffer, ok := b.idle.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// put takes a buffer that nobody reads any more.
func (b *buffers) put(buffer *[]byte) {
	if cap(*buffer) <= keptBuffer {
		*buffer = (*buffer)[:0]
		b.idle.Put(buffer)
	}
}
