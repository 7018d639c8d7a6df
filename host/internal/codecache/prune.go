package codecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// A cache keeps a module for as long as it is used now and then. The time of a file is when the file was
// used last: a host that loads a module sets the time if it is older than a day. So a start seldom
// writes anything.

const (
	// KeptUnused is for how long a cache keeps a module that is not used. One that comes back
	// later is compiled again.
	KeptUnused = 90 * 24 * time.Hour

	// usedEvery is the age at which the files of a module in use are touched, and pruneEvery how often hosts look for unused
	// ones.
	usedEvery  = 24 * time.Hour
	pruneEvery = 24 * time.Hour
	// prunedFile is of the time when they looked last.
	prunedFile = "pruned"
	// asideSuffix is of a file that is being removed.
	asideSuffix = ".old"
)

// use marks files as used, and reports whether they are all there.
func use(files []string, now time.Time) bool {
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return false
		}
		// In a cache that cannot be written nothing is removed either.
		if now.Sub(info.ModTime()) > usedEvery && errors.Is(os.Chtimes(file, time.Time{}, now), fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// pruneDaily removes unused modules, if that was not done in the last day.
func pruneDaily(dir string, now time.Time) {
	looked := filepath.Join(dir, prunedFile)
	if info, err := os.Stat(looked); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return
	}
	if os.WriteFile(looked, nil, 0o600) != nil || os.Chtimes(looked, time.Time{}, now) != nil {
		return
	}
	_, _ = prune(dir, now.Add(-KeptUnused)) // what cannot be removed is tried again tomorrow
}

// Prune removes modules from the cache in a directory that were not used since a time, to the day, and returns how many bytes it
// freed.
func Prune(dir string, since time.Time) (bytes int64, err error) {
	bytes, err = prune(dir, since)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // there is no cache
	}
	return bytes, err
}

func prune(dir string, since time.Time) (bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var failures []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.Type().IsRegular() || !prunable(entry.Name()) || !info.ModTime().Before(since) {
			continue
		}
		switch removed, err := remove(filepath.Join(dir, entry.Name()), since); {
		case removed:
			bytes += info.Size()
		case err != nil && !errors.Is(err, fs.ErrNotExist): // else another one removes it, too
			failures = append(failures, err)
		}
	}
	return bytes, errors.Join(failures...)
}

// prunable reports whether a file is one that can be made again, or was left half-made.
func prunable(name string) bool {
	suffixes := append(slices.Clone(recordSuffixes), digestSuffix, frameSuffix, textSuffix, lockSuffix, asideSuffix)
	return slices.Contains(suffixes, filepath.Ext(name)) || strings.HasPrefix(name, atomicfile.Unfinished)
}

// remove removes a file, unless somebody says meanwhile that it is in use. The file is renamed
// before its time is read: whoever marks it later finds that it is not there.
func remove(file string, since time.Time) (removed bool, err error) {
	aside := file
	if filepath.Ext(file) != asideSuffix {
		aside += asideSuffix
		if err := os.Rename(file, aside); err != nil {
			return false, err
		}
	}
	info, err := os.Stat(aside)
	if err != nil {
		return false, err
	}
	if aside != file && !info.ModTime().Before(since) {
		err = os.Link(aside, file) // which does not replace a file that was made again meanwhile
		return false, errors.Join(os.Remove(aside), ignoring(err, fs.ErrExist))
	}
	return true, os.Remove(aside)
}

func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
