package wasi

import (
	"os"
	"slices"
)

// DefaultOpenFiles bounds the files and directories that a guest has open at once, beside
// its standard streams and preopened directories.
const DefaultOpenFiles = 256

// File types, as in the `filetype` of preview 1.
const (
	typeUnknown   = 0
	typeCharacter = 2
	typeDirectory = 3
	typeRegular   = 4
	typeSocket    = 6 // of a stream
	typeSymlink   = 7
)

// Descriptor flags (`fdflags`).
const (
	flagAppend   = 1 << 0
	flagDsync    = 1 << 1
	flagNonblock = 1 << 2
	flagRsync    = 1 << 3
	flagSync     = 1 << 4
)

// The rights that matter here. Guests ask for read and write with them, and learn
// from them what a preopened directory allows.
const (
	rightRead      = 1 << 1
	rightWrite     = 1 << 6
	rightsAll      = 1<<30 - 1
	rightsSockets  = 1<<28 | 1<<29
	rightsMutating = rightWrite | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12 | 1<<16 | 1<<17 |
		1<<19 | 1<<20 | 1<<22 | 1<<23 | 1<<24 | 1<<25 | 1<<26
)

// handle is an open descriptor: a stream, a file, or a directory.
type handle struct {
	kind byte
	// flags are fdflags.
	flags uint16
	// preopen is the name under which a preopened directory is announced.
	preopen string
	read    bool
	write   bool
	counted bool // among the descriptors that are open
	local   bool // a file on a disk of this machine

	// stream takes the output of stdout and stderr.
	stream func([]byte)
	file   *os.File
	// directory is set for directories; own is its dir where closing the handle closes it.
	directory directory
	own       *os.Root
	listing   listing
}

func (h *handle) close() {
	if h.file != nil {
		h.file.Close()
	}
	if h.own != nil {
		h.own.Close()
	}
	h.listing.close()
}

// rights returns the rights that fd_fdstat_get reports for the handle.
func (h *handle) rights() uint64 {
	rights := uint64(rightsAll &^ rightsSockets)
	if !h.read {
		rights &^= rightRead
	}
	if !h.write {
		rights &^= rightsMutating
	}
	return rights
}

// handles is an instance's descriptor table.
type handles struct {
	table []*handle
	// reserved is how many descriptors there were at the start.
	reserved int
	open     func(descriptors int) bool
	closed   func(descriptors int)
	// lost is set once one of them has changed.
	lost bool
}

func (t *handles) reset(config Config) {
	discard := func([]byte) {}
	out := func(sink func([]byte)) *handle {
		if sink == nil {
			sink = discard
		}
		return &handle{kind: typeCharacter, write: true, stream: sink}
	}
	files := config.Files
	top := files.top()
	t.table = []*handle{
		{kind: typeCharacter, read: true},
		out(config.Stdout),
		out(config.Stderr),
		{kind: typeDirectory, preopen: "/", directory: top, read: true, write: top.mount != nil && top.mount.ReadWrite},
	}
	for _, m := range files.mounts {
		if m.node == files.root {
			continue
		}
		t.table = append(t.table, &handle{
			kind: typeDirectory, preopen: m.GuestPath + "/", read: true, write: m.ReadWrite,
			directory: directory{node: m.node, mount: m},
		})
	}
	t.reserved = len(t.table)
	if t.open, t.closed = config.Open, config.Closed; t.open == nil {
		left := config.OpenFiles
		t.open = func(n int) bool {
			if n > left {
				return false
			}
			left -= n
			return true
		}
		t.closed = func(n int) { left += n }
	}
}

// descriptors returns the number of the host's descriptors that a handle has, or may have.
func (h *handle) descriptors() int {
	if h.kind == typeDirectory {
		return 2 // to list it takes another one
	}
	return 1
}

// unchanged reports whether the descriptors are the same as at the start.
func (t *handles) unchanged() bool {
	return !t.lost && !slices.ContainsFunc(t.table[t.reserved:], func(h *handle) bool { return h != nil })
}

func (t *handles) get(fd uint32) *handle {
	if uint64(fd) >= uint64(len(t.table)) {
		return nil
	}
	return t.table[fd]
}

// add gives the handle the lowest free descriptor. Where there may be no more it closes it.
func (t *handles) add(h *handle) (uint32, Errno) {
	if !t.open(h.descriptors()) {
		h.close()
		return 0, errMfile
	}
	h.counted = true
	for fd, used := range t.table {
		if used == nil {
			t.table[fd] = h
			return uint32(fd), success
		}
	}
	t.table = append(t.table, h)
	return uint32(len(t.table) - 1), success
}

