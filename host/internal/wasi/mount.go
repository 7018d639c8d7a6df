package wasi

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// mount is a [Mount] and its directory, which guests may make and remove.
type mount struct {
	Mount
	node *node

	mu  sync.Mutex
	dir *os.Root // nil while there is none
}

// open answers the directory.
func (m *mount) open() (*os.Root, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.openLocked()
}

func (m *mount) openLocked() (*os.Root, error) {
	if m.dir != nil {
		return m.dir, nil
	}
	dir, err := os.OpenRoot(m.HostPath)
	if err != nil {
		return nil, err
	}
	m.dir = dir
	return dir, nil
}

// create makes the directory, and those above it, which a guest takes to exist.
func (m *mount) create() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.openLocked(); err == nil {
		return errExist
	}
	if err := os.MkdirAll(filepath.Dir(m.HostPath), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(m.HostPath, newDirectoryMode); err != nil {
		return err
	}
	_, err := m.openLocked()
	return err
}

// remove removes the directory, which must be empty.
func (m *mount) remove() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := os.Lstat(m.HostPath)
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeDir {
		return errBusy
	}
	if err := os.Remove(m.HostPath); err != nil {
		return err
	}
	m.closeLocked()
	return nil
}

func (m *mount) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closeLocked()
}

func (m *mount) closeLocked() {
	if m.dir != nil {
		m.dir.Close()
		m.dir = nil
	}
}
