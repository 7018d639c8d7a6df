package wasi

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func directoryFunctions() []function {
	return []function{
		{"fd_readdir", "iiiIi", fdReaddir},
	}
}

type dirent struct {
	name string
	kind byte
	// inode is 0 where not known without asking for the file itself.
	inode uint64
}

const (
	// direntSize is the fixed part of an entry in memory, before its name.
	direntSize = 24
	// listingBatch is how many entries are read at once. Two batches are kept.
	listingBatch = 128
)

// listing reads a directory of the host for a guest, which says with each call where
// it wants to go on. It keeps the last entries only, however large the directory is;
// a guest that goes back further makes it start again.
type listing struct {
	file   *os.File
	window []dirent
	// first is the position of the first entry in the window.
	first uint64
	ended bool
}

func (l *listing) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// at returns the entry at a position; false after the last.
func (l *listing) at(c *call, dir place, position uint64) (dirent, bool, error) {
	if l.file == nil {
		file, err := dir.dir.Open(".")
		if err != nil {
			return dirent{}, false, err
		}
		l.file = file
	}
	if position < l.first || position == 0 {
		if _, err := l.file.Seek(0, io.SeekStart); err != nil {
			return dirent{}, false, err
		}
		l.window, l.first, l.ended = l.window[:0], 0, false
	}
	for position-l.first >= uint64(len(l.window)) {
		if l.ended {
			return dirent{}, false, nil
		}
		c.mustGoOn()
		if err := l.advance(c.sys.config.Files, dir); err != nil {
			return dirent{}, false, err
		}
	}
	return l.window[position-l.first], true, nil
}

// advance reads more entries. Withheld ones are not among them.
func (l *listing) advance(files *FileSystem, dir place) error {
	entries, err := l.file.ReadDir(listingBatch)
	if errors.Is(err, io.EOF) {
		l.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	if drop := len(l.window) - listingBatch; drop > 0 {
		l.window = append(l.window[:0], l.window[drop:]...)
		l.first += uint64(drop)
	}
	for _, e := range entries {
		if files.withholds(dir.mount, filepath.Join(dir.path, e.Name()), nil) {
			continue
		}
		l.window = append(l.window, dirent{name: e.Name(), kind: fileType(e.Type() & fs.ModeType)})
	}
	return nil
}

// entry returns the entry of an open directory at a position.
func (c *call) entry(h *handle, position uint64) (dirent, bool, error) {
	if h.directory.mount != nil {
		at, err := h.directory.place()
		if err == nil && at.dir == nil {
			err = errNoent
		}
		if err != nil {
			return dirent{}, false, err
		}
		return h.listing.at(c, at, position)
	}
	children := h.directory.node.children
	if position >= uint64(len(children)) {
		return dirent{}, false, nil
	}
	child := children[position]
	return dirent{name: child.name, kind: typeDirectory, inode: child.serial}, true, nil
}

// fdReaddir fills the buffer with entries, the last of them cut off where it ends. A
// buffer that is not full tells the guest that there are no more.
func fdReaddir(c *call) Errno {
	h, errno := c.directory(c.u32(0))
	if errno != success {
		return errno
	}
	buffer, errno := c.mem.bytes(c.u32(1), c.u32(2))
	if errno != success {
		return errno
	}
	used := 0
	for position := c.u64(3); used < len(buffer); position++ {
		e, ok, err := c.entry(h, position)
		if err != nil {
			return c.sys.config.Files.errno(err)
		}
		if !ok {
			break
		}
		var head [direntSize]byte
		binary.LittleEndian.PutUint64(head[:], position+1)
		binary.LittleEndian.PutUint64(head[8:], e.inode)
		binary.LittleEndian.PutUint32(head[16:], uint32(len(e.name)))
		head[20] = e.kind
		used += copy(buffer[used:], head[:])
		used += copy(buffer[used:], e.name)
	}
	return c.mem.putU32(c.u32(4), uint32(used))
}
