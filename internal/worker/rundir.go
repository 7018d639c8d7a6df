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
	lock, release, err := filelock.Temp(all, of.Run+"-*"+lockSuffix)
	if err != nil {
		return "", nil, err
	}
	dir = strings.TrimSuffix(lock.Name(), lockSuffix)
	end = func(remove bool) error {
		if !remove {
			return errors.Join(release(), lock.Close())
		}
		return errors.Join(os.RemoveAll(dir), filelock.Remove(lock, release))
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

// clearRuns removes the directories of runs that a dead worker has left, and keeps their unrecorded objects.
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
	return errors.Join(os.RemoveAll(dir), filelock.Remove(lock, release))
}
