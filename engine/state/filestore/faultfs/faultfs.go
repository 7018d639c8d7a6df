// Package faultfs is a file system in memory that fails on demand: an operation returns an error, a write stops half-way, the
// disk is full, the process is killed, or the machine loses power and part of the unsynced data.
package faultfs

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"sync"
)

// ErrCrashed is the error of everything that a process does after its end.
var ErrCrashed = errors.New("the process has crashed")

// Op is one operation that changes the disk, or makes a change durable.
type Op struct {
	// N counts operations from 1.
	N int
	// Kind is create, write, sync, truncate, rename, link, remove, mkdir, or syncdir.
	Kind string
	// Name is the file or directory.
	Name string
}

// Fault is the fault of an operation. The zero Fault lets it be.
type Fault struct {
	// Err is returned, and the operation has no effect but for Partial's.
	Err error
	// Partial lets a write write the first half of its bytes before it fails.
	Partial bool
	// Crash ends the process with the operation: Err is ErrCrashed from then on.
	Crash bool
}

// FS is a filestore.FS in memory. It is safe for concurrent use.
type FS struct {
	mu sync.Mutex
	// names are the files, durable the ones that survive a loss of power.
	names, durable    map[string]*inode
	dirs, durableDirs map[string]bool
	locked            map[*inode]bool
	crashed           bool
	ops               int
	written           int64
	capacity          int64
	inject            func(Op) Fault
}

// inode is a file. synced is the part that survives a loss of power.
type inode struct {
	data, synced []byte
}

// New returns an empty file system.
func New() *FS {
	return &FS{
		names: map[string]*inode{}, durable: map[string]*inode{},
		dirs: map[string]bool{".": true}, durableDirs: map[string]bool{".": true},
		locked: map[*inode]bool{},
	}
}

// Inject sets the function that decides on each operation before it takes effect; nil lets all be.
func (f *FS) Inject(decide func(Op) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inject = decide
}

// SetCapacity limits what all files may hold together, in bytes; 0 means no limit.
func (f *FS) SetCapacity(size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = size
}

// Used returns the total size of all files, in bytes.
func (f *FS) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used()
}

func (f *FS) used() int64 {
	seen, sum := map[*inode]bool{}, int64(0)
	for _, i := range f.names {
		if !seen[i] {
			seen[i] = true
			sum += int64(len(i.data))
		}
	}
	return sum
}

// Ops returns the number of operations so far.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Written returns the number of bytes written so far.
func (f *FS) Written() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written
}

// Loss is the data that a crash takes away.
type Loss struct {
	// Names loses the names that were not synced: files made, renamed, or removed.
	Names bool
	// Data is the fate of unsynced contents.
	Data DataLoss
}

// DataLoss is the fate of unsynced contents.
type DataLoss int

// The ways to lose contents: none, all, the second half of the appended data, or all but the size.
const (
	KeepData DataLoss = iota
	LoseData
	TearData
	ZeroData
)

// Losses are all kinds of losses; the first is none.
func Losses() []Loss {
	var out []Loss
	for _, names := range []bool{false, true} {
		for _, data := range []DataLoss{KeepData, LoseData, TearData, ZeroData} {
			out = append(out, Loss{names, data})
		}
	}
	return out
}

// Reboot returns the file system as the next process finds it: without locks and faults.
func (f *FS) Reboot(loss Loss) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := New()
	names, dirs := f.names, f.dirs
	if loss.Names {
		names, dirs = f.durable, f.durableDirs
	}
	copies := map[*inode]*inode{}
	for name, i := range names {
		if !under(dirs, name) {
			continue
		}
		if copies[i] == nil {
			data := i.after(loss.Data)
			copies[i] = &inode{data: data, synced: slices.Clone(data)}
		}
		out.names[name], out.durable[name] = copies[i], copies[i]
	}
	for d := range dirs {
		if under(dirs, d) {
			out.dirs[d], out.durableDirs[d] = true, true
		}
	}
	return out
}

func under(dirs map[string]bool, name string) bool {
	for d := path.Dir(name); ; d = path.Dir(d) {
		if !dirs[d] {
			return false
		}
		if d == "." {
			return true
		}
	}
}

func (i *inode) after(loss DataLoss) []byte {
	appended := bytes.HasPrefix(i.data, i.synced)
	switch {
	case loss == KeepData, bytes.Equal(i.data, i.synced):
		return slices.Clone(i.data)
	case loss == LoseData, !appended:
		return slices.Clone(i.synced)
	case loss == TearData:
		return slices.Clone(i.data[:len(i.synced)+(len(i.data)-len(i.synced))/2])
	default:
		return append(slices.Clone(i.synced), make([]byte, len(i.data)-len(i.synced))...)
	}
}

// begin asks what becomes of an operation. It gives up the lock meanwhile.
func (f *FS) begin(kind, name string) Fault {
	if f.crashed {
		return Fault{Err: ErrCrashed}
	}
	f.ops++
	if f.inject == nil {
		return Fault{}
	}
	op, decide := Op{N: f.ops, Kind: kind, Name: name}, f.inject
	f.mu.Unlock()
	fault := decide(op)
	f.mu.Lock()
	if fault.Crash {
		f.crashed = true
		fault.Err = ErrCrashed
	}
	return fault
}

func (f *FS) alive() error {
	if f.crashed {
		return ErrCrashed
	}
	return nil
}
