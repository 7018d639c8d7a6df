//go:build !(386 || arm || mips || mipsle)

package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostRewritten bounds the pages that a memory keeps for itself when it is restored. A call
// of a Go provider writes some 100.
const mostRewritten = 256

// Restore restores the written pages of the memory from the file. A few of them are written again, since the next instance is
// likely to write the same ones, and giving them back to the kernel and taking them again costs ten times as much. More are
// dropped, and those behind the file are zeros again.
func (m *mapping) Restore() error {
	if m.used == 0 || m.of.rewrite(m) == nil {
		return nil
	}
	if err := unix.Madvise(m.all[:m.used], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("dropping the pages of a memory: %w", err)
	}
	return nil
}

// errDrop is a memory whose pages cannot be rewritten, or are too many.
var errDrop = errors.New("the pages of the memory have to be dropped")

// The kernel tells of each page whether it is there, or swapped out, and whether it is the
// file's. See the kernel's admin-guide/mm/pagemap.rst.
const (
	pageEntry   = 8 // bytes
	pageFile    = 1 << 61
	pageSwapped = 1 << 62
	pagePresent = 1 << 63
)

// rewrite copies the file's content over the pages that are the memory's own. Where it
// fails, the memory holds parts of both.
func (c *content) rewrite(m *mapping) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.file == nil || m.used > c.size {
		return errDrop
	}
	if c.show.Do(c.open); c.pages == nil {
		return errDrop
	}
	first := int64(m.address() / PageSize)
	var entries [512 * pageEntry]byte
	rewritten := 0
	for at := uint64(0); at < m.used; {
		part := entries[:min(uint64(len(entries)), (m.used-at)/PageSize*pageEntry)]
		if n, err := c.pages.ReadAt(part, (first+int64(at/PageSize))*pageEntry); n < len(part) {
			return errors.Join(errDrop, err)
		}
		for ; len(part) > 0; part, at = part[pageEntry:], at+PageSize {
			if !written(binary.NativeEndian.Uint64(part)) {
				continue
			}
			if rewritten++; rewritten > mostRewritten {
				return errDrop
			}
			copy(m.all[at:at+PageSize], c.shown[at:])
		}
	}
	return nil
}

// written reports whether a private mapping of a file has a page of its own.
func written(entry uint64) bool {
	return entry&(pagePresent|pageSwapped) != 0 && entry&pageFile == 0
}

// open maps the file for rewrite, and opens what tells which pages to rewrite. Without
// either, pages are dropped.
func (c *content) open() {
	if os.Getpagesize() != PageSize || c.size == 0 {
		return
	}
	shown, err := c.look()
	if err != nil {
		return
	}
	pages, err := os.Open("/proc/self/pagemap")
	if err == nil && !c.tells(pages) {
		err = errors.Join(errDrop, pages.Close())
	}
	if err != nil {
		_ = unix.Munmap(shown) // it is mapped
		return
	}
	c.shown, c.pages = shown, pages
}

// tells tries out whether a page is told to be the file's until it is written. An emulator of Linux may have the file and tell
// something else, and a page that is taken for the file's would go from one configuration to another.
func (c *content) tells(pages *os.File) bool {
	page, err := unix.Mmap(int(c.file.Fd()), 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(page) }() // it is mapped
	asTold := func(want bool) bool {
		var entry [pageEntry]byte
		at := int64(uintptr(unsafe.Pointer(&page[0])) / PageSize)
		n, _ := pages.ReadAt(entry[:], at*pageEntry)
		return n == len(entry) && written(binary.NativeEndian.Uint64(entry[:])) == want
	}
	if !asTold(false) {
		return false
	}
	was := page[0]
	if !asTold(false) { // that it was read changes nothing
		return false
	}
	page[0] = was
	return asTold(true)
}

// hide undoes open.
func (c *content) hide() {
	if c.pages != nil {
		_ = c.pages.Close()
		_ = unix.Munmap(c.shown)
		c.pages, c.shown = nil, nil
	}
}
