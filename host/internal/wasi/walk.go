package wasi

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/confined"
)

const (
	// maxLinks is how many symbolic links one path may lead through, as on Linux.
	maxLinks = 40
	// maxSteps bounds the directories that are entered for one path. Each .. has those above it
	// entered again.
	maxSteps = 1 << 12
)

// place is where a path leads: an entry of a directory, which may be missing, or the directory
// itself. Nothing on the way to it is a symbolic link, and neither need the entry be followed: operations on it act on the file
// that was found, or fail.
type place struct {
	// mount decides what may be done; nil above all mounts.
	mount *mount
	// node is set where guests find mounts below it.
	node *node
	// dir is the directory, and name the entry in it, or a dot for itself. It is nil above all
	// mounts, and where there is no such directory.
	dir   *os.Root
	owned bool // that release closes dir
	name  string
	path  string
	// info describes the entry; nil for a dot, and where there is no entry.
	info fs.FileInfo
	// slash is set where the path asks for a directory by a slash at its end.
	slash bool
}

func (p *place) release() {
	if p.owned {
		p.dir.Close()
		p.owned = false
	}
}

// isMount reports whether the place is a mount's own directory.
func (p *place) isMount() bool { return p.mount != nil && p.node == p.mount.node && p.name == "." }

// isVirtual reports whether the place is a directory above all mounts.
func (p *place) isVirtual() bool { return p.mount == nil }

// directory is the place's directory as guests have it open; it does not own dir.
func (p *place) directory() directory {
	d := directory{node: p.node, mount: p.mount, dir: p.dir, path: p.path}
	if p.isMount() {
		d.dir = nil
	}
	return d
}

// writable refuses a place that may not be changed.
func (p *place) writable() Errno {
	switch {
	case p.isVirtual():
		return errNotcapable
	case !p.mount.ReadWrite:
		return errRofs
	}
	return success
}

// walk follows a path. Each name is looked up in an open directory, so moves meanwhile do not matter, and each directory is
// compared with the mounts' directories: the most specific mount decides, by whatever path it was reached.
type walk struct {
	files *FileSystem
	// goesOn ends the walk of a guest whose call is over.
	goesOn func()
	from   directory
	// trail leads from there to at. It has no links and no dots.
	trail []string
	at    place // a directory
	steps int
}

// resolve finds the place of a path relative to an open directory. A symbolic link at its end
// is followed only if that is wanted, or if a slash is behind it.
func (f *FileSystem) resolve(goesOn func(), from directory, p string, follow bool) (_ place, errno Errno) {
	if path.IsAbs(p) {
		return place{}, errNotcapable
	}
	w := walk{files: f, goesOn: goesOn, from: from}
	defer func() {
		if errno != success {
			w.at.release()
		}
	}()
	if errno := w.again(nil); errno != success {
		return place{}, errno
	}
	ahead, slash := elements(p)
	linked := 0 // how many of those ahead are of symbolic links
	for links := 0; len(ahead) > 0; {
		name, ofLink := ahead[0], linked > 0
		ahead, linked = ahead[1:], max(0, linked-1)
		if name == ".." {
			if errno := w.up(ofLink); errno != success {
				return place{}, errno
			}
			continue
		}
		found, errno := w.look(name)
		if errno != success {
			return place{}, errno
		}
		last := len(ahead) == 0
		if found.isLink() && !found.isOnTheWay() && (!last || follow || slash) {
			if links++; links > maxLinks {
				return place{}, errLoop
			}
			target, errno := f.target(found)
			if errno != success {
				return place{}, errno
			}
			before, alsoSlash := elements(target)
			ahead, slash = slices.Concat(before, ahead), slash || last && alsoSlash
			linked += len(before)
			continue
		}
		if last && found.name != "." {
			found.owned, w.at.owned = w.at.owned, false
			found.slash = slash
			return found, success
		}
		if errno := w.into(name, found); errno != success {
			return place{}, errno
		}
	}
	w.at.slash = slash
	return w.at, success
}

// elements splits a path. A last element that is a dot asks for a directory, as a slash does.
func elements(p string) (list []string, slash bool) {
	all := strings.Split(p, "/")
	last := all[len(all)-1]
	return slices.DeleteFunc(all, func(name string) bool { return name == "" || name == "." }), last == "" || last == "."
}

