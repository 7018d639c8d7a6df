package wasi

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/confined"
)

// Preview 1 knows no permission bits, so what a guest makes is its owner's alone. The
// import `husk:provider/files` sets others.
const (
	newFileMode      = 0o600
	newDirectoryMode = 0o700
)

// followSymlinks is the only lookup flag.
const followSymlinks = 1 << 0

// How to open a file (`oflags`).
const (
	openCreate    = 1 << 0
	openDirectory = 1 << 1
	openExclusive = 1 << 2
	openTruncate  = 1 << 3
)

func pathFunctions() []function {
	return []function{
		{"path_open", "iiiiiIIii", pathOpen},
		{"path_create_directory", "iii", func(c *call) Errno {
			return c.change(0, 1, 2, makeDirectory)
		}},
		{"path_remove_directory", "iii", func(c *call) Errno {
			return c.change(0, 1, 2, removeDirectory)
		}},
		{"path_unlink_file", "iii", func(c *call) Errno {
			return c.change(0, 1, 2, unlink)
		}},
		{"path_filestat_get", "iiiii", pathFilestatGet},
		{"path_filestat_set_times", "iiiiIIi", pathFilestatSetTimes},
		{"path_readlink", "iiiiii", pathReadlink},
		{"path_symlink", "iiiii", pathSymlink},
		{"path_rename", "iiiiii", func(c *call) Errno {
			return c.changeTwo([3]int{0, 1, 2}, [3]int{3, 4, 5}, rename)
		}},
		{"path_link", "iiiiiii", func(c *call) Errno {
			if c.u32(1)&followSymlinks != 0 {
				return errInval
			}
			return c.changeTwo([3]int{0, 2, 3}, [3]int{4, 5, 6}, link)
		}},
	}
}

// place resolves the path in parameters pointer and length, relative to the directory
// in fd. The caller releases it.
func (c *call) place(fd, pointer, length int, follow bool) (place, Errno) {
	h, errno := c.directory(c.u32(fd))
	if errno != success {
		return place{}, errno
	}
	path, errno := c.mem.path(c.u32(pointer), c.u32(length))
	if errno != success {
		return place{}, errno
	}
	return c.sys.config.Files.resolve(c.mustGoOn, h.directory, path, follow)
}

func (c *call) change(fd, pointer, length int, do func(*FileSystem, *place) error) Errno {
	at, errno := c.place(fd, pointer, length, false)
	defer at.release()
	if errno == success {
		errno = at.writable()
	}
	if errno != success {
		return errno
	}
	files := c.sys.config.Files
	return files.errno(do(files, &at))
}

// changeTwo changes two paths in one read-write mount. The first one exists. Between two mounts it is refused, as between two
// devices: a hard link would carry content from a read-only grant into a read-write one.
func (c *call) changeTwo(from, to [3]int, do func(from, to *place) error) Errno {
	a, errno := c.place(from[0], from[1], from[2], false)
	defer a.release()
	if errno != success {
		return errno
	}
	b, errno := c.place(to[0], to[1], to[2], false)
	defer b.release()
	if errno != success {
		return errno
	}
	if errno := a.writable(); errno != success {
		return errno
	}
	if errno := b.writable(); errno != success {
		return errno
	}
	switch {
	case a.name == "." || b.name == ".": // also a mount, in whatever mount the other is
		return errBusy
	case a.mount != b.mount:
		return errXdev
	}
	files := c.sys.config.Files
	err := errors.Join(files.movable(&a), files.movable(&b))
	if err == nil && a.info == nil {
		err = errNoent
	}
	if err == nil {
		err = do(&a, &b)
	}
	return files.errno(err)
}

// movable refuses a place that is a directory itself instead of an entry of one, and a place that leads to a mount or a withheld
// file.
func (f *FileSystem) movable(p *place) error {
	switch {
	case p.name == ".":
		return errBusy
	case p.dir == nil:
		return errNoent
	case f.pins(p.path):
		return errBusy
	}
	return nil
}

func rename(from, to *place) error {
	if (from.slash || to.slash) && !from.info.IsDir() {
		return errNotdir
	}
	return renameEntry(from, to)
}

func link(from, to *place) error {
	switch {
	case from.info.IsDir():
		return errPerm
	case from.slash || to.slash:
		return errNotdir
	}
	return linkEntry(from, to)
}

func makeDirectory(_ *FileSystem, at *place) error {
	switch {
	case at.isMount():
		return at.mount.create()
	case at.name == ".":
		return errExist
	case at.dir == nil:
		return errNoent
	}
	return at.dir.Mkdir(at.name, newDirectoryMode)
}

// removeDirectory and unlink tell directories from other files, as os.Root does not.
func removeDirectory(files *FileSystem, at *place) error {
	if at.isMount() {
		return at.mount.remove()
	}
	if err := files.movable(at); err != nil {
		return err
	}
	switch {
	case at.info == nil:
		return errNoent
	case !at.info.IsDir():
		return errNotdir
	}
	return at.dir.Remove(at.name)
}

func unlink(files *FileSystem, at *place) error {
	if at.name == "." {
		return errIsdir
	}
	if err := files.movable(at); err != nil {
		return err
	}
	switch {
	case at.info == nil:
		return errNoent
	case at.info.IsDir():
		return errIsdir
	case at.slash:
		return errNotdir
	}
	return at.dir.Remove(at.name)
}

// openAttempts is how often a file is opened that another one replaces meanwhile.
const openAttempts = 8

