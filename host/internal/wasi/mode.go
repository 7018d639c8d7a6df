package wasi

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// WorkingDirectory is where the relative paths of guests begin.
const WorkingDirectory = "/project"

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
		granted[i] = written(m.GuestPath) + " (read-only)"
		if m.ReadWrite {
			granted[i] = written(m.GuestPath) + " (read-write)"
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
	return fmt.Sprintf("%s %s; granted: %s; add the directory to the provider's grants: fs", e.Path, problem, what)
}

// written is a path as a project file has it: relative to the working directory where
// it lies in it.
func written(guestPath string) string {
	if rel, ok := strings.CutPrefix(guestPath, WorkingDirectory+"/"); ok {
		return rel
	}
	if guestPath == WorkingDirectory {
		return "."
	}
	return guestPath
}

// Denied tells that a grant is missing, rather than a file.
func (e *PathError) Denied() bool { return e.Errno == errNotcapable || e.Errno == errRofs }

// NotFound tells that there is no such file.
func (e *PathError) NotFound() bool { return e.Errno == errNoent }

// Mode answers the permission bits of a file or directory.
func (f *FileSystem) Mode(p string) (fs.FileMode, error) {
	at, errno := f.lookup(p)
	if errno == success && at.mount == nil {
		return 0o500, nil
	}
	if errno == success {
		errno = f.errno(at.enter())
	}
	if errno == success {
		info, err := at.dir.Stat(at.name)
		if err == nil {
			return info.Mode().Perm(), nil
		}
		errno = f.errno(err)
	}
	return 0, &PathError{Path: p, Errno: errno, Granted: f.Mounts()}
}

// SetMode sets the permission bits of a file or directory in a read-write grant.
func (f *FileSystem) SetMode(p string, mode fs.FileMode) error {
	if mode&^fs.ModePerm != 0 {
		return &PathError{Path: p, Errno: errInval}
	}
	at, errno := f.lookup(p)
	if errno == success {
		errno = at.writable()
	}
	if errno == success {
		errno = f.errno(at.enter())
	}
	if errno == success {
		errno = f.errno(at.dir.Chmod(at.name, mode))
	}
	if errno != success {
		return &PathError{Path: p, Errno: errno, Granted: f.Mounts()}
	}
	return nil
}

// lookup resolves a path as a guest writes it, absolute or relative to its working directory.
func (f *FileSystem) lookup(p string) (place, Errno) {
	if len(p) > maxPath {
		return place{}, errNametoo
	}
	if !path.IsAbs(p) {
		p = path.Join(WorkingDirectory, p)
	}
	p = strings.TrimPrefix(path.Clean(p), "/")
	if p == "" {
		p = "."
	}
	if strings.IndexByte(p, 0) >= 0 {
		return place{}, errInval
	}
	return f.resolve(f.top(), p)
}
