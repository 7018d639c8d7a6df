package worker

import (
	"io"
	"os"
	"slices"
	"sync"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

const (
	// archiveBytes and archiveCount bound the bundles that a worker keeps decompressed: their projects choose how large they are, and each
	// has a file open.
	archiveBytes = 1 << 30
	archiveCount = 64
)

// archives are decompressed bundles of earlier runs, for later ones. Each is a file without a name, so that no other process can
// open it: a run reads the contents of the bundle with that digest, whatever earlier runs did.
type archives struct {
	dir   string
	bytes int64
	count int

	mu sync.Mutex
	// all is in order of use, the most recently used first.
	all []*archive
}

type archive struct {
	digest string
	// making is held while the file is made.
	making sync.Mutex
	// The rest is guarded by the mutex of archives. file is nil until it is made.
	file    *os.File
	size    int64
	unnamed bool
	users   int
}

// take returns the archive of a bundle. If there is none, make writes it. The caller gives it back after use.
func (a *archives) take(digest string, make func(io.Writer) (int64, error)) (*archive, error) {
	a.mu.Lock()
	i := slices.IndexFunc(a.all, func(one *archive) bool { return one.digest == digest })
	one := &archive{digest: digest}
	if i >= 0 {
		one = a.all[i]
		a.all = slices.Delete(a.all, i, i+1)
	}
	a.all = slices.Insert(a.all, 0, one)
	one.users++
	a.mu.Unlock()

	one.making.Lock()
	defer one.making.Unlock()
	if one.file != nil {
		return one, nil
	}
	made := archive{}
	var err error
	if made.file, err = os.CreateTemp(a.dir, atomicfile.Unfinished+"*"); err == nil {
		made.unnamed = os.Remove(made.file.Name()) == nil // some systems remove no file that is open
		made.size, err = make(made.file)
	}
	if err != nil {
		made.close()
		a.give(one) // a waiting caller tries again
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	one.file, one.size, one.unnamed = made.file, made.size, made.unnamed
	return one, nil
}

// read reads the archive from its beginning.
func (one *archive) read() io.Reader { return io.NewSectionReader(one.file, 0, one.size) }

// give gives an archive back, and removes the least recently used ones beyond the limits.
func (a *archives) give(one *archive) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.users--
	var bytes int64
	count := 0
	a.all = slices.DeleteFunc(a.all, func(one *archive) bool {
		bytes += one.size
		count++
		if one.users > 0 || one.unnamed && bytes <= a.bytes && count <= a.count {
			return false
		}
		bytes -= one.size
		count--
		one.close()
		return true
	})
}

// close removes all.
func (a *archives) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		one.close()
	}
	a.all = nil
}

func (one *archive) close() {
	if one.file != nil {
		_ = one.file.Close()
		if !one.unnamed {
			_ = os.Remove(one.file.Name())
		}
	}
}
