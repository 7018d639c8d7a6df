package wasi

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// pathFunctions are those that take a path.
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
			return c.changeTwo([3]int{0, 1, 2}, [3]int{3, 4, 5}, (*os.Root).Rename)
		}},
		{"path_link", "iiiiiii", func(c *call) Errno {
			if c.u32(1)&followSymlinks != 0 {
				return errInval
			}
			return c.changeTwo([3]int{0, 2, 3}, [3]int{4, 5, 6}, (*os.Root).Link)
		}},
	}
}

// place resolves the path in parameters pointer and length, relative to the directory
// in fd. The place is not entered yet.
func (c *call) place(fd, pointer, length int) (place, Errno) {
	h, errno := c.directory(c.u32(fd))
	if errno != success {
		return place{}, errno
	}
	path, errno := c.mem.path(c.u32(pointer), c.u32(length))
	if errno != success {
		return place{}, errno
	}
	return c.sys.config.Files.resolve(h.directory, path)
}

// change does something to a path in a read-write mount.
func (c *call) change(fd, pointer, length int, do func(place) error) Errno {
	at, errno := c.place(fd, pointer, length)
	if errno == success {
		errno = at.writable()
	}
	if errno != success {
		return errno
	}
	return c.sys.config.Files.errno(do(at))
}

// entered makes of a change to a path one that enters its mount first.
func entered(do func(place) error) func(place) error {
	return func(at place) error {
		if err := at.enter(); err != nil {
			return err
		}
		return do(at)
	}
}

// changeTwo does something to two paths in one read-write mount. Between two mounts it
// is refused, as between two devices: a hard link would carry content from a read-only
// grant into a read-write one.
func (c *call) changeTwo(from, to [3]int, do func(dir *os.Root, from, to string) error) Errno {
	a, errno := c.place(from[0], from[1], from[2])
	if errno != success {
		return errno
	}
	b, errno := c.place(to[0], to[1], to[2])
	if errno != success {
		return errno
	}
	if errno := a.writable(); errno != success {
		return errno
	}
	if errno := b.writable(); errno != success {
		return errno
	}
	if a.mount != b.mount {
		return errXdev
	}
	if err := errors.Join(a.enter(), b.enter()); err != nil {
		return errnoOf(err)
	}
	if a.dir != b.dir {
		return c.acrossDirectories(a, b, do)
	}
	return c.sys.config.Files.errno(do(a.dir, a.name, b.name))
}

// acrossDirectories serves two paths that are relative to different open directories of
// one mount. os.Root works below one root only, so both are told from the mount's.
func (c *call) acrossDirectories(a, b place, do func(dir *os.Root, from, to string) error) Errno {
	root, err := a.mount.open()
	if err != nil {
		return errnoOf(err)
	}
	from, errno := c.within(root, a)
	if errno != success {
		return errno
	}
	to, errno := c.within(root, b)
	if errno != success {
		return errno
	}
	return c.sys.config.Files.errno(do(root, from, to))
}

// within tells a place's path from the root of its mount. A directory that was moved
// since it was opened is not found.
func (c *call) within(root *os.Root, at place) (string, Errno) {
	if at.dir == root {
		return at.name, success
	}
	base, err := filepath.Rel(root.Name(), at.dir.Name())
	if err != nil || !filepath.IsLocal(at.name) {
		return "", errNotcapable
	}
	there, err := root.Stat(base)
	if err != nil {
		return "", c.sys.config.Files.errno(err)
	}
	here, err := at.dir.Stat(".")
	if err != nil {
		return "", c.sys.config.Files.errno(err)
	}
	if !os.SameFile(here, there) {
		return "", errNoent
	}
	return base + "/" + at.name, success
}

func makeDirectory(at place) error {
	if at.isMount() {
		return at.mount.create()
	}
	return entered(func(at place) error { return at.dir.Mkdir(at.name, newDirectoryMode) })(at)
}

// removeDirectory and unlink tell directories from other files, as os.Root does not.
func removeDirectory(at place) error {
	if at.isMount() {
		return at.mount.remove()
	}
	return entered(func(at place) error {
		info, err := at.dir.Lstat(at.name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return errNotdir
		}
		return at.dir.Remove(at.name)
	})(at)
}

func unlink(at place) error {
	return entered(func(at place) error {
		info, err := at.dir.Lstat(at.name)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return errIsdir
		}
		return at.dir.Remove(at.name)
	})(at)
}

