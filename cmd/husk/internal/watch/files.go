// Package watch waits for changes of files.
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

// Path is a path to watch: a file, which need not exist yet, or all files below a directory.
type Path struct {
	Name string
	// Kinds are the suffixes of files that count in the directory itself. None stands for all files,
	// also in directories below.
	Kinds []string
	// Below has files of these kinds count in directories below, too.
	Below bool
	// Without are names of directories below that do not count.
	Without []string
}

// maxDirectories bounds the directories that are watched: each takes memory of the kernel, and several
// thousand are probably not source.
const maxDirectories = 4096

// Files watches files by their directories, because many editors replace a file by a new one. Its methods
// are called by one goroutine.
type Files struct {
	notify *fsnotify.Watcher
	paths  []Path
}

// NewFiles returns a watch without files. Close ends it.
func NewFiles() (*Files, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	return &Files{notify: w}, nil
}

// Close ends the watch.
func (f *Files) Close() error { return f.notify.Close() }

// Watch watches these paths, and no others, from now on.
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
		if err := f.notify.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("watching %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// directories adds the directories that must be watched for the path.
func (p Path) directories(to map[string]bool) error {
	info, err := os.Stat(p.Name)
	switch {
	case err != nil || !info.IsDir():
		to[filepath.Dir(p.Name)] = true
		return nil
	case len(p.Kinds) > 0 && !p.Below:
		to[p.Name] = true
		return nil
	}
	return filepath.WalkDir(p.Name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it was removed, or cannot be read
		case !d.IsDir():
			return nil
		case path != p.Name && p.skips(d.Name()):
			return fs.SkipDir
		case len(to) >= maxDirectories:
			return fmt.Errorf("more than %d directories to watch, many of them below %s: watch a smaller directory", maxDirectories, p.Name)
		}
		to[path] = true
		return nil
	})
}

// hidden reports whether a name is of a hidden file, such as .husk, or of an editor's temporary file.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#")
}

// skips reports whether a directory or file with this name does not count.
func (p Path) skips(name string) bool { return hidden(name) || slices.Contains(p.Without, name) }

// counts reports whether the path includes the file.
func (p Path) counts(file string) bool {
	if file == p.Name {
		return true
	}
	below, ok := strings.CutPrefix(file, p.Name+string(filepath.Separator))
	if !ok {
		return false
	}
	if len(p.Kinds) > 0 && (!slices.Contains(p.Kinds, filepath.Ext(below)) || !p.Below && filepath.Base(below) != below) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), p.skips)
}

// changed returns the file of an event, empty if it is not watched.
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
