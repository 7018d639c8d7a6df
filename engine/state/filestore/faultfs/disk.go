package faultfs

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/state/filestore"
)

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// OpenFile implements filestore.FS.
func (f *FS) OpenFile(name string, flag int, _ fs.FileMode) (filestore.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return nil, err
	}
	i, err := f.open(name, flag)
	if err != nil {
		return nil, err
	}
	if flag&os.O_TRUNC != 0 && len(i.data) > 0 {
		if fault := f.begin("truncate", name); fault.Err != nil {
			return nil, pathError("open", name, fault.Err)
		}
		i.data = nil
	}
	return &file{fs: f, name: name, inode: i, append: flag&os.O_APPEND != 0}, nil
}

func (f *FS) open(name string, flag int) (*inode, error) {
	if i := f.names[name]; i != nil {
		return i, nil
	}
	if flag&os.O_CREATE == 0 || !f.dirs[path.Dir(name)] {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	if fault := f.begin("create", name); fault.Err != nil {
		return nil, pathError("open", name, fault.Err)
	}
	if f.names[name] == nil { // it may have been made while that was decided
		f.names[name] = new(inode)
	}
	return f.names[name], nil
}

// ReadDir implements filestore.FS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return nil, err
	}
	if !f.dirs[name] {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	var out []fs.DirEntry
	for file := range f.names {
		if path.Dir(file) == name {
			out = append(out, fs.FileInfoToDirEntry(info{name: path.Base(file)}))
		}
	}
	for d := range f.dirs {
		if d != "." && path.Dir(d) == name {
			out = append(out, fs.FileInfoToDirEntry(info{name: path.Base(d), dir: true}))
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// change carries out one operation, unless it fails on demand.
func (f *FS) change(kind, name string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.begin(kind, name).Err
	if err == nil {
		err = do()
	}
	if err != nil {
		return pathError(kind, name, err)
	}
	return nil
}

// MkdirAll implements filestore.FS.
func (f *FS) MkdirAll(name string, _ fs.FileMode) error {
	if there, err := f.has(func() bool { return name == "." || f.dirs[name] }); there || err != nil {
		return err
	}
	return f.change("mkdir", name, func() error {
		for d := name; d != "."; d = path.Dir(d) {
			f.dirs[d] = true
		}
		return nil
	})
}

// has looks something up, unless the process has ended.
func (f *FS) has(what func() bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return what(), f.alive()
}

// Rename implements filestore.FS.
func (f *FS) Rename(from, to string) error {
	return f.change("rename", to, func() error {
		i := f.names[from]
		switch {
		case f.dirs[from]:
			return f.renameDir(from, to)
		case i == nil || !f.dirs[path.Dir(to)]:
			return fs.ErrNotExist
		case i == f.names[to]:
			return nil // they are names of one file, and stay so
		}
		delete(f.names, from)
		f.names[to] = i
		return nil
	})
}

// renameDir gives a directory another name, with all that is in it. It is durable at once.
func (f *FS) renameDir(from, to string) error {
	switch {
	case !f.dirs[path.Dir(to)]:
		return fs.ErrNotExist
	case f.dirs[to]:
		return fs.ErrExist
	}
	for _, names := range []map[string]*inode{f.names, f.durable} {
		for name, i := range maps.Clone(names) {
			if rest, ok := strings.CutPrefix(name, from+"/"); ok {
				delete(names, name)
				names[to+"/"+rest] = i
			}
		}
	}
	for _, dirs := range []map[string]bool{f.dirs, f.durableDirs} {
		for d := range maps.Clone(dirs) {
			if rest, ok := strings.CutPrefix(d+"/", from+"/"); ok {
				delete(dirs, d)
				dirs[strings.TrimSuffix(to+"/"+rest, "/")] = true
			}
		}
	}
	return nil
}

// RemoveAll implements filestore.FS.
func (f *FS) RemoveAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return err
	}
	within := func(other string) bool { return strings.HasPrefix(other+"/", name+"/") }
	var found []string
	for file := range f.names {
		if within(file) {
			found = append(found, file)
		}
	}
	slices.Sort(found)
	for _, file := range found {
		if fault := f.begin("remove", file); fault.Err != nil {
			return pathError("remove", file, fault.Err)
		}
		delete(f.names, file)
	}
	maps.DeleteFunc(f.dirs, func(d string, _ bool) bool { return within(d) })
	return nil
}

// Link implements filestore.FS.
func (f *FS) Link(from, to string) error {
	return f.change("link", to, func() error {
		switch {
		case f.names[from] == nil:
			return fs.ErrNotExist
		case f.names[to] != nil:
			return fs.ErrExist
		}
		f.names[to] = f.names[from]
		return nil
	})
}

// Remove implements filestore.FS.
func (f *FS) Remove(name string) error {
	if there, err := f.has(func() bool { return f.names[name] != nil }); err != nil {
		return err
	} else if !there {
		return pathError("remove", name, fs.ErrNotExist)
	}
	return f.change("remove", name, func() error {
		delete(f.names, name)
		return nil
	})
}

// SyncDir implements filestore.FS.
func (f *FS) SyncDir(name string) error {
	return f.change("syncdir", name, func() error {
		within := func(file string, _ *inode) bool { return path.Dir(file) == name }
		maps.DeleteFunc(f.durable, within)
		for file, i := range f.names {
			if within(file, i) {
				f.durable[file] = i
			}
		}
		for d := range f.dirs {
			if path.Dir(d) == name {
				f.durableDirs[d] = true
			}
		}
		return nil
	})
}

// Lock implements filestore.FS.
func (f *FS) Lock(name string) (filestore.Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return nil, err
	}
	i, err := f.open(name, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if f.locked[i] {
		return nil, filestore.ErrHeld
	}
	f.locked[i] = true
	return &lock{f, name, i}, nil
}

// Path implements filestore.FS.
func (f *FS) Path(name string) string { return path.Join("/disk", name) }

type lock struct {
	fs    *FS
	name  string
	inode *inode
}

func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locked, l.inode)
	return nil
}

func (l *lock) Contents() ([]byte, error) {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if err := l.fs.alive(); err != nil {
		return nil, err
	}
	if l.fs.names[l.name] != l.inode {
		return nil, nil
	}
	return append([]byte{}, l.inode.data...), nil
}

type info struct {
	name string
	dir  bool
	size int64
}

func (i info) Name() string       { return i.name }
func (i info) IsDir() bool        { return i.dir }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir
	}
	return 0
}
