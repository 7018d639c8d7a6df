// Package projectroot opens what a project names: its own files, programs, modules, assets, keys, and directories of any
// kind. Whoever opens a project makes one [Root], with the trust that he has in it, and all code below gets files from
// nowhere else.
//
// The root of a trusted project is the whole file system: absolute paths, "..", and links lead where they lead. The root of a
// project that is not trusted is its directory: whatever the project says, and whoever replaces files meanwhile, only regular
// files and directories below it are opened, and an error tells nothing of other files. The project's repository, such as .git,
// counts as outside: it belongs to the owner of the clone, and has credentials. So does .husk, where Husk keeps states, their
// earlier versions, and the address of a server. Husk itself opens it with [Root.WithState].
package projectroot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/internal/base/confined"
)

// Trust says whether the opener of a project trusts it. The zero value is [Untrusted].
type Trust int

const (
	// Untrusted is the trust in a project of somebody else's: it has its own files, and no others of this machine.
	Untrusted Trust = iota
	// Trusted is the trust of a user in his own project: it has whatever the user has.
	Trusted
)

// Root opens the paths of one project. A name is relative to the directory of the project, or absolute. A Root is safe for
// concurrent use. It holds at most one file descriptor, until it is garbage.
type Root struct {
	dir   string
	trust Trust
	// bound has all that a project which is not trusted has: dir, or one above it. own opens it, once.
	bound string
	own   func() (*os.Root, error)
	// state is set for Husk's own files.
	state bool
	// overlay returns the text of files that are open in an editor; nil for none.
	overlay func(path string) ([]byte, bool)
}

// ErrOutside is the error for a file that a project that is not trusted names outside of its directory. It does not depend on
// whether it exists.
var ErrOutside = errors.New("the project is not trusted, or its program is a module, and may name only files and directories of its own, without links that lead elsewhere, and nothing of a repository, such as .git, or of what husk keeps in .husk")

// ErrNotRegular is the error for a pipe, a device, or another file that is neither regular nor a directory.
var ErrNotRegular = errors.New("it is not a regular file")

// ErrIsDirectory is the error for a directory in place of a file.
var ErrIsDirectory = errors.New("it is a directory, not a file")

// TooLargeError is the error for a file of more bytes than its reader takes.
type TooLargeError struct {
	Name  string
	Limit int64
}

func (e *TooLargeError) Error() string {
	const mebi = 1 << 20
	if e.Limit%mebi == 0 {
		return fmt.Sprintf("%s is larger than %d MiB", e.Name, e.Limit/mebi)
	}
	return fmt.Sprintf("%s is larger than %d bytes", e.Name, e.Limit)
}

// New returns the root of the project in a directory, which need not exist.
func New(dir string, trust Trust) *Root {
	if abs, err := filepath.Abs(dir); err == nil { // else the process has no directory, and nothing can be opened
		dir = abs
	}
	return &Root{dir: dir, trust: trust, bound: dir, own: opener(dir)}
}

func opener(dir string) func() (*os.Root, error) {
	return sync.OnceValues(func() (*os.Root, error) { return confined.OpenRoot(dir) })
}

// Within returns the same root for a project that is not trusted and came with files beside its directory, as in a bundle: all
// in dir, an absolute path, is its own. If the project is not in there, it stays as it was.
func (r *Root) Within(dir string) *Root {
	if r.dir != dir && !confined.IsBelow(dir, r.dir) {
		return r
	}
	wider := *r
	wider.bound, wider.own = dir, opener(dir)
	return &wider
}

// Overlay returns the same root with the texts of an editor in place of files. text reports whether the editor has
// a text for a path.
func (r *Root) Overlay(text func(path string) ([]byte, bool)) *Root {
	over := *r
	over.overlay = text
	return &over
}

// WithState returns the same root for Husk itself, which also opens what Husk keeps in the directory of the project. It is for
// names that the project has not chosen.
func (r *Root) WithState() *Root {
	own := *r
	own.state = true
	return &own
}

// isWithheld reports whether a path relative to the directory that bounds the project is not for one that is not trusted.
func (r *Root) isWithheld(below string) bool {
	return confined.IsOfRepository(below) || !r.state && confined.IsOfState(below)
}

// Dir returns the directory of the project, an absolute path.
func (r *Root) Dir() string { return r.dir }