func (t *handles) close(fd uint32) Errno {
	h := t.get(fd)
	if h == nil {
		return errBadf
	}
	t.table[fd] = nil
	t.lost = t.lost || int(fd) < t.reserved
	t.release(h)
	return success
}

func (t *handles) release(h *handle) {
	h.close()
	if h.counted {
		t.closed(h.descriptors())
	}
}

func (t *handles) closeAll() {
	for _, h := range t.table {
		if h != nil {
			t.release(h)
		}
	}
	t.table = nil
}

func (c *call) directory(fd uint32) (*handle, Errno) {
	h := c.sys.handles.get(fd)
	switch {
	case h == nil:
		return nil, errBadf
	case h.kind != typeDirectory:
		return nil, errNotdir
	}
	return h, success
}

func handleFunctions() []function {
	return []function{
		{"fd_close", "i", fdClose},
		{"fd_renumber", "ii", fdRenumber},
		{"fd_fdstat_get", "ii", fdStatGet},
		{"fd_fdstat_set_flags", "ii", fdStatSetFlags},
		{"fd_fdstat_set_rights", "iII", func(c *call) Errno {
			if c.sys.handles.get(c.u32(0)) == nil {
				return errBadf
			}
			return errNotsup
		}},
		{"fd_prestat_get", "ii", fdPrestatGet},
		{"fd_prestat_dir_name", "iii", fdPrestatDirName},
	}
}

func fdClose(c *call) Errno {
	fd := c.u32(0)
	if c.socket(fd) != nil {
		c.sys.config.Sockets.CloseSocket(fd)
		return success
	}
	return c.sys.handles.close(fd)
}

func fdRenumber(c *call) Errno {
	from, to := c.u32(0), c.u32(1)
	table := &c.sys.handles
	moved, replaced := table.get(from), table.get(to)
	if moved == nil || replaced == nil {
		return errBadf
	}
	if from != to {
		table.release(replaced)
		table.table[to], table.table[from] = moved, nil
		table.lost = table.lost || min(int(from), int(to)) < table.reserved
	}
	return success
}

func fdStatGet(c *call) Errno {
	h := c.sys.handles.get(c.u32(0))
	if h == nil && c.socket(c.u32(0)) != nil {
		h = &handle{kind: typeSocket, flags: flagNonblock, read: true, write: true}
	}
	if h == nil {
		return errBadf
	}
	at := c.u32(1)
	record, errno := c.mem.bytes(at, 24)
	if errno != success {
		return errno
	}
	clear(record)
	record[0] = h.kind
	record[2], record[3] = byte(h.flags), byte(h.flags>>8)
	if errno := c.mem.putU64(at+8, h.rights()); errno != success {
		return errno
	}
	return c.mem.putU64(at+16, h.rights())
}

// fdStatSetFlags takes NONBLOCK, which changes nothing, and refuses to change how a
// file is written.
func fdStatSetFlags(c *call) Errno {
	h := c.sys.handles.get(c.u32(0))
	if h == nil && c.socket(c.u32(0)) != nil {
		h = &handle{flags: flagNonblock}
	}
	if h == nil {
		return errBadf
	}
	wanted := uint16(c.u32(1))
	if (wanted^h.flags)&^flagNonblock != 0 {
		return errNotsup
	}
	h.flags = wanted
	return success
}

func (c *call) preopen(fd uint32) (string, Errno) {
	h := c.sys.handles.get(fd)
	if h == nil || h.preopen == "" {
		return "", errBadf
	}
	return h.preopen, success
}

func fdPrestatGet(c *call) Errno {
	name, errno := c.preopen(c.u32(0))
	if errno != success {
		return errno
	}
	const preopenedDirectory = 0
	if errno := c.mem.putU32(c.u32(1), preopenedDirectory); errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(1)+4, uint32(len(name)))
}

func fdPrestatDirName(c *call) Errno {
	name, errno := c.preopen(c.u32(0))
	if errno != success {
		return errno
	}
	if uint64(c.u32(2)) < uint64(len(name)) {
		return errNametoo
	}
	buffer, errno := c.mem.bytes(c.u32(1), uint32(len(name)))
	if errno != success {
		return errno
	}
	copy(buffer, name)
	return success
}
