package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// The functions of preview 1 themselves: package os cleans paths before it passes them on.

//go:wasmimport wasi_snapshot_preview1 path_open
func pathOpen(fd, lookup uint32, path unsafe.Pointer, length, oflags uint32, rights, inheriting uint64, fdflags uint32, opened unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 path_create_directory
func pathCreateDirectory(fd uint32, path unsafe.Pointer, length uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_remove_directory
func pathRemoveDirectory(fd uint32, path unsafe.Pointer, length uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_unlink_file
func pathUnlinkFile(fd uint32, path unsafe.Pointer, length uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_filestat_get
func pathFilestatGet(fd, lookup uint32, path unsafe.Pointer, length uint32, stat unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 path_filestat_set_times
func pathFilestatSetTimes(fd, lookup uint32, path unsafe.Pointer, length uint32, access, modified uint64, flags uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_readlink
func pathReadlink(fd uint32, path unsafe.Pointer, length uint32, buffer unsafe.Pointer, size uint32, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 path_symlink
func pathSymlink(target unsafe.Pointer, size, fd uint32, path unsafe.Pointer, length uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_rename
func pathRename(fd uint32, path unsafe.Pointer, length, to uint32, toPath unsafe.Pointer, toLength uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_link
func pathLink(fd, lookup uint32, path unsafe.Pointer, length, to uint32, toPath unsafe.Pointer, toLength uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_read
func fdRead(fd uint32, vectors unsafe.Pointer, count uint32, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_write
func fdWrite(fd uint32, vectors unsafe.Pointer, count uint32, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_readdir
func fdReaddir(fd uint32, buffer unsafe.Pointer, size uint32, cookie uint64, used unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_close
func fdClose(fd uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_filestat_set_size
func fdFilestatSetSize(fd uint32, size uint64) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
func fdPrestatDirName(fd uint32, buffer unsafe.Pointer, size uint32) uint32

// errno is an error number of preview 1.
type errno uint32

var errnos = map[errno]string{
	2: "EACCES", 8: "EBADF", 10: "EBUSY", 20: "EEXIST", 25: "EILSEQ", 28: "EINVAL", 29: "EIO", 31: "EISDIR", 32: "ELOOP", 37: "ENAMETOOLONG",
	44: "ENOENT", 54: "ENOTDIR", 55: "ENOTEMPTY", 58: "ENOTSUP", 63: "EPERM", 69: "EROFS", 75: "EXDEV", 76: "ENOTCAPABLE",
}

func (e errno) Error() string {
	if name, ok := errnos[e]; ok {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}

func failed(n uint32) error {
	if n == 0 {
		return nil
	}
	return errno(n)
}

// text is a string's place and length.
func text(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}

// held are descriptors by the names that commands gave them.
var held = map[string]uint32{}

// base is a descriptor: one that is held, by @name, or the preopened directory of a path.
func base(name string) uint32 {
	if name, ok := strings.CutPrefix(name, "@"); ok {
		return held[name]
	}
	for fd := uint32(3); ; fd++ {
		buffer := make([]byte, len(name)+1)
		switch fdPrestatDirName(fd, unsafe.Pointer(&buffer[0]), uint32(len(buffer))) {
		case 0:
			if got := strings.TrimRight(string(buffer), "\x00"); got == name || got == name+"/" {
				return fd
			}
		case 8:
			panic("no descriptor of " + name)
		}
	}
}

// The flags of commands that open: r, w, c(reate), x (exclusive), t(runcate), d(irectory), and
// n (not following a link).
func rawOpen(a []string) (uint32, error) {
	flags := "r"
	if len(a) > 2 {
		flags = a[2]
	}
	var lookup, oflags, fd uint32 = 1, 0, 0
	var rights uint64
	for _, f := range flags {
		switch f {
		case 'r':
			rights |= 1 << 1
		case 'w':
			rights |= 1 << 6
		case 'c':
			oflags |= 1
		case 'd':
			oflags |= 2
		case 'x':
			oflags |= 4
		case 't':
			oflags |= 8
		case 'n':
			lookup = 0
		}
	}
	p, n := text(a[1])
	return fd, failed(pathOpen(base(a[0]), lookup, p, n, oflags, rights, 0, 0, unsafe.Pointer(&fd)))
}

// vector is one buffer of a call that reads or writes.
type vector struct{ at, size uint32 }

func rawRead(fd uint32) (string, error) {
	buffer := make([]byte, 64)
	v := vector{uint32(uintptr(unsafe.Pointer(&buffer[0]))), uint32(len(buffer))}
	var used uint32
	err := failed(fdRead(fd, unsafe.Pointer(&v), 1, unsafe.Pointer(&used)))
	return string(buffer[:used]), err
}

func rawWrite(fd uint32, content string) error {
	buffer := []byte(content)
	v := vector{uint32(uintptr(unsafe.Pointer(&buffer[0]))), uint32(len(buffer))}
	var used uint32
	return failed(fdWrite(fd, unsafe.Pointer(&v), 1, unsafe.Pointer(&used)))
}

func twoPaths(a []string, do func(fd uint32, p unsafe.Pointer, n, to uint32, toP unsafe.Pointer, toN uint32) uint32) (string, error) {
	p, n := text(a[1])
	toP, toN := text(a[3])
	return "", failed(do(base(a[0]), p, n, base(a[2]), toP, toN))
}

// at makes a command of a function of a path.
func at(do func(fd uint32, p unsafe.Pointer, n uint32) uint32) func([]string) (string, error) {
	return func(a []string) (string, error) {
		p, n := text(a[1])
		return "", failed(do(base(a[0]), p, n))
	}
}

func rawStat(a []string, lookup uint32) (string, error) {
	var stat [64]byte
	p, n := text(a[1])
	err := failed(pathFilestatGet(base(a[0]), lookup, p, n, unsafe.Pointer(&stat)))
	return map[byte]string{3: "directory", 4: "file", 7: "link"}[stat[16]], err
}

func rawList(fd uint32) (string, error) {
	buffer := make([]byte, 4096)
	var used uint32
	if err := failed(fdReaddir(fd, unsafe.Pointer(&buffer[0]), uint32(len(buffer)), 0, unsafe.Pointer(&used))); err != nil {
		return "", err
	}
	var names []string
	for at := uint32(0); at < used; {
		size := *(*uint32)(unsafe.Pointer(&buffer[at+16]))
		names = append(names, string(buffer[at+24:at+24+size]))
		at += 24 + size
	}
	slices.Sort(names)
	return strings.Join(names, " "), nil
}

func init() {
	raw := map[string]func([]string) (string, error){
		"open": func(a []string) (string, error) {
			fd, err := rawOpen(a)
			if err == nil {
				fdClose(fd)
			}
			return "", err
		},
		"hold": func(a []string) (string, error) {
			fd, err := rawOpen(a[1:])
			held[a[0]] = fd
			return "", err
		},
		"rd": func(a []string) (string, error) {
			fd, err := rawOpen(a)
			if err != nil {
				return "", err
			}
			defer fdClose(fd)
			return rawRead(fd)
		},
		"wr": func(a []string) (string, error) {
			fd, err := rawOpen([]string{a[0], a[1], "wct"})
			if err != nil {
				return "", err
			}
			defer fdClose(fd)
			return "", rawWrite(fd, "written")
		},
		"get":  func(a []string) (string, error) { return rawRead(base(a[0])) },
		"put":  func(a []string) (string, error) { return "", rawWrite(base(a[0]), "written") },
		"size": func(a []string) (string, error) { return "", failed(fdFilestatSetSize(base(a[0]), 0)) },
		"mk":   at(pathCreateDirectory),
		"rm":   at(pathRemoveDirectory),
		"ul":   at(pathUnlinkFile),
		"mv":   func(a []string) (string, error) { return twoPaths(a, pathRename) },
		"ln": func(a []string) (string, error) {
			return twoPaths(a, func(fd uint32, p unsafe.Pointer, n, to uint32, toP unsafe.Pointer, toN uint32) uint32 {
				return pathLink(fd, 0, p, n, to, toP, toN)
			})
		},
		"lnf": func(a []string) (string, error) {
			return twoPaths(a, func(fd uint32, p unsafe.Pointer, n, to uint32, toP unsafe.Pointer, toN uint32) uint32 {
				return pathLink(fd, 1, p, n, to, toP, toN)
			})
		},
		"sl": func(a []string) (string, error) {
			target, size := text(a[0])
			p, n := text(a[2])
			return "", failed(pathSymlink(target, size, base(a[1]), p, n))
		},
		"st":  func(a []string) (string, error) { return rawStat(a, 1) },
		"lst": func(a []string) (string, error) { return rawStat(a, 0) },
		"rl": func(a []string) (string, error) {
			buffer, used := make([]byte, 256), uint32(0)
			p, n := text(a[1])
			err := failed(pathReadlink(base(a[0]), p, n, unsafe.Pointer(&buffer[0]), uint32(len(buffer)), unsafe.Pointer(&used)))
			return string(buffer[:used]), err
		},
		"tm": func(a []string) (string, error) {
			p, n := text(a[1])
			return "", failed(pathFilestatSetTimes(base(a[0]), 1, p, n, 1e18, 1e18, 1|4))
		},
		"ls": func(a []string) (string, error) {
			fd, err := rawOpen([]string{a[0], a[1], "rd"})
			if err != nil {
				return "", err
			}
			defer fdClose(fd)
			return rawList(fd)
		},
		"try": func(a []string) (string, error) {
			seen := map[string]bool{}
			for range number(a[0]) {
				answer, err := commands["raw "+a[1]](a[2:])
				if err != nil {
					answer = err.Error()
				}
				seen[answer] = true
			}
			var all []string
			for answer := range seen {
				all = append(all, answer)
			}
			slices.Sort(all)
			return fmt.Sprint(all), nil
		},
	}
	for name, do := range raw {
		commands["raw "+name] = do
	}
}