func pathOpen(c *call) Errno {
	follow := c.u32(1)&followSymlinks != 0
	var h *handle
	errno := errBusy
	for range openAttempts {
		at, found := c.place(0, 2, 3, follow)
		if found != success {
			return found
		}
		var err error
		h, err = c.open(&at, c.u32(4), c.u64(5), c.u32(7))
		at.release()
		if errno = c.sys.config.Files.errno(err); !errors.Is(err, confined.ErrChanged) {
			break
		}
	}
	if errno != success {
		return errno
	}
	fd, errno := c.sys.handles.add(h)
	if errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(8), fd)
}

// open opens a place. Where another file took its place, the error is confined.ErrChanged.
func (c *call) open(at *place, flags uint32, rights uint64, fdflags uint32) (*handle, error) {
	read, write := rights&rightRead != 0, rights&rightWrite != 0
	create, exclusive, truncate := flags&openCreate != 0, flags&openExclusive != 0, flags&openTruncate != 0
	changes := write || create || truncate
	if create && flags&openDirectory != 0 {
		return nil, errInval
	}
	if changes && !at.isVirtual() && !at.mount.ReadWrite {
		return nil, errRofs
	}
	stat, errno := c.statPlace(at)
	switch {
	case errno == errNoent && create && at.dir != nil:
		if at.slash {
			return nil, errIsdir
		}
		if c.sys.config.Files.pins(at.path) {
			return nil, errBusy
		}
	case errno != success:
		return nil, errno
	case create && exclusive:
		return nil, errExist
	case stat.kind == typeDirectory && changes:
		return nil, errIsdir
	case stat.kind == typeDirectory:
		return c.openDirectory(at)
	case flags&openDirectory != 0:
		return nil, errNotdir
	case stat.kind == typeSymlink:
		return nil, errLoop
	case stat.kind != typeRegular:
		return nil, errNotsup
	}

	mode := os.O_RDONLY
	switch {
	case (write || truncate) && read:
		mode = os.O_RDWR
	case write || truncate:
		mode = os.O_WRONLY
	}
	if fdflags&flagAppend != 0 {
		mode |= os.O_APPEND
	}
	if fdflags&(flagSync|flagDsync|flagRsync) != 0 {
		mode |= os.O_SYNC
	}
	file, err := openEntry(at, mode, exclusive)
	if err == nil && truncate && at.info != nil {
		if err = file.Truncate(0); err != nil {
			file.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return &handle{
		kind: typeRegular, file: file, flags: uint16(fdflags),
		read: read || !write, write: write, local: isLocal(file),
	}, nil
}

// openEntry opens the regular file that was found at a place, or makes one where there was none.
func openEntry(at *place, mode int, exclusive bool) (*os.File, error) {
	file, err := confined.OpenFile(at.dir, at.name, at.info, mode, newFileMode)
	if at.info == nil && !exclusive && errors.Is(err, fs.ErrExist) {
		err = confined.ErrChanged
	}
	return file, err
}

func (c *call) openDirectory(at *place) (*handle, error) {
	h := &handle{kind: typeDirectory, read: true, directory: at.directory()}
	h.directory.guestPath = c.path
	if at.isVirtual() {
		return h, nil
	}
	h.write = at.mount.ReadWrite
	if at.isMount() {
		return h, nil
	}
	var err error
	if at.name == "." {
		h.own, err = at.dir.OpenRoot(".")
	} else {
		h.own, err = confined.Enter(at.dir, at.name, at.info)
	}
	if err != nil {
		return nil, err
	}
	h.directory.dir = h.own
	return h, nil
}

func pathFilestatGet(c *call) Errno {
	at, errno := c.place(0, 2, 3, c.u32(1)&followSymlinks != 0)
	defer at.release()
	if errno != success {
		return errno
	}
	stat, errno := c.statPlace(&at)
	if errno != success {
		return errno
	}
	return c.putStat(c.u32(4), stat)
}

func pathFilestatSetTimes(c *call) Errno {
	at, errno := c.place(0, 2, 3, c.u32(1)&followSymlinks != 0)
	defer at.release()
	if errno == success {
		errno = at.writable()
	}
	if errno != success {
		return errno
	}
	old, errno := c.statPlace(&at)
	switch {
	case errno != success:
		return errno
	case old.kind == typeSymlink:
		return errNotsup
	case c.u64(4) > math.MaxInt64 || c.u64(5) > math.MaxInt64:
		return errInval
	}
	access, modified, errno := c.times(old, c.u64(4), c.u64(5), c.u32(6))
	if errno != success {
		return errno
	}
	return c.sys.config.Files.errno(setEntryTimes(&at, access, modified))
}

func pathReadlink(c *call) Errno {
	at, errno := c.place(0, 1, 2, false)
	defer at.release()
	switch {
	case errno != success:
		return errno
	case at.name == ".":
		return errInval
	case at.info == nil:
		return errNoent
	}
	target, err := at.dir.Readlink(at.name)
	if err != nil {
		return c.sys.config.Files.errno(err)
	}
	buffer, errno := c.mem.bytes(c.u32(3), c.u32(4))
	if errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(5), uint32(copy(buffer, target)))
}

// pathSymlink makes a symbolic link, and refuses any that leads up. This guest is kept inside
// in any case, but other programs will follow the link too; and a link
// with `..` that stays inside today leads out once its directory is moved.
func pathSymlink(c *call) Errno {
	target, errno := c.mem.path(c.u32(0), c.u32(1))
	if errno != success {
		return errno
	}
	up := slices.Contains(strings.Split(filepath.ToSlash(target), "/"), "..")
	if up || !filepath.IsLocal(target) {
		return errNotcapable
	}
	return c.change(2, 3, 4, func(files *FileSystem, at *place) error {
		if at.name == "." || at.info != nil {
			return errExist
		}
		if err := files.movable(at); err != nil {
			return err
		}
		return at.dir.Symlink(target, at.name)
	})
}
