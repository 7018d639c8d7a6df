// Package image keeps the memory of an instance as it was at one moment, so that other
// instances begin with it in place of doing again what led there. Where the system has
// them, memories are private mappings of one shared image: an instance costs the pages
// that it writes, starts in the time of a few system calls, and grows in place. Elsewhere
// the pages that hold something are copied.
package image

import (
	"bytes"
	"errors"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// PageSize is the unit in which images are compared and kept, in bytes. It is the page
// of most processors; nothing depends on it but the cost.
const PageSize = 4096

// WasmPage is the unit of a memory's size in bytes.
const WasmPage = 64 << 10

// Image is a memory at one moment. It is not changed any more, and safe for concurrent
// use until it is closed.
type Image struct {
	size uint64
	// base is what instances map, or copy.
	base *content
	owns bool

	mu sync.RWMutex
	// pages are those that differ from base.
	pages  []page
	closed bool
}

// page is one page of a memory.
type page struct {
	offset uint64
	data   []byte
}

// ErrClosed is an image that was closed.
var ErrClosed = errors.New("the image is closed")

// Make makes an image of so many bytes, a multiple of [WasmPage], with the content that
// fill writes into the zeros that it gets.
func Make(size uint64, fill func([]byte) error) (*Image, error) {
	c, err := newContent(size, fill)
	if err != nil {
		return nil, err
	}
	return &Image{size: size, base: c, owns: true}, nil
}

// Of makes an image of a memory.
func Of(memory []byte) (*Image, error) {
	return Make(uint64(len(memory)), func(into []byte) error {
		for offset := 0; offset < len(memory); offset += PageSize {
			if p := memory[offset : offset+PageSize]; !bytes.Equal(p, zeros[:]) {
				copy(into[offset:], p)
			}
		}
		return nil
	})
}

// Derive makes an image of a memory that began with this one, and holds only what is
// different. It must be closed before this one is.
func (i *Image) Derive(memory []byte) (*Image, error) {
	d := &Image{size: uint64(len(memory)), base: i.base}
	err := i.base.view(func(base []byte) {
		for offset := 0; offset < len(memory); offset += PageSize {
			was := zeros[:]
			if offset < len(base) {
				was = base[offset : offset+PageSize]
			}
			if p := memory[offset : offset+PageSize]; !bytes.Equal(p, was) {
				d.pages = append(d.pages, page{uint64(offset), bytes.Clone(p)})
			}
		}
	})
	return d, err
}

var zeros [PageSize]byte

// Size is the size of the memory in bytes.
func (i *Image) Size() uint64 { return i.size }

// Own is how many bytes the image holds besides the one it was derived from.
func (i *Image) Own() uint64 {
	i.mu.RLock()
	defer i.mu.RUnlock()
	own := uint64(len(i.pages)) * PageSize
	if i.owns {
		own += i.size
	}
	return own
}

// View shows the content of an image that was not derived.
func (i *Image) View(show func([]byte)) error { return i.base.view(show) }

// Close frees the image; what began with it goes on. The pages of a derived image are
// overwritten, since they may hold secrets.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range i.pages {
		clear(p.data)
	}
	i.pages, i.closed = nil, true
	if !i.owns {
		return nil
	}
	return i.base.close()
}

// Begin makes a memory that begins with the image, and may grow to so many bytes. The
// first size that it is asked for must not be above the image's; growing it to that
// afterwards shows the rest.
func (i *Image) Begin(limit uint64) (experimental.LinearMemory, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.closed {
		return nil, ErrClosed
	}
	m, err := i.base.begin(i.size, max(limit, i.size))
	if err != nil {
		return nil, err
	}
	all := m.Reallocate(i.size)
	for _, p := range i.pages {
		copy(all[p.offset:], p.data)
	}
	return m, nil
}
