package wasi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/confined"
)

// maxMounts bounds the directories granted to one configuration.
const maxMounts = 64

// Mount is one granted directory.
type Mount = grant.FS

// FileSystem is the file system of the instances of one configuration: the mounts, and above them directories that only lead to
// the mounts. A path is followed name by name (see walk), so that neither `..` nor a symbolic link leads out of a mount, however
// the tree changes meanwhile, and so that the most specific mount decides. It is safe for concurrent use.
//
// Guests find it as their preopened directories: descriptor 3 is the root, `/`, and
// descriptors 4 and on are the mounts with a slash at the end of their names. (Go
// compares a path with the names as mere prefixes; without the slash `/data-old`
// would be looked up in `/data`.) A path in no mount is the error ENOTCAPABLE.
type FileSystem struct {
	root     *node
	mounts   []*mount
	withheld confined.Withheld
	// escape is the error that os.Root's errors wrap for a path that leads outside, where there are mounts. The os package does
	// not export it.
	escape error
}

// node is a directory on the way to a mount, or a mount's own.
type node struct {
	name     string
	parent   *node
	children []*node
	mount    *mount
	// serial stands for an inode number where the node is not a mount.
	serial uint64
}

func (n *node) child(name string) *node {
	for _, child := range n.children {
		if child.name == name {
			return child
		}
	}
	return nil
}

func emptyFileSystem() *FileSystem {
	return &FileSystem{root: &node{serial: 1}}
}

// OpenFileSystem opens the granted directories. Errors name the one they are about.
//
// Withheld files and directories of the host, by their paths, are in no mount, unless the mount is such a directory or lies in
// one: no guest reads, changes, or makes them, or replaces a directory above them. The last name of a path may have * in it, and
// ** before it.
func OpenFileSystem(mounts []Mount, withheld ...string) (_ *FileSystem, err error) {
	if len(mounts) > maxMounts {
		return nil, fmt.Errorf("%d directories are granted, at most %d are possible", len(mounts), maxMounts)
	}
	files := emptyFileSystem()
	defer func() {
		if err != nil {
			files.Close()
		}
	}()
	serial := files.root.serial
	for _, m := range mounts {
		if err := checkGuestPath(m.GuestPath); err != nil {
			return nil, err
		}
		at := files.root
		for name := range strings.SplitSeq(strings.Trim(m.GuestPath, "/"), "/") {
			if name == "" {
				continue
			}
			next := at.child(name)
			if next == nil {
				serial++
				next = &node{name: name, parent: at, serial: serial}
				at.children = append(at.children, next)
			}
			at = next
		}
		if at.mount != nil {
			return nil, fmt.Errorf("the directory %q is granted twice", m.GuestPath)
		}
		if at.mount, err = openMount(m); err != nil {
			if link, ok := errors.AsType[*confined.LinkError](err); ok {
				err = fmt.Errorf("%w: grant the directory that it leads to", link)
			}
			return nil, fmt.Errorf("opening the granted directory %q: %w", m.HostPath, cause(err))
		}
		at.mount.node = at
		files.mounts = append(files.mounts, at.mount)
	}
	if len(files.mounts) == 0 {
		return files, nil
	}
	_, err = os.OpenInRoot("/", "..")
	files.escape = cause(err)
	files.withheld, err = confined.Withhold(withheld...)
	return files, err
}

func checkGuestPath(p string) error {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p:
		return fmt.Errorf("the guest path %q of a granted directory is not absolute and clean", p)
	case len(p) > maxPath/2 || !utf8.ValidString(p) || strings.IndexByte(p, 0) >= 0:
		return fmt.Errorf("the guest path %q of a granted directory cannot be used", p)
	}
	return nil
}

// cause is the innermost part of an error of the os package.
func cause(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	if inner, ok := errors.AsType[*os.LinkError](err); ok {
		return inner.Err
	}
	return err
}

// Close closes the granted directories.
func (f *FileSystem) Close() {
	for _, m := range f.mounts {
		m.close()
	}
}

// Mounts returns the granted mounts, in the order given.
func (f *FileSystem) Mounts() []Mount {
	mounts := make([]Mount, len(f.mounts))
	for i, m := range f.mounts {
		mounts[i] = m.Mount
	}
	return mounts
}

// errno maps the error of a path operation.
func (f *FileSystem) errno(err error) Errno {
	if errors.Is(err, confined.ErrChanged) {
		return errBusy
	}
	if _, ok := errors.AsType[*confined.LinkError](err); ok {
		return errNotdir
	}
	if err != nil && f.escape != nil && cause(err) == f.escape {
		return errNotcapable
	}
	return errnoOf(err)
}

// withholds reports whether a place of a mount is withheld from it.
func (f *FileSystem) withholds(m *mount, path string, info fs.FileInfo) bool {
	return f.withheld.Covers(m.real, path, info)
}

// pins reports whether a mount or a withheld file is below a path. If another file took its place, they would be elsewhere the
// next time that they are looked for.
func (f *FileSystem) pins(path string) bool {
	return f.withheld.Pins(path) || slices.ContainsFunc(f.mounts, func(m *mount) bool { return confined.IsBelow(path, m.real) })
}

// directory is a directory that a guest has open.
type directory struct {
	// node is set where it is one.
	node *node
	// mount is nil above all mounts.
	mount *mount
	// dir is set below a mount's own directory.
	dir *os.Root
	// path is its path on the host, and guestPath as guests see it, which is known where uses are listed and the place is not a
	// node.
	path, guestPath string
}

// place is the directory as the place where a path leads. A mount's directory may be missing.
func (d directory) place() (place, error) {
	switch {
	case d.mount == nil:
		return place{node: d.node, name: "."}, nil
	case d.dir == nil:
		return d.mount.place()
	}
	return place{mount: d.mount, dir: d.dir, node: d.node, name: ".", path: d.path}, nil
}

// top is the root directory.
func (f *FileSystem) top() directory {
	return directory{node: f.root, mount: f.root.mount}
}
