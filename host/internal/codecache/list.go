package codecache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/strictcbor"
)

// Kept is what a cache has of a module.
type Kept struct {
	Record
	// Bytes is what is kept, and Used when it was used last, to the day.
	Bytes int64
	Used  time.Time
}

// List returns what the cache in a directory has. What was used last comes first.
func List(dir string) ([]Kept, error) {
	records, err := filepath.Glob(filepath.Join(dir, "*"+RecordSuffix))
	if err != nil || len(records) == 0 {
		return nil, err
	}
	seals, err := newSealer(dir)
	if err != nil {
		return nil, err
	}
	c := &Cache{dir: dir, seals: seals}
	var modules []Kept
	for _, record := range records {
		m, err := c.cached(strings.TrimSuffix(filepath.Base(record), RecordSuffix))
		switch {
		case err == nil:
			modules = append(modules, m)
		case !errors.Is(err, ErrNotCached) && !errors.Is(err, fs.ErrNotExist): // else it is gone, or as good as that
			return nil, err
		}
	}
	slices.SortFunc(modules, func(a, b Kept) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return modules, nil
}

// cached returns what is kept under the name of a record.
func (c *Cache) cached(name string) (m Kept, err error) {
	text, err := c.Read(name + RecordSuffix)
	if err != nil {
		return m, err
	}
	if strictcbor.Unmarshal(text, &m.Record) != nil {
		return m, ErrNotCached // it is of another version
	}
	var files []string
	for _, suffix := range recordSuffixes {
		files = append(files, filepath.Join(c.dir, name+suffix))
	}
	for _, code := range []string{m.Code, m.PartCode} {
		files = append(files, codeFiles(filepath.Join(c.dir, code))...)
	}
	for n, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue // not each module has all
		}
		m.Bytes += info.Size()
		if n == 0 {
			m.Used = info.ModTime()
		}
	}
	return m, nil
}
