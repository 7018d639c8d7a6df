// Package watch tells when files of a project change, and runs something then.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// Path is what to watch: a file, which need not exist yet, or all files below a
// directory.
type Path struct {
	Name string
	// Kinds are the suffixes of the files that count, in the directory itself; none is
	// all files, in the directories below as well.
	Kinds []string
}

// maxDirectories bounds the directories that are watched: each takes memory of the
// kernel, and beyond some thousand it is likely not source that is watched.
const maxDirectories = 4096

// TooManyError says that there are more directories to watch than are watched.
type TooManyError struct{ Below string }

// Error says what to do.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d directories to watch, many of them below %s: watch a smaller directory", maxDirectories, e.Below)
}

// Files watches files. It watches their directories, since many editors put a new file
// in the place of the old one. Its methods are called by one goroutine.
type Files struct {
	notify *fsnotify.Watcher
	paths  []Path
}

// NewFiles watches nothing yet. Close ends it.
func NewFiles() (*Files, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	return &Files{notify: w}, nil
}

// Close ends the watch.
func (f *Files) Close() error { return f.notify.Close() }

// Watch watches these paths from now on, and no others.
func (f *Files) Watch(paths []Path) error {
	f.paths = f.paths[:0]
	wanted := make(map[string]bool)
	for _, p := range paths {
		name, err := filepath.Abs(p.Name)
		if err != nil {
			return err
		}
		p.Name = name
		f.paths = append(f.paths, p)
		if err := p.directories(wanted); err != nil {
			return err
		}
	}
	var errs []error
	for _, dir := range f.notify.WatchList() {
		if !wanted[dir] {
			errs = append(errs, f.notify.Remove(dir))
		}
		delete(wanted, dir)
	}
	for dir := range wanted {
		errs = append(errs, f.add(dir))
	}
	return errors.Join(errs...)
}

// add watches a directory. One that is not there any more has nothing to watch.
func (f *Files) add(dir string) error {
	if err := f.notify.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("watching %s: %w", dir, err)
	}
	return nil
}

// directories adds those that must be watched for the path.
func (p Path) directories(to map[string]bool) error {
	info, err := os.Stat(p.Name)
	switch {
	case err != nil || !info.IsDir():
		to[filepath.Dir(p.Name)] = true
		return nil
	case len(p.Kinds) > 0:
		to[p.Name] = true
		return nil
	}
	return filepath.WalkDir(p.Name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it went away, or is not ours to read
		case !d.IsDir():
			return nil
		case path != p.Name && hidden(d.Name()):
			return fs.SkipDir
		case len(to) >= maxDirectories:
			return &TooManyError{Below: p.Name}
		}
		to[path] = true
		return nil
	})
}

// hidden reports whether a name is that of no source: hidden files, such as state in
// .husk, and what editors leave while they work.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#")
}

// counts reports whether the path stands for the file.
func (p Path) counts(file string) bool {
	if file == p.Name {
		return true
	}
	below, ok := strings.CutPrefix(file, p.Name+string(filepath.Separator))
	if !ok {
		return false
	}
	if len(p.Kinds) > 0 {
		return filepath.Base(below) == below && !hidden(below) && slices.Contains(p.Kinds, filepath.Ext(below))
	}
	return !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), hidden)
}

// changed returns the file that an event is about, empty where it is none of ours.
func (f *Files) changed(e fsnotify.Event) string {
	if e.Op == fsnotify.Chmod {
		return ""
	}
	for _, p := range f.paths {
		if p.counts(e.Name) {
			return e.Name
		}
	}
	return ""
}
