package faultfs

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

type file struct {
	fs     *FS
	name   string
	inode  *inode
	append bool
	at     int
}

func (f *file) Read(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.alive(); err != nil {
		return 0, err
	}
	if f.at >= len(f.inode.data) {
		return 0, io.EOF
	}
	n := copy(p, f.inode.data[f.at:])
	f.at += n
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	fault := f.fs.begin("write", f.name)
	if fault.Err == nil && f.fs.capacity > 0 && f.fs.used()+int64(len(p)) > f.fs.capacity {
		fault = Fault{Err: syscall.ENOSPC, Partial: true}
	}
	if fault.Err != nil {
		if !fault.Partial {
			p = nil
		}
		p = p[:len(p)/2]
		fault.Err = pathError("write", f.name, fault.Err)
	}
	if f.append {
		f.at = len(f.inode.data)
	}
	data := slices.Clone(f.inode.data[:f.at])
	data = append(data, p...)
	if end := f.at + len(p); end < len(f.inode.data) {
		data = append(data, f.inode.data[end:]...)
	}
	f.inode.data = data
	f.at += len(p)
	f.fs.written += int64(len(p))
	return len(p), fault.Err
}

func (f *file) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.alive(); err != nil {
		return nil, err
	}
	return info{name: path.Base(f.name), size: int64(len(f.inode.data))}, nil
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if fault := f.fs.begin("truncate", f.name); fault.Err != nil {
		return pathError("truncate", f.name, fault.Err)
	}
	f.inode.data = slices.Clone(f.inode.data[:min(int(size), len(f.inode.data))])
	return nil
}

func (f *file) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if fault := f.fs.begin("sync", f.name); fault.Err != nil {
		return pathError("sync", f.name, fault.Err)
	}
	f.inode.synced = slices.Clone(f.inode.data)
	return nil
}

func (f *file) Close() error { return nil }
