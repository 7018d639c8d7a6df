package projectroot

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/filelock"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// newDirMode is the mode of directories that are missing for a file.
const newDirMode = 0o755

// WriteFile replaces the contents of a file as one step, or makes it with a mode, and the directories above it. An
// existing file keeps its mode. Of a trusted project, a link is written through.
func (r *Root) WriteFile(name string, content []byte, mode fs.FileMode) error {
	if info, err := r.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if !r.Trusted() {
		return r.writeConfined(name, content, mode)
	}
	path := r.Path(name)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), newDirMode); err != nil {
		return err
	}
	if err := atomicfile.Write(path, content, mode); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// changing is the time for which [Root.Alone] waits for others, and again the time after which it tries again.
const (
	changing = 10 * time.Second
	again    = 5 * time.Millisecond
)

// Alone calls change, which reads a file and writes it, while no other process does so in the same directory. It makes the
// directory if it is missing. Where a directory cannot be locked, by the system or by this user, it calls change at once.
func (r *Root) Alone(name string, change func() error) error {
	dir, err := r.openDir(filepath.Dir(name))
	if errors.Is(err, fs.ErrPermission) { // it may be one that nobody may list
		return change()
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for until := time.Now().Add(changing); ; time.Sleep(again) {
		_, err := filelock.Try(dir)
		if !errors.Is(err, filelock.ErrHeld) {
			return change()
		}
		if time.Now().After(until) {
			return &fs.PathError{Op: "lock", Path: r.Path(filepath.Dir(name)), Err: err}
		}
	}
}

// openDir opens a directory, and makes it if it is missing.
func (r *Root) openDir(name string) (*os.File, error) {
	if r.Trusted() {
		if err := os.MkdirAll(r.Path(name), newDirMode); err != nil {
			return nil, err
		}
		return os.Open(r.Path(name))
	}
	own, below, err := r.confined(name)
	if err != nil {
		return nil, err
	}
	if err := own.MkdirAll(below, newDirMode); err != nil {
		return nil, told(name, err)
	}
	dir, err := own.Open(below)
	return dir, told(name, err)
}

func (r *Root) writeConfined(name string, content []byte, mode fs.FileMode) error {
	own, below, err := r.confined(name)
	if err != nil {
		return err
	}
	if err := own.MkdirAll(filepath.Dir(below), newDirMode); err != nil {
		return told(name, err)
	}
	written := filepath.Join(filepath.Dir(below), atomicfile.Unfinished+strconv.FormatUint(rand.Uint64(), 36))
	file, err := own.OpenFile(written, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return told(name, err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = cmp.Or(err, file.Close()); err == nil {
		err = own.Rename(written, below)
	}
	if err != nil {
		return errors.Join(told(name, err), own.Remove(written))
	}
	return syncDir(own, filepath.Dir(below))
}

// syncDir makes the names in a directory survive a loss of power.
func syncDir(own *os.Root, below string) error {
	if runtime.GOOS == "windows" {
		return nil // which needs none
	}
	within, err := enter(own, below)
	if err != nil {
		return err
	}
	dir, err := within.Open(".")
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	return errors.Join(err, within.Close())
}

// MkdirAll makes a directory, and those above it that are missing.
func (r *Root) MkdirAll(name string, mode fs.FileMode) error {
	if r.Trusted() {
		return os.MkdirAll(r.Path(name), mode)
	}
	own, below, err := r.confined(name)
	if err != nil {
		return err
	}
	return told(name, own.MkdirAll(below, mode))
}

// Remove removes a file or an empty directory.
func (r *Root) Remove(name string) error {
	if r.Trusted() {
		return os.Remove(r.Path(name))
	}
	own, below, err := r.confined(name)
	if err != nil {
		return err
	}
	return told(name, own.Remove(below))
}

// Rename gives a file another name, which survives a loss of power.
func (r *Root) Rename(from, to string) error {
	if r.Trusted() {
		if err := os.Rename(r.Path(from), r.Path(to)); err != nil {
			return err
		}
		return atomicfile.SyncDir(filepath.Dir(r.Path(to)))
	}
	own, before, err := r.confined(from)
	if err != nil {
		return err
	}
	_, after, err := r.confined(to)
	if err != nil {
		return err
	}
	if err := own.Rename(before, after); err != nil {
		return told(from, err)
	}
	return syncDir(own, filepath.Dir(after))
}

func sortByName(entries []fs.DirEntry) {
	sorted.By(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
