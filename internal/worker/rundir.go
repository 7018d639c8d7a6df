package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/base/filelock"
)

// lockSuffix ends the name of the file beside the directory of a run whose lock says that the run goes on.
const lockSuffix = ".lock"

// runDir makes the directory of a run, which nobody else can enter, and whose lock tells other workers with the same directory
// that it is in use. end leaves it to the next worker, or removes it with all that is in it.
func (w *worker) runDir(of owned) (dir string, end func(remove bool) error, err error) {
	all := w.dir("runs")
	lock, release, err := newLock(all, of.Run)
	if err != nil {
		return "", nil, err
	}
	dir = strings.TrimSuffix(lock.Name(), lockSuffix)
	end = func(remove bool) error {
		if !remove {
			return errors.Join(release(), lock.Close())
		}
		return errors.Join(os.RemoveAll(dir), removeLock(lock, release))
	}
	remove := func() error { return end(true) }
	text, err := json.Marshal(of)
	if err == nil {
		_, err = lock.Write(text)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	for _, name := range []string{"files", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return "", nil, errors.Join(err, remove())
		}
	}
	return dir, end, nil
}

// newLock makes a file and locks it. Another worker that has just begun may take one that is not locked yet for one that was left,
// and remove it.
func newLock(all, id string) (lock *os.File, release func() error, err error) {
	for {
		lock, err := os.CreateTemp(all, id+"-*"+lockSuffix)
		if err != nil {
			return nil, nil, err
		}
		release, err := filelock.Try(lock)
		if errors.Is(err, filelock.ErrHeld) {
			_ = lock.Close() // it is the other's to remove
			continue
		}
		if err != nil {
			return nil, nil, errors.Join(err, lock.Close())
		}
		is, err := lock.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, release(), lock.Close())
		}
		if there, err := os.Lstat(lock.Name()); err == nil && os.SameFile(is, there) {
			return lock, release, nil
		}
		_, _ = release(), lock.Close() // it was removed
	}
}

// clearRuns removes the directories of runs that a worker which died has left, and keeps what these could not record.
func (w *worker) clearRuns() error {
	all := w.dir("runs")
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	var failures []error
	for _, entry := range entries {
		path := filepath.Join(all, entry.Name())
		if !strings.HasSuffix(path, lockSuffix) {
			if _, err := os.Lstat(path + lockSuffix); errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, os.RemoveAll(path)) // the lock comes first, and goes last
			}
			continue
		}
		failures = append(failures, w.clearRun(path))
	}
	return errors.Join(failures...)
}

func (w *worker) clearRun(path string) error {
	lock, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // its run has ended
	}
	if err != nil {
		return err
	}
	release, err := filelock.Try(lock)
	if errors.Is(err, filelock.ErrHeld) {
		return lock.Close()
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	dir := strings.TrimSuffix(path, lockSuffix)
	var of owned
	if err := json.NewDecoder(lock).Decode(&of); err == nil { // else it had not begun
		if _, err := w.keepUnrecorded(of, filepath.Join(dir, "home")); err != nil {
			return errors.Join(fmt.Errorf("what a run could not record is in %s: %w", dir, err), release(), lock.Close())
		}
	}
	return errors.Join(os.RemoveAll(dir), removeLock(lock, release))
}

// removeLock removes the file of a lock before it is released: a worker that gets the lock then sees that its file is gone, and makes
// another one.
func removeLock(lock *os.File, release func() error) error {
	removing := removeIfThere(lock.Name())
	err := errors.Join(release(), lock.Close())
	if removing != nil { // Windows removes no file that is open
		removing = removeIfThere(lock.Name())
	}
	return errors.Join(err, removing)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