func pathOpen(c *call) Errno {
	at, errno := c.place(0, 2, 3)
	if errno != success {
		return errno
	}
	follow := c.u32(1)&followSymlinks != 0
	h, errno := c.open(at, follow, c.u32(4), c.u64(5), c.u32(7))
	if errno != success {
		return errno
	}
	fd, errno := c.sys.handles.add(h)
	if errno != success {
		return errno
	}
	return c.mem.putU32(c.u32(8), fd)
}

func (c *call) open(at place, follow bool, flags uint32, rights uint64, fdflags uint32) (*handle, Errno) {
	files := c.sys.config.Files
	read, write := rights&rightRead != 0, rights&rightWrite != 0
	create, exclusive := flags&openCreate != 0, flags&openExclusive != 0
	changes := write || create || flags&openTruncate != 0
	if create && flags&openDirectory != 0 {
		return nil, errInval
	}
	if changes && at.mount != nil && !at.mount.ReadWrite {
		return nil, errRofs
	}
	stat, errno := c.statPlace(at, follow)
	switch {
	case errno == errNoent && create:
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
	case write && read:
		mode = os.O_RDWR
	case write:
		mode = os.O_WRONLY
	}
	for _, pair := range []struct {
		given bool
		mode  int
	}{
		{create, os.O_CREATE},
		{exclusive, os.O_EXCL},
		{flags&openTruncate != 0, os.O_TRUNC},
		{fdflags&flagAppend != 0, os.O_APPEND},
		{fdflags&(flagSync|flagDsync|flagRsync) != 0, os.O_SYNC},
	} {
		if pair.given {
			mode |= pair.mode
		}
	}
	if err := at.enter(); err != nil {
		return nil, files.errno(err)
	}
	file, err := at.dir.OpenFile(at.name, mode|openNonblock, newFileMode)
	if err != nil {
		return nil, files.errno(err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, errNotsup
	}
	return &handle{
		kind: typeRegular, file: file, flags: uint16(fdflags),
		read: read || !write, write: write,
	}, success
}

func (c *call) openDirectory(at place) (*handle, Errno) {
	h := &handle{kind: typeDirectory, read: true, directory: directory{node: at.node, mount: at.mount, path: c.path}}
	if at.mount == nil {
		return h, success
	}
	if err := at.enter(); err != nil {
		return nil, errnoOf(err)
	}
	h.write = at.mount.ReadWrite
	dir, err := at.dir.OpenRoot(at.name)
	if err != nil {
		return nil, c.sys.config.Files.errno(err)
	}
	h.own, h.directory.dir = dir, dir
	return h, success
}

func pathFilestatGet(c *call) Errno {
	at, errno := c.place(0, 2, 3)
	if errno != success {
		return errno
	}
	stat, errno := c.statPlace(at, c.u32(1)&followSymlinks != 0)
	if errno != success {
		return errno
	}
	return c.putStat(c.u32(4), stat)
}

func pathFilestatSetTimes(c *call) Errno {
	at, errno := c.place(0, 2, 3)
	if errno == success {
		errno = at.writable()
	}
	if errno != success {
		return errno
	}
	old, errno := c.statPlace(at, c.u32(1)&followSymlinks != 0)
	switch {
	case errno != success:
		return errno
	case old.kind == typeSymlink:
		return errNotsup
	case c.u64(4) > math.MaxInt64 || c.u64(5) > math.MaxInt64:
		return errInval
	}
	access, modified, errno := c.times(old, c.u64(4), c.u64(5), c.u32(6))
	if errno == success {
		errno = errnoOf(at.enter())
	}
	if errno != success {
		return errno
	}
	return c.sys.config.Files.errno(at.dir.Chtimes(at.name, access, modified))
}

func pathReadlink(c *call) Errno {
	at, errno := c.place(0, 1, 2)
	switch {
	case errno != success:
		return errno
	case at.mount == nil:
		return errInval
	}
	if err := at.enter(); err != nil {
		return errnoOf(err)
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

// pathSymlink makes a symbolic link, and refuses any that leads up. os.Root keeps this
// guest inside in any case, but other programs will follow the link too; and a link
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
	return c.change(2, 3, 4, entered(func(at place) error { return at.dir.Symlink(target, at.name) }))
}
