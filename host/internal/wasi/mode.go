package wasi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/confined"
)

// PathError is the failure of [FileSystem.Mode] or [FileSystem.SetMode].
type PathError struct {
	Path  string
	Errno Errno
	// Granted lists the granted directories, for a message.
	Granted []Mount
}

func (e *PathError) Error() string {
	if !e.Denied() {
		return fmt.Sprintf("%s: %s", e.Path, e.Errno.Error())
	}
	granted := make([]string, len(e.Granted))
	for i, m := range e.Granted {
		granted[i] = Written(m.GuestPath) + " (read-only)"
		if m.ReadWrite {
			granted[i] = Written(m.GuestPath) + " (read-write)"
		}
	}
	what := "none"
	if len(granted) > 0 {
		what = strings.Join(granted, ", ")
	}
	problem := "is not inside a granted directory"
	if e.Errno == errRofs {
		problem = "is in a directory that is granted read-only"
	}
	return fmt.Sprintf("%s %s; granted: %s; %s: fs", e.Path, problem, what, HowToGrant)
}

// HowToGrant is the advice in a [PathError] about a missing grant.
const HowToGrant = "add the directory to the provider's grants"

// Written returns a guest's path as a project file has it, relative to the working directory if inside.
func Written(guestPath string) string {
	if rel, ok := strings.CutPrefix(guestPath, grant.WorkingDirectory+"/"); ok {
		return rel
	}
	if guestPath == grant.WorkingDirectory {
		return "."
	}
	return guestPath
}

// Denied reports that a grant is missing, rather than a file.
func (e *PathError) Denied() bool { return e.Errno == errNotcapable || e.Errno == errRofs }

// NotFound reports that there is no such file.
func (e *PathError) NotFound() bool { return e.Errno == errNoent }

// Mode returns the permission bits of a file or directory.
func (f *FileSystem) Mode(p string) (fs.FileMode, error) {
	at, errno := f.lookup(p)
	defer at.release()
	if errno == success && at.isVirtual() {
		return 0o500, nil
	}
	var info fs.FileInfo
	if errno == success {
		var err error
		info, err = at.found()
		errno = f.errno(err)
	}
	if errno != success {
		return 0, &PathError{Path: p, Errno: errno, Granted: f.Mounts()}
	}
	return info.Mode().Perm(), nil
}

// SetMode sets the permission bits of a file or directory in a read-write grant.
func (f *FileSystem) SetMode(p string, mode fs.FileMode) error {
	if mode&^fs.ModePerm != 0 {
		return &PathError{Path: p, Errno: errInval}
	}
	at, errno := f.lookup(p)
	defer at.release()
	if errno == success {
		errno = at.writable()
	}
	if errno == errNoent && f.readOnlyAbove(p) {
		errno = errRofs
	}
	if errno == success {
		_, err := at.found()
		if err == nil {
			err = setEntryMode(&at, mode)
		}
		errno = f.errno(err)
	}
	if errno != success {
		return &PathError{Path: p, Errno: errno, Granted: f.Mounts()}
	}
	return nil
}

// readOnlyAbove reports whether the nearest directory above a missing path is in a read-only grant.
func (f *FileSystem) readOnlyAbove(p string) bool {
	for above := path.Dir(p); above != p; p, above = above, path.Dir(above) {
		at, errno := f.lookup(above)
		if errno == success {
			errno = at.writable()
		}
		at.release()
		if errno != errNoent {
			return errno == errRofs
		}
	}
	return false
}

// setEntryMode sets the permission bits of the file found at a place.
func setEntryMode(at *place, mode fs.FileMode) error {
	if at.name == "." {
		return at.dir.Chmod(".", mode)
	}
	if at.info.IsDir() {
		dir, err := confined.Enter(at.dir, at.name, at.info)
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Chmod(".", mode)
	}
	if !at.info.Mode().IsRegular() {
		return errNotsup
	}
	file, err := openEntry(at, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrPermission) {
		file, err = openEntry(at, os.O_WRONLY, false)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Chmod(mode)
}

// found describes the file at a place on the host.
func (p *place) found() (fs.FileInfo, error) {
	switch {
	case p.dir == nil:
		return nil, errNoent
	case p.name == ".":
		return p.dir.Stat(".")
	case p.info == nil:
		return nil, errNoent
	case p.slash && !p.info.IsDir():
		return nil, errNotdir
	}
	return p.info, nil
}

// lookup resolves a path as a guest writes it, absolute or relative to its working directory.
// The caller releases the place.
func (f *FileSystem) lookup(p string) (place, Errno) {
	if len(p) > maxPath {
		return place{}, errNametoo
	}
	if !path.IsAbs(p) {
		p = path.Join(grant.WorkingDirectory, p)
	}
	if strings.IndexByte(p, 0) >= 0 {
		return place{}, errInval
	}
	return f.resolve(func() {}, f.top(), strings.TrimPrefix(path.Clean(p), "/"), true)
}
