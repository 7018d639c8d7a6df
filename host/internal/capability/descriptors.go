package capability

import (
	"sync"

	"github.com/husk-dev/husk/host/internal/wasi"
)

// Descriptors numbers what a guest can wait for, and wakes a guest that does.
type Descriptors struct {
	last    uint32
	changed chan struct{}
}

// NewDescriptors returns the descriptors of one instance.
func NewDescriptors() *Descriptors {
	return &Descriptors{last: wasi.FirstSocket, changed: make(chan struct{}, 1)}
}

// next returns a number that was not used before.
func (d *Descriptors) next() uint32 {
	d.last++
	return d.last
}

// Changed returns a channel that receives after a descriptor has become ready.
func (d *Descriptors) Changed() <-chan struct{} { return d.changed }

// wake makes Changed receive. It is safe for concurrent use.
func (d *Descriptors) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

const (
	// bufferSize is the capacity of a [buffer], in bytes.
	bufferSize = 64 << 10
	// firstBuffer is its size at first, enough for most answers.
	firstBuffer = 4 << 10
)

// buffer has bytes that were written and not read yet. One goroutine writes, another one reads.
type buffer struct {
	mu sync.Mutex
	// room is signalled when something was read or the reader has ended, and data when something was written or
	// the writer has ended.
	room, data sync.Cond
	bytes      []byte
	// from and to are where in bytes the unread ones begin and end.
	from, to int
	// err ends what can be read; nil until the writer has ended.
	err error
	// closed is set once nobody reads any more.
	closed bool
}

func newBuffer() *buffer {
	b := &buffer{}
	b.room.L, b.data.L = &b.mu, &b.mu
	return b
}

// space returns bytes that can be written to, nil if the buffer is full. The lock is held.
func (b *buffer) space() []byte {
	if b.from == b.to {
		b.from, b.to = 0, 0
	}
	if b.to < len(b.bytes) {
		return b.bytes[b.to:]
	}
	switch size := len(b.bytes); {
	case size == 0:
		b.bytes = make([]byte, firstBuffer)
	case size < bufferSize:
		larger := make([]byte, 4*size)
		b.from, b.to, b.bytes = 0, copy(larger, b.bytes[b.from:b.to]), larger
	case b.from >= size/2:
		b.from, b.to = 0, copy(b.bytes, b.bytes[b.from:])
	}
	return b.bytes[b.to:]
}

// awaitSpace returns bytes that can be written to, nil once nobody reads any more.
func (b *buffer) awaitSpace() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed {
		if space := b.space(); len(space) > 0 {
			return space
		}
		b.room.Wait()
	}
	return nil
}

// filled adds n bytes, which were written to the beginning of the space.
func (b *buffer) filled(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to += n
	b.data.Signal()
}

// write adds as many bytes as fit.
func (b *buffer) write(p []byte) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return len(p) // nobody wants it
	}
	n := copy(b.space(), p)
	b.to += n
	b.data.Signal()
	return n
}

// end ends what can be read with an error, unless it has ended.
func (b *buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.data.Signal()
}

// read returns the bytes so far, [wasi.ErrWouldWait] for none yet.
func (b *buffer) read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.from < b.to:
		n := copy(p, b.bytes[b.from:b.to])
		b.from += n
		b.room.Signal()
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return 0, wasi.ErrWouldWait
}

// awaitData returns once there is something to read, or nothing more.
func (b *buffer) awaitData() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.from == b.to && b.err == nil && !b.closed {
		b.data.Wait()
	}
}

// readable reports whether there is something to read, or nothing more.
func (b *buffer) readable() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.from < b.to || b.err != nil
}

// writable reports whether there is space.
func (b *buffer) writable() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed || len(b.space()) > 0
}

// close ends reading.
func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.room.Signal()
	b.data.Signal()
}
