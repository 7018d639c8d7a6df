package codecache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// Kept is a cache's entry of a module.
type Kept struct {
	Record
	// Bytes is the size of the files, and Used the day of the last use.
	Bytes int64
	Used  time.Time
}

// List returns the modules of the cache in a directory, the most recently used first.
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
	sorted.By(modules, func(a, b Kept) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	counted := map[string]bool{} // modules that differ in their manifests or data share their code
	for i := range modules {
		if m := &modules[i]; !counted[m.Code] {
			counted[m.Code] = true
			m.Bytes += sizeOf(codeFiles(filepath.Join(dir, m.Code)))
		}
	}
	return modules, nil
}

// cached returns the entry under the name of a record.
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
	m.Bytes = sizeOf(files)
	if info, err := os.Stat(files[0]); err == nil {
		m.Used = info.ModTime()
	}
	return m, nil
}

// sizeOf returns the total size of the existing ones of some files.
func sizeOf(files []string) (bytes int64) {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}
