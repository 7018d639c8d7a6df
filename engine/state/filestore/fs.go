package filestore

import (
	"io"
	"io/fs"

	"github.com/husk-dev/husk/internal/base/filelock"
)

// FS is the part of a file system that a store needs. Tests make it fail. Names are slash-separated and relative to the store's
// directory. Errors are the errors of package os.
type FS interface {
	// OpenFile is like os.OpenFile. With an error, the file is nil.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// ReadDir is like os.ReadDir.
	ReadDir(name string) ([]fs.DirEntry, error)
	// MkdirAll is like os.MkdirAll; it makes the store's directory too.
	MkdirAll(name string, perm fs.FileMode) error
	// Rename is like os.Rename: it replaces a file atomically. Two names of one file stay.
	Rename(from, to string) error
	// Link is like os.Link.
	Link(from, to string) error
	// Remove is like os.Remove.
	Remove(name string) error
	// RemoveAll is like os.RemoveAll.
	RemoveAll(name string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// Lock takes the exclusive lock of a file, and makes the file if there is none. Closing it, or
	// the end of the process, ends the lock. The error is ErrHeld if another holds it, also within
	// the process.
	Lock(name string) (Lock, error)
	// Path returns the name as the user knows it, for messages.
	Path(name string) string
}

// File is an open file; see os.File.
type File interface {
	io.ReadWriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// Lock is the lock of a file that is held.
type Lock interface {
	io.Closer
	// Contents returns the file's contents; nil if its name is gone, or another file's.
	Contents() ([]byte, error)
}

// ErrHeld says that another holds the lock of a file.
var ErrHeld = filelock.ErrHeld
