package wasi

import (
	"io"
	"math"
	"time"
)

func fileFunctions() []function {
	return []function{
		{"fd_read", "iiii", func(c *call) Errno {
			if s := c.socket(c.u32(0)); s != nil {
				return c.readSocket(s)
			}
			return c.readTo(c.u32(3), func(h *handle, p []byte) (int, error) { return h.file.Read(p) })
		}},
		{"fd_pread", "iiiIi", func(c *call) Errno {
			offset := c.i64(3)
			if offset < 0 {
				return errInval
			}
			return c.readTo(c.u32(4), func(h *handle, p []byte) (int, error) {
				n, err := h.file.ReadAt(p, offset)
				offset += int64(n)
				return n, err
			})
		}},
		{"fd_write", "iiii", func(c *call) Errno {
			if s := c.socket(c.u32(0)); s != nil {
				return c.writeSocket(s)
			}
			return c.writeFrom(c.u32(3), func(h *handle, p []byte) (int, error) { return h.file.Write(p) })
		}},
		{"fd_pwrite", "iiiIi", func(c *call) Errno {
			offset := c.i64(3)
			if offset < 0 {
				return errInval
			}
			return c.writeFrom(c.u32(4), func(h *handle, p []byte) (int, error) {
				if h.stream != nil {
					return 0, errSpipe
				}
				if h.flags&flagAppend != 0 {
					return h.file.Write(p)
				}
				n, err := h.file.WriteAt(p, offset)
				offset += int64(n)
				return n, err
			})
		}},
		{"fd_seek", "iIii", func(c *call) Errno { return c.seek(c.i64(1), c.u32(2), c.u32(3)) }},
		{"fd_tell", "ii", func(c *call) Errno { return c.seek(0, io.SeekCurrent, c.u32(1)) }},
		{"fd_sync", "i", fdSync},
		{"fd_datasync", "i", fdSync},
		{"fd_advise", "iIIi", func(c *call) Errno {
			_, errno := c.file(c.u32(0))
			return errno
		}},
		{"fd_allocate", "iII", func(*call) Errno { return errNotsup }},
		{"fd_filestat_get", "ii", fdFilestatGet},
		{"fd_filestat_set_size", "iI", fdFilestatSetSize},
		{"fd_filestat_set_times", "iIIi", fdFilestatSetTimes},
	}
}

// file returns an open regular file.
func (c *call) file(fd uint32) (*handle, Errno) {
	h := c.sys.handles.get(fd)
	switch {
	case h == nil:
		return nil, errBadf
	case h.kind == typeDirectory:
		return nil, errIsdir
	case h.file == nil:
		return nil, errSpipe
	}
	return h, success
}

// readTo fills the buffers of a read call and stores the count at counted.
func (c *call) readTo(counted uint32, read func(*handle, []byte) (int, error)) Errno {
	return c.transfer(counted, rightRead, func(h *handle, p []byte) (int, error) {
		if h.file == nil {
			return 0, nil
		}
		n, err := read(h, p)
		if err == io.EOF {
			err = nil
		}
		return n, err
	})
}

// writeFrom empties the buffers of a write call and stores the count at counted.
func (c *call) writeFrom(counted uint32, write func(*handle, []byte) (int, error)) Errno {
	return c.transfer(counted, rightWrite, func(h *handle, p []byte) (int, error) {
		if h.stream != nil {
			h.stream(p)
			return len(p), nil
		}
		return write(h, p)
	})
}

// transfer passes the buffers of a call to do, for a descriptor that has the right.
func (c *call) transfer(counted uint32, right uint64, do func(*handle, []byte) (int, error)) Errno {
	h := c.sys.handles.get(c.u32(0))
	switch {
	case h == nil:
		return errBadf
	case h.kind == typeDirectory:
		return errIsdir
	case h.rights()&right == 0:
		return errBadf
	}
	n, errno := c.mem.transfer(c.u32(1), c.u32(2), func(p []byte) (int, error) { return do(h, p) })
	if errno != success {
		return errno
	}
	return c.mem.putU32(counted, n)
}

func (c *call) seek(offset int64, whence, result uint32) Errno {
	if h := c.sys.handles.get(c.u32(0)); h != nil && h.kind == typeDirectory {
		// Go rewinds a directory so; fd_readdir gets its position from the caller.
		if offset != 0 || whence != io.SeekStart {
			return errInval
		}
		return c.mem.putU64(result, 0)
	}
	h, errno := c.file(c.u32(0))
	if errno != success {
		return errno
	}
	if whence > io.SeekEnd {
		return errInval
	}
	at, err := h.file.Seek(offset, int(whence))
	if err != nil {
		return errnoOf(err)
	}
	return c.mem.putU64(result, uint64(at))
}

func fdSync(c *call) Errno {
	h, errno := c.file(c.u32(0))
	if errno == errIsdir {
		// Directories are flushed with the file system; there is nothing to wait for.
		return success
	}
	if errno != success {
		return errno
	}
	return errnoOf(h.file.Sync())
}

func fdFilestatGet(c *call) Errno {
	h := c.sys.handles.get(c.u32(0))
	switch {
	case h == nil:
		return errBadf
	case h.file != nil:
		info, err := h.file.Stat()
		if err != nil {
			return errnoOf(err)
		}
		return c.putStat(c.u32(1), statOf(info))
	case h.kind == typeDirectory:
		at, err := h.directory.place()
		if err != nil {
			return c.sys.config.Files.errno(err)
		}
		stat, errno := c.statPlace(&at)
		if errno != success {
			return errno
		}
		return c.putStat(c.u32(1), stat)
	}
	return c.putStat(c.u32(1), stat{kind: h.kind, links: 1})
}

func fdFilestatSetSize(c *call) Errno {
	h, errno := c.file(c.u32(0))
	switch {
	case errno != success:
		return errno
	case !h.write:
		return errBadf
	case c.u64(1) > math.MaxInt64:
		return errFbig
	}
	return errnoOf(h.file.Truncate(c.i64(1)))
}

func fdFilestatSetTimes(c *call) Errno {
	h, errno := c.file(c.u32(0))
	switch {
	case errno != success:
		return errno
	case !h.write:
		return errBadf
	}
	info, err := h.file.Stat()
	if err != nil {
		return errnoOf(err)
	}
	access, modified, errno := c.times(statOf(info), c.u64(1), c.u64(2), c.u32(3))
	if errno != success {
		return errno
	}
	return errnoOf(setFileTimes(h.file, access, modified))
}

// The times to set, and their sources (`fstflags`).
const (
	setAccess      = 1 << 0
	setAccessNow   = 1 << 1
	setModified    = 1 << 2
	setModifiedNow = 1 << 3
)

// times returns both times to set, the old one where a flag is missing.
func (c *call) times(old stat, access, modified uint64, flags uint32) (time.Time, time.Time, Errno) {
	choose := func(old, given uint64, set, setNow bool) time.Time {
		switch {
		case setNow:
			return c.now()
		case set:
			return time.Unix(0, int64(given))
		}
		return time.Unix(0, int64(old))
	}
	const accessBoth, modifiedBoth = setAccess | setAccessNow, setModified | setModifiedNow
	if flags&accessBoth == accessBoth || flags&modifiedBoth == modifiedBoth ||
		access > math.MaxInt64 || modified > math.MaxInt64 {
		return time.Time{}, time.Time{}, errInval
	}
	return choose(old.access, access, flags&setAccess != 0, flags&setAccessNow != 0),
		choose(old.modified, modified, flags&setModified != 0, flags&setModifiedNow != 0), success
}
