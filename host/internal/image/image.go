// Package image keeps the memory of an instance as it was at one moment, so that other
// instances begin with it in place of doing again what led there. Where the system has
// them, memories are private mappings of one shared image: an instance costs the pages
// that it writes, starts in the time of a few system calls, and grows in place. Elsewhere,
// and where there are too few addresses for that, the pages that hold something are copied.
package image

import (
	"bytes"
	"errors"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

const (
	// PageSize is the unit in which images are compared and encoded, in bytes. It is the
	// page of most processors; nothing depends on it but the cost.
	PageSize = 4096
	// lineSize is the unit in which derived images keep differences, in bytes. A provider's setup changes some words on each of
	// many pages.
	lineSize = 64
)

// WasmPage is the unit of a memory's size in bytes.
const WasmPage = 64 << 10

// Image is a memory at one moment. It is not changed any more, and safe for concurrent
// use until it is closed.
type Image struct {
	size uint64
	// base is the content that instances map, or copy.
	base *content
	owns bool

	mu sync.RWMutex
	// changes are the parts that differ from base, and data is their content.
	changes []change
	data    []byte
	closed  bool
}

// change is a part of a memory, of whole lines.
type change struct{ offset, length uint64 }

// Memory is a memory that began with an image.
type Memory interface {
	experimental.LinearMemory
	// Restore restores the memory's first contents, without the changes of a derived image, at its current size. Where memories
	// are not [Shared] it fails.
	Restore() error
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

// Derive makes an image of a memory that began with this one, and holds only the differences. It must be closed before this one
// is.
func (i *Image) Derive(memory []byte) (*Image, error) {
	d := &Image{size: uint64(len(memory)), base: i.base}
	err := i.base.view(func(base []byte) {
		var length uint64
		for offset := uint64(0); offset < d.size; offset += PageSize {
			was := zeros[:]
			if offset < uint64(len(base)) {
				was = base[offset : offset+PageSize]
			}
			length += d.compare(offset, memory[offset:offset+PageSize], was)
		}
		d.data = make([]byte, 0, length) // which leaves no copies behind
		for _, c := range d.changes {
			d.data = append(d.data, memory[c.offset:c.offset+c.length]...)
		}
	})
	return d, err
}

// compare adds the changes of a page, and returns their length.
func (i *Image) compare(offset uint64, is, was []byte) (length uint64) {
	if bytes.Equal(is, was) {
		return 0
	}
	for at := uint64(0); at < PageSize; at += lineSize {
		if bytes.Equal(is[at:at+lineSize], was[at:at+lineSize]) {
			continue
		}
		length += lineSize
		if last := len(i.changes) - 1; last >= 0 && i.changes[last].offset+i.changes[last].length == offset+at {
			i.changes[last].length += lineSize
		} else {
			i.changes = append(i.changes, change{offset + at, lineSize})
		}
	}
	return length
}

var zeros [PageSize]byte

// Size is the size of the memory in bytes.
func (i *Image) Size() uint64 { return i.size }

// Own is how many bytes the image holds besides the one it was derived from.
func (i *Image) Own() uint64 {
	i.mu.RLock()
	defer i.mu.RUnlock()
	own := uint64(len(i.data))
	if i.owns {
		own += i.size
	}
	return own
}

// View shows the content of an image that was not derived.
func (i *Image) View(show func([]byte)) error { return i.base.view(show) }

// Close frees the image; memories that began with it go on. The contents of a derived image are overwritten, because they may be
// secret.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.data)
	i.changes, i.data, i.closed = nil, nil, true
	if !i.owns {
		return nil
	}
	return i.base.close()
}

// Begin makes a memory that begins with the image, and may grow to so many bytes. The
// first size that it is asked for must not be above the image's; growing it to that
// afterwards shows the rest.
func (i *Image) Begin(limit uint64) (Memory, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.closed {
		return nil, ErrClosed
	}
	m, err := i.base.begin(i.size, max(limit, i.size))
	if err != nil {
		return nil, err
	}
	i.change(m)
	return m, nil
}

// Resume makes a memory that began with base, and is as it was then, into one that begins
// with the image, as Begin makes one. This one must be base, or derived from it.
func (i *Image) Resume(m Memory, base *Image) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.closed {
		return ErrClosed
	}
	if i.base != base.base || !base.owns {
		return errOther
	}
	i.change(m)
	return nil
}

var errOther = errors.New("the image was derived from another one")

func (i *Image) change(m Memory) {
	if len(i.changes) == 0 {
		return
	}
	memory, from := m.Reallocate(i.size), i.data
	for _, c := range i.changes {
		copy(memory[c.offset:], from[:c.length])
		from = from[c.length:]
	}
}
