package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/internal/printable"
)

// CachedModule is what a cache keeps of a module.
type CachedModule struct {
	// Digest is the module's, and World what it is.
	Digest string
	World  canon.World
	// Name and Version are what the module says of itself, empty where that is not known.
	Name, Version string
	// Bytes is what is kept, and Used when it was used last, to the day.
	Bytes int64
	Used  time.Time
}

// CachedModules lists what the cache in a directory keeps, see [Config.WithCacheDir]: for each
// platform, version of Husk, and set of limits that a module was compiled for. Those
// that were used last come first.
func CachedModules(dir string) ([]CachedModule, error) {
	records, err := filepath.Glob(filepath.Join(dir, "*"+recordSuffix))
	if err != nil || len(records) == 0 {
		return nil, err
	}
	seals, err := newSealer(dir)
	if err != nil {
		return nil, err
	}
	c := &diskCache{dir: dir, seals: seals}
	var modules []CachedModule
	for _, record := range records {
		m, err := c.cached(strings.TrimSuffix(filepath.Base(record), recordSuffix))
		switch {
		case err == nil:
			modules = append(modules, m)
		case !errors.Is(err, errNotCached) && !errors.Is(err, fs.ErrNotExist): // else it is gone, or as good as that
			return nil, err
		}
	}
	slices.SortFunc(modules, func(a, b CachedModule) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return modules, nil
}

// cached tells what is kept under the name of a record.
func (c *diskCache) cached(name string) (m CachedModule, err error) {
	text, err := c.read(name + recordSuffix)
	if err != nil {
		return m, err
	}
	var r record
	if json.Unmarshal(text, &r) != nil {
		return m, errNotCached // it is of another version
	}
	m = CachedModule{Digest: r.Info.Digest, World: r.Info.World, Name: printable.Line(r.Name), Version: printable.Line(r.Version)}
	if manifest := r.Info.Manifest; manifest != nil {
		m.Name, m.Version = manifest.Name, manifest.Version
	}
	var files []string
	for _, suffix := range []string{recordSuffix, hollowSuffix, partSuffix, baseSuffix, dataSuffix, answersSuffix} {
		files = append(files, filepath.Join(c.dir, name+suffix))
	}
	for _, code := range []string{r.Code, r.PartCode} {
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
