package wasi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/husk-dev/husk/internal/base/confined"
)

// mount is a [Mount] and its directory, which guests may make and remove. Once it is open, the grant is for the descriptor,
// wherever the path leads later.
type mount struct {
	Mount
	node *node
	// real is the directory's path on the host, without symbolic links.
	real string
	// anchor is a directory above it, and below are the names that lead from there to it. They are
	// taken as they are: a symbolic link among them is refused. The anchor is nil where the
	// directory can be neither made nor removed.
	anchor *os.Root
	below  []string

	mu   sync.Mutex
	root *os.Root // nil while there is none
	info fs.FileInfo
}

// openMount finds the directory of a mount. It need not exist if it is granted read-write.
func openMount(m Mount) (*mount, error) {
	made := &mount{Mount: m}
	if err := made.find(); err != nil {
		made.close()
		return nil, err
	}
	if _, err := made.open(); err != nil && !(m.ReadWrite && errors.Is(err, fs.ErrNotExist)) {
		made.close()
		return nil, err
	}
	return made, nil
}

// find sets the anchor, and the path below it.
func (m *mount) find() error {
	target, err := filepath.Abs(m.HostPath)
	if err != nil {
		return err
	}
	if m.Within != "" {
		below, err := filepath.Rel(m.Within, target)
		if err != nil || !filepath.IsLocal(below) {
			return fmt.Errorf("it is not in %s", m.Within)
		}
		return m.anchorAt(m.Within, confined.Names(below))
	}
	// An existing file is taken by whatever path it was named. A missing one is made where its path leads now.
	real, err := filepath.EvalSymlinks(target)
	if err == nil {
		target = real
		if m.root, err = confined.OpenRoot(real); err != nil {
			return err
		}
		m.real = real
		if m.info, err = m.root.Stat("."); err != nil {
			return err
		}
	}
	var below []string
	for at := target; ; at = filepath.Dir(at) {
		if at == filepath.Dir(at) { // the root of a volume
			return nil
		}
		below = slices.Insert(below, 0, filepath.Base(at))
		err := m.anchorAt(filepath.Dir(at), below)
		switch {
		case err == nil, m.root != nil:
			return nil // a directory whose parent cannot be read is used, and not removed
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
}

func (m *mount) anchorAt(dir string, below []string) error {
	anchor, err := confined.OpenRoot(dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		anchor.Close()
		return err
	}
	m.anchor, m.below = anchor, below
	m.real = filepath.Join(real, filepath.Join(below...))
	return nil
}

func (m *mount) open() (*os.Root, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.openLocked()
}

func (m *mount) openLocked() (*os.Root, error) {
	if m.root != nil {
		return m.root, nil
	}
	if m.anchor == nil {
		return nil, fs.ErrNotExist
	}
	root, err := confined.Descend(m.anchor, m.below, 0)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	m.root, m.info = root, info
	return root, nil
}

// is reports whether a directory is the mount's own.
func (m *mount) is(info fs.FileInfo) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.info != nil && os.SameFile(m.info, info)
}

// place is the mount's directory as the place to which a path leads.
func (m *mount) place() (place, error) {
	p := place{mount: m, node: m.node, name: ".", path: m.real}
	root, err := m.open()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	p.dir = root
	return p, nil
}

// create makes the directory, and those above it, which a guest takes to exist.
func (m *mount) create() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.openLocked(); err == nil {
		return errExist
	} else if m.anchor == nil {
		return err
	}
	above, err := confined.Descend(m.anchor, m.below[:len(m.below)-1], 0o755)
	if err != nil {
		return err
	}
	defer above.Close()
	if err := above.Mkdir(m.below[len(m.below)-1], newDirectoryMode); err != nil {
		return err
	}
	_, err = m.openLocked()
	return err
}

// remove removes the directory, which must be empty.
func (m *mount) remove() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.openLocked(); err != nil {
		return err
	}
	if m.anchor == nil || len(m.below) == 0 {
		return errBusy
	}
	above, err := confined.Descend(m.anchor, m.below[:len(m.below)-1], 0)
	if err != nil {
		return err
	}
	defer above.Close()
	name := m.below[len(m.below)-1]
	info, err := above.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(info, m.info) {
		return errBusy
	}
	if err := above.Remove(name); err != nil {
		return err
	}
	m.closeLocked()
	return nil
}

func (m *mount) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closeLocked()
	if m.anchor != nil {
		m.anchor.Close()
		m.anchor = nil
	}
}

func (m *mount) closeLocked() {
	if m.root != nil {
		m.root.Close()
		m.root, m.info = nil, nil
	}
}