func (p *place) isLink() bool { return p.info != nil && p.info.Mode()&fs.ModeSymlink != 0 }

// isOnTheWay reports whether guests find mounts below the place, whatever it is on the host.
func (p *place) isOnTheWay() bool { return p.node != nil && len(p.node.children) > 0 }

// target is where a symbolic link leads.
func (f *FileSystem) target(link place) (string, Errno) {
	target, err := link.dir.Readlink(link.name)
	if err != nil {
		return "", f.errno(err)
	}
	target = filepath.ToSlash(target)
	if path.IsAbs(target) || filepath.IsAbs(target) || filepath.VolumeName(target) != "" {
		return "", errNotcapable
	}
	return target, success
}

// look finds what a name stands for in the directory that the walk is at.
func (w *walk) look(name string) (place, Errno) {
	if !isEntryName(name) {
		return place{}, errInval
	}
	at := &w.at
	found := place{mount: at.mount, dir: at.dir, name: name}
	if at.node != nil {
		found.node = at.node.child(name)
	}
	switch {
	case found.node != nil && found.node.mount != nil:
		p, err := found.node.mount.place()
		return p, w.files.errno(err)
	case found.node != nil && at.isVirtual():
		return place{node: found.node, name: "."}, success
	case at.isVirtual():
		return place{}, errNotcapable
	}
	found.path = filepath.Join(at.path, name)
	if at.dir != nil {
		info, err := at.dir.Lstat(name)
		switch {
		case err == nil:
			found.info = info
		case !errors.Is(err, fs.ErrNotExist):
			return place{}, w.files.errno(err)
		}
	}
	if w.files.withholds(at.mount, found.path, found.info) {
		if !found.isOnTheWay() {
			return place{}, errNotcapable
		}
		found.dir, found.name = nil, "." // but for the mounts below it
		return found, success
	}
	if found.info != nil && found.info.IsDir() {
		if m := w.files.mountAt(found.info); m != nil && m != at.mount {
			p, err := m.place()
			return p, w.files.errno(err)
		}
	}
	return found, success
}

// mountAt is the mount whose directory that is, nil for none: of two the one that allows less.
func (f *FileSystem) mountAt(info fs.FileInfo) (found *mount) {
	for _, m := range f.mounts {
		if m.is(info) && (found == nil || !m.ReadWrite) {
			found = m
		}
	}
	return found
}

// into goes into a directory that look has found.
func (w *walk) into(name string, found place) Errno {
	if w.steps++; w.steps > maxSteps {
		return errLoop
	}
	w.goesOn()
	if found.name != "." {
		switch {
		case found.info != nil && found.info.IsDir():
			dir, err := confined.Enter(found.dir, found.name, found.info)
			if errors.Is(err, confined.ErrChanged) {
				return errBusy
			}
			if err != nil {
				return w.files.errno(err)
			}
			found.dir, found.owned = dir, true
		case found.isOnTheWay():
			found.dir = nil
		case found.info == nil:
			return errNoent
		default:
			return errNotdir
		}
		found.name, found.info = ".", nil
	}
	w.at.release()
	w.at = found
	w.trail = append(w.trail, name)
	return success
}

// up goes to the directory above, but not above where the walk began, unless that is above all
// mounts. A symbolic link means the directory that is above on the host.
func (w *walk) up(ofLink bool) Errno {
	if n := len(w.trail); n > 0 {
		left := w.at.path
		errno := w.again(slices.Clone(w.trail[:n-1]))
		if errno == success && ofLink && (w.at.isVirtual() || w.at.path != filepath.Dir(left)) {
			errno = errNotcapable
		}
		return errno
	}
	if ofLink || w.from.mount != nil || w.from.node.parent == nil {
		return errNotcapable
	}
	w.from = directory{node: w.from.node.parent}
	return w.again(nil)
}

// again begins anew, and goes along a trail.
func (w *walk) again(trail []string) Errno {
	begin, err := w.from.place()
	if err != nil {
		return w.files.errno(err)
	}
	w.at.release()
	w.at, w.trail = begin, nil
	for _, name := range trail {
		found, errno := w.look(name)
		if errno == success && found.isLink() && !found.isOnTheWay() {
			errno = errBusy // it was a directory
		}
		if errno == success {
			errno = w.into(name, found)
		}
		if errno != success {
			return errno
		}
	}
	return success
}
