//go:build !linux || 386 || arm || mips || mipsle

package image

import (
	"bytes"
	"errors"
	"sync"
)

// Shared reports whether memories share the pages of an image that they have not written.
const Shared = false

// page is one page of a memory.
type page struct {
	offset uint64
	data   []byte
}

// content is the pages that are not all zeros.
type content struct {
	size uint64

	mu     sync.RWMutex
	pages  []page
	closed bool
}

func newContent(size uint64, fill func([]byte) error) (*content, error) {
	memory := make([]byte, size)
	if err := fill(memory); err != nil {
		return nil, err
	}
	c := &content{size: size}
	for offset := uint64(0); offset < size; offset += PageSize {
		if p := memory[offset : offset+PageSize]; !bytes.Equal(p, zeros[:]) {
			c.pages = append(c.pages, page{offset, bytes.Clone(p)})
		}
	}
	return c, nil
}

func newContentOf(size uint64, runs []run) (*content, error) {
	c := &content{size: size}
	for _, r := range runs {
		for data := bytes.Clone(r.data); len(data) > 0; data = data[PageSize:] {
			c.pages = append(c.pages, page{r.offset, data[:PageSize]})
			r.offset += PageSize
		}
	}
	return c, nil
}

func (c *content) view(show func([]byte)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return ErrClosed
	}
	memory := make([]byte, c.size)
	c.copy(memory)
	show(memory)
	return nil
}

func (c *content) copy(memory []byte) {
	for _, p := range c.pages {
		copy(memory[p.offset:], p.data)
	}
}

func (c *content) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.pages = true, nil
	return nil
}

func (c *content) begin(size, limit uint64) (Memory, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return nil, ErrClosed
	}
	m := &copied{memory: make([]byte, size), limit: limit}
	c.copy(m.memory)
	return m, nil
}

// copied is a memory of Go's. Its largest size stays allocated behind its end.
type copied struct {
	memory []byte
	limit  uint64
}

// Reallocate returns the memory at its new size, nil if it cannot be that large.
func (m *copied) Reallocate(size uint64) []byte {
	switch {
	case size > m.limit:
		return nil
	case size > uint64(len(m.memory)):
		// Guests grow by little at a time: room for a quarter more.
		room := max(size, min(m.limit, size+size/4))
		memory := make([]byte, room)
		copy(memory, m.memory)
		m.memory = memory
	}
	return m.memory[:size:size]
}

// Restore fails: a new memory is as good.
func (m *copied) Restore() error { return errors.ErrUnsupported }

func (m *copied) Free() { m.memory = nil }