// Trusted reports whether the opener trusts the project.
func (r *Root) Trusted() bool { return r.trust == Trusted }

// Path returns the absolute path that a name stands for, and opens nothing.
func (r *Root) Path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.dir, name)
}

// Owns reports whether the file that a name leads to, after links, is in the directory of the project, and belongs neither to a
// repository nor to .husk. Errors do not quote other files, which only a trusted project can name.
func (r *Root) Owns(name string) bool {
	if _, err := r.below(name); err != nil || !r.Trusted() {
		return err == nil
	}
	dir, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		return true // there is no such directory: the text comes from somewhere else
	}
	real, err := filepath.EvalSymlinks(r.Path(name))
	if err != nil {
		return true
	}
	below, err := filepath.Rel(dir, real)
	return err == nil && below != "." && filepath.IsLocal(below) && !r.isWithheld(below)
}

// below returns a name relative to the directory that bounds the project.
func (r *Root) below(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%.64q: %w", name, fs.ErrInvalid)
	}
	below, err := filepath.Rel(r.bound, r.Path(name))
	if err != nil || !filepath.IsLocal(below) || !r.Trusted() && r.isWithheld(below) {
		return "", outside(name)
	}
	return below, nil
}

func outside(name string) error { return fmt.Errorf("%s: %w", name, ErrOutside) }

// confined returns the directory that bounds a project which is not trusted, and the name in it.
func (r *Root) confined(name string) (*os.Root, string, error) {
	below, err := r.below(name)
	if err != nil {
		return nil, "", err
	}
	own, err := r.own()
	if err != nil {
		return nil, "", err
	}
	if r.leadsToWithheld(below) {
		return nil, "", outside(name)
	}
	return own, below, nil
}

// leadsToWithheld reports whether a link of a project that is not trusted leads to a withheld file. A name that does not exist
// leads to where the directory above it is.
func (r *Root) leadsToWithheld(below string) bool {
	dir, err := filepath.EvalSymlinks(r.bound)
	if err != nil {
		return false // nothing is opened below it either
	}
	for at := below; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, at))
		if err == nil {
			inside, err := filepath.Rel(dir, real)
			return err == nil && filepath.IsLocal(inside) && r.isWithheld(inside)
		}
		if at == "." {
			return false
		}
	}
}

// told returns an error of [os.Root] in the words of this package. name is as it was given.
func told(name string, err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		// Package os does not export this error. TestNothingLeadsOutside notices other words.
		if cause.Error() == "path escapes from parent" {
			return outside(name)
		}
	}
	return err
}

// Stat describes what a name leads to, after links.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	if r.Trusted() {
		return os.Stat(r.Path(name))
	}
	own, below, err := r.confined(name)
	if err != nil {
		return nil, err
	}
	info, err := own.Stat(below)
	return info, told(name, err)
}

// Lstat describes what a name is, which may be a link.
func (r *Root) Lstat(name string) (fs.FileInfo, error) {
	if r.Trusted() {
		return os.Lstat(r.Path(name))
	}
	own, below, err := r.confined(name)
	if err != nil {
		return nil, err
	}
	info, err := own.Lstat(below)
	return info, told(name, err)
}

// Open opens a regular file for reading, without waiting. The error may be [ErrOutside], [ErrNotRegular], or
// [ErrIsDirectory].
func (r *Root) Open(name string) (*os.File, error) {
	info, err := r.Stat(name)
	if err == nil {
		err = isRegular(info)
	}
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: "open", Path: name, Err: failure.Err}
	}
	if err != nil {
		return nil, named(name, err)
	}
	var file *os.File
	if r.Trusted() {
		file, err = os.OpenFile(r.Path(name), os.O_RDONLY|confined.Nonblock, 0)
	} else {
		var own *os.Root
		var below string
		if own, below, err = r.confined(name); err == nil {
			file, err = own.OpenFile(below, os.O_RDONLY|confined.Nonblock, 0)
		}
	}
	if err != nil {
		return nil, told(name, err)
	}
	// Something else could be there by now.
	if info, err = file.Stat(); err == nil {
		err = isRegular(info)
	}
	if err == nil && !r.Trusted() {
		err = r.stillIs(name, info)
	}
	if err != nil {
		return nil, errors.Join(named(name, err), file.Close())
	}
	return file, nil
}

