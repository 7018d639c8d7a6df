package confined

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a directory to read files in, except withheld ones.
type Dir struct {
	Path     string
	Withheld Withheld
}

// ErrOutside is the error for a path that leads out of the directory, or to a withheld file.
var ErrOutside = errors.New("it is outside of the directory of the project, or belongs to the project itself")

// Real returns a file's path without symbolic links, or ErrOutside if it leads out of the directory.
func (d Dir) Real(path string) (string, error) {
	real, _, err := d.real(path)
	return real, err
}

func (d Dir) real(path string) (real, below string, err error) {
	root, err := filepath.EvalSymlinks(d.Path)
	if err != nil {
		return "", "", err
	}
	lexical, err := filepath.Rel(d.Path, path)
	if err != nil || !filepath.IsLocal(lexical) {
		if lexical, err = filepath.Rel(root, path); err != nil || !filepath.IsLocal(lexical) {
			return "", "", ErrOutside // does not reveal whether there is such a file
		}
	}
	if real, err = filepath.EvalSymlinks(filepath.Join(root, lexical)); err != nil {
		if _, inner := os.Lstat(filepath.Join(root, lexical)); inner == nil {
			return "", "", ErrOutside // a link that leads nowhere
		}
		return "", "", fs.ErrNotExist
	}
	if below, err = filepath.Rel(root, real); err != nil || !filepath.IsLocal(below) {
		return "", "", ErrOutside
	}
	info, err := os.Lstat(real)
	if err != nil {
		return "", "", err
	}
	if d.Withheld.Covers(root, real, info) {
		return "", "", ErrOutside
	}
	return real, below, nil
}

// Open opens a regular file for reading.
func (d Dir) Open(path string) (*os.File, error) {
	_, below, err := d.real(path)
	if err != nil {
		return nil, err
	}
	root, err := OpenRoot(d.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names := Names(below)
	if len(names) == 0 {
		return nil, errNotRegular
	}
	dir, err := Descend(root, names[:len(names)-1], 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := names[len(names)-1]
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0: // it was not a link before
		return nil, ErrChanged
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	return OpenFile(dir, name, info, os.O_RDONLY, 0)
}

var errNotRegular = fmt.Errorf("it is not a regular file")
