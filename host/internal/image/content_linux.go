//go:build !(386 || arm || mips || mipsle)

package image

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared reports whether memories share the pages of an image that they have not written.
const Shared = true

// content is a file in memory that nobody can write or resize any more.
type content struct {
	size uint64

	mu   sync.RWMutex
	file *os.File
	// show sets shown, the file's content, and pages, which tells of the pages of all
	// memories, once they are needed.
	show  sync.Once
	shown []byte
	pages *os.File
}

// newContent makes a content that fill fills in, from zeros.
func newContent(size uint64, fill func([]byte) error) (*content, error) {
	return makeContent(size, func(c *content) error { return c.fill(fill) })
}

// newContentOf makes one of runs. The kernel copies them, so that the file's pages need not be
// mapped, each with a fault, nor be zeros before.
func newContentOf(size uint64, runs []run) (*content, error) {
	return makeContent(size, func(c *content) error {
		for _, r := range runs {
			if _, err := c.file.WriteAt(r.data, int64(r.offset)); err != nil {
				return err
			}
		}
		return nil
	})
}

func makeContent(size uint64, write func(*content) error) (*content, error) {
	fd, err := unix.MemfdCreate("husk-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	c := &content{size: size, file: os.NewFile(uintptr(fd), "husk-image")}
	err = c.file.Truncate(int64(c.size))
	if err == nil {
		err = write(c)
	}
	if err == nil {
		// A file that shrank would end the process at the next look at it.
		seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			err = fmt.Errorf("sealing a file in memory: %w", err)
		}
	}
	if err != nil {
		c.file.Close()
		return nil, err
	}
	return c, nil
}

func (c *content) fill(fill func([]byte) error) error {
	if c.size == 0 {
		return fill(nil)
	}
	memory, err := unix.Mmap(int(c.file.Fd()), 0, int(c.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping a file in memory: %w", err)
	}
	return errors.Join(fill(memory), unix.Munmap(memory))
}

func (c *content) view(show func([]byte)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.file == nil {
		return ErrClosed
	}
	if c.size == 0 {
		show(nil)
		return nil
	}
	memory, err := c.look()
	if err != nil {
		return fmt.Errorf("mapping an image: %w", err)
	}
	show(memory)
	return unix.Munmap(memory)
}

// look maps the file to be read. Linux before 6.7 lets nobody share a file that cannot be
// written, not even to read it.
func (c *content) look() ([]byte, error) {
	return unix.Mmap(int(c.file.Fd()), 0, int(c.size), unix.PROT_READ, unix.MAP_PRIVATE)
}

func (c *content) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := c.file
	c.file = nil
	if file == nil {
		return nil
	}
	c.hide()
	return file.Close()
}

// begin reserves addresses for the whole of a memory, so that it never moves, and maps
// the file at their beginning. Pages become the memory's own when it writes them.
func (c *content) begin(_, limit uint64) (Memory, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.file == nil {
		return nil, ErrClosed
	}
	const protection = unix.PROT_READ | unix.PROT_WRITE
	length := uintptr(max(limit, WasmPage))
	start, err := unix.MmapPtr(-1, 0, nil, length, protection, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of addresses for a memory: %w", length, err)
	}
	m := &mapping{of: c, all: unsafe.Slice((*byte)(start), length)}
	// Huge pages would make an instance pay for memory that it never touches.
	err = unix.Madvise(m.all, unix.MADV_NOHUGEPAGE)
	if err == unix.EINVAL { // a kernel without huge pages
		err = nil
	}
	if err == nil && c.size > 0 {
		_, err = unix.MmapPtr(int(c.file.Fd()), 0, start, uintptr(c.size), protection,
			unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	}
	if err != nil {
		m.Free()
		return nil, fmt.Errorf("mapping an image: %w", err)
	}
	return m, nil
}

// mapping is a memory between fixed addresses, and the number of its bytes in use.
type mapping struct {
	of   *content
	all  []byte
	used uint64
}

func (m *mapping) address() uintptr { return uintptr(unsafe.Pointer(&m.all[0])) }

// Reallocate returns the memory at its new size, nil if it cannot be that large.
func (m *mapping) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	m.used = max(m.used, size)
	return m.all[:size:size]
}

// Free ends the memory. Nobody may look at it any more.
func (m *mapping) Free() {
	if m.all != nil {
		// It fails only for addresses that are not mapped.
		_ = unix.MunmapPtr(unsafe.Pointer(&m.all[0]), uintptr(len(m.all)))
		m.all = nil
	}
}