// stillIs returns an error unless a name leads to an open file, and not to a withheld file: a link could have led there
// meanwhile.
func (r *Root) stillIs(name string, opened fs.FileInfo) error {
	info, err := r.Stat(name)
	if err == nil && !os.SameFile(info, opened) {
		err = &fs.PathError{Op: "open", Path: name, Err: confined.ErrChanged}
	}
	return err
}

// OpenAny is [Root.Open] that also opens pipes and devices if the project is trusted, and then waits for them.
func (r *Root) OpenAny(name string) (*os.File, error) {
	if !r.Trusted() {
		return r.Open(name)
	}
	return os.Open(r.Path(name))
}

func isRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrIsDirectory
	case !info.Mode().IsRegular():
		return ErrNotRegular
	}
	return nil
}

// named adds the name of a file to an error that has none.
func named(name string, err error) error {
	if err == ErrIsDirectory || err == ErrNotRegular {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return err
}

// ReadFile reads a regular file of at most limit bytes. The error is an error of [Root.Open], or [*TooLargeError].
func (r *Root) ReadFile(name string, limit int64) ([]byte, error) {
	if r.overlay != nil {
		_, err := r.below(name)
		if text, ok := r.overlay(r.Path(name)); ok && (r.Trusted() || err == nil) {
			return text, nil
		}
	}
	file, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1)) // the size of a file may be wrong, and change
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > limit:
		return nil, &TooLargeError{name, limit}
	}
	return text, nil
}

// maxEntries bounds the names of one directory of a project that is not trusted. Directories of programs have dozens.
const maxEntries = 1 << 16

// ReadDir returns the entries of a directory, sorted by name.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	if r.Trusted() {
		return os.ReadDir(r.Path(name))
	}
	own, below, err := r.confined(name)
	if err != nil {
		return nil, err
	}
	within, err := enter(own, below)
	if err != nil {
		return nil, told(name, err)
	}
	defer within.Close()
	dir, err := within.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > maxEntries:
		return nil, fmt.Errorf("%s has more than %d files", name, maxEntries)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return r.isWithheld(e.Name()) })
	sortByName(entries)
	return entries, nil
}

// enter opens a directory below another one, and does not wait for a pipe in its place.
func enter(own *os.Root, below string) (*os.Root, error) {
	info, err := own.Stat(below)
	if err != nil {
		return nil, err
	}
	return confined.Enter(own, below, info)
}

// WalkDir walks over a directory like [filepath.WalkDir], without following links. Paths are absolute.
func (r *Root) WalkDir(name string, visit fs.WalkDirFunc) error {
	at := r.Path(name)
	if r.Trusted() {
		return filepath.WalkDir(at, visit)
	}
	own, below, err := r.confined(name)
	if err != nil {
		return visit(at, nil, err)
	}
	// The links on the way to the directory, which may lead elsewhere, are followed by own.
	return fs.WalkDir(own.FS(), filepath.ToSlash(below), func(path string, entry fs.DirEntry, err error) error {
		if r.isWithheld(path) {
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return visit(filepath.Join(r.bound, filepath.FromSlash(path)), entry, told(path, err))
	})
}

// Locate returns the path that a name leads to, which need not exist. It is for users that open files by themselves: a compiler,
// a process, a store. It is checked, but whoever writes in the project could replace it afterwards: what can take an open file or
// bytes is to use the other methods.
func (r *Root) Locate(name string) (string, error) {
	path := r.Path(name)
	if r.Trusted() {
		return path, nil
	}
	switch info, err := r.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", named(name, ErrNotRegular)
	}
	return r.Real(name)
}

// Real returns the path that a name leads to, without links in the directory of the project. As with [Root.Locate], it could be
// replaced afterwards.
func (r *Root) Real(name string) (string, error) {
	if r.Trusted() {
		return filepath.EvalSymlinks(r.Path(name))
	}
	if _, err := r.Stat(name); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(r.Path(name))
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(r.bound)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(dir, real)
	if err != nil || !filepath.IsLocal(below) {
		return "", outside(name) // it was replaced meanwhile
	}
	if r.isWithheld(below) {
		return "", outside(name)
	}
	return filepath.Join(r.bound, below), nil
}
