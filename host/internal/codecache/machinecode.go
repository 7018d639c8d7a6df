package codecache

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/base/filelock"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// wazero keeps the machine code of a module in one file, and copies it into memory: 20 MB for a provider in Go, although only a
// tenth of it runs. A cache keeps two files instead. The text is the machine code, and the frame is the rest. wazero gets the
// frame with a placeholder for the text, and the file of the text is then mapped over wazero's copy of the placeholder. Memory
// holds only running code, and the system can take that back.

const (
	textSuffix  = ".code"
	frameSuffix = ".frame"
)

// frame is a file of wazero's without its text.
type frame struct {
	// Name is the name by which wazero finds the file.
	Name string
	// Size is the length of the text in bytes, and Sum its CRC-32C.
	Size int
	Sum  uint32
	// Placeholder is the CRC-32C of the placeholder.
	Placeholder uint32
	// Before stands before the text, and After follows the checksum of the text.
	Before, After []byte
	// Seal is the seal of the text. Precompiled code has none.
	Seal []byte
}

var errForeignFormat = errors.New("wazero's file has an unknown format")

// wazeroMagic begins wazero's files. A version with its length follows, the offsets of the functions with
// their number, and the text with its length and checksum. See engine_cache.go of wazero.
const wazeroMagic = "WAZEVO"

// divide divides a file of wazero's into a frame and a text.
func divide(name string, file []byte) (f *frame, text []byte, err error) {
	rest, ok := bytes.CutPrefix(file, []byte(wazeroMagic))
	next := func(n uint64) (part []byte) {
		if ok = ok && n <= uint64(len(rest)); ok {
			part, rest = rest[:n], rest[n:]
			return part
		}
		return make([]byte, 8)
	}
	next(uint64(next(1)[0]))
	next(8 * uint64(binary.LittleEndian.Uint32(next(4))))
	size := binary.LittleEndian.Uint64(next(8))
	before := file[:len(file)-len(rest)]
	text = next(size)
	sum := crc32.Checksum(text, checksums)
	if ok = ok && sum == binary.LittleEndian.Uint32(next(crc32.Size)); !ok {
		return nil, nil, errForeignFormat
	}
	f = &frame{Name: name, Size: len(text), Sum: sum, Before: before, After: rest}
	f.Placeholder = f.placeholderSum()
	return f, text, nil
}

// mark returns the begin of the placeholder, by which it is found in memory. The rest of it is zero.
func (f *frame) mark() []byte {
	mark, _ := hex.DecodeString(f.Name) // it was compared with [isCodeName]
	return mark[:min(len(mark), f.Size)]
}

func (f *frame) placeholderSum() uint32 {
	mark, zeros := f.mark(), make([]byte, 64<<10)
	sum := crc32.Checksum(mark, checksums)
	for left := f.Size - len(mark); left > 0; left -= len(zeros) {
		sum = crc32.Update(sum, checksums, zeros[:min(left, len(zeros))])
	}
	return sum
}

// file returns the file for wazero without the zeros of a placeholder: its begin, and its end. The file has a placeholder if the
// text is nil.
func (f *frame) file(text []byte) (begin, end []byte, endsAt int64) {
	content, sum := text, f.Sum
	if text == nil {
		content, sum = f.mark(), f.Placeholder
	}
	return append(bytes.Clone(f.Before), content...), append(binary.LittleEndian.AppendUint32(nil, sum), f.After...), int64(len(f.Before) + f.Size)
}

// write writes the file for wazero. The zeros of a placeholder are a hole in it, which needs no space.
func (f *frame) write(path string, text []byte, mode os.FileMode) error {
	begin, end, endsAt := f.file(text)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(begin)
	if err == nil {
		_, err = file.WriteAt(end, endsAt)
	}
	return errors.Join(err, file.Close())
}

// check reports whether the file is the one that write wrote. wazero has a checksum of the zeros between.
func (f *frame) check(path string, text []byte) error {
	begin, end, endsAt := f.file(text)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, part := range []struct {
		want []byte
		at   int64
	}{{begin, 0}, {end, endsAt}} {
		if got, err := io.ReadAll(io.NewSectionReader(file, part.at, int64(len(part.want)))); err != nil || !bytes.Equal(got, part.want) {
			return errors.Join(ErrNotCached, err)
		}
	}
	return nil
}

// loader hands machine code to wazero.
type loader struct {
	// run is a directory for this loader alone. wazero looks for files in the directory files below it.
	// Without a run, the files of all frames are there, with placeholders.
	run, files string
	lock       *os.File // in run
	// Compiled is the cache in the directory.
	Compiled wazero.CompilationCache
	// mapped has the names of frames that were loaded with a placeholder.
	mapped sync.Map
	// copies is set if texts cannot be mapped. wazero then gets texts in its files.
	copies atomic.Bool
	// mapText is [mapText], except in tests.
	mapText func(text *os.File, size int, mark []byte) (found bool, err error)
}

// loading are locks for modules that are being loaded, each for some names. Of two placeholders of a name in
// memory, one could be taken for the other. Also, wazero hands out a module to a second caller before it is ready.
var loading [16]sync.Mutex

// lowMemory is a limit on memory, in bytes, below which modules are loaded one after another. The limit is the
// collector's, and the command takes that from its cgroup.
const lowMemory = 512 << 20

func lockOf(name string) *sync.Mutex {
	if debug.SetMemoryLimit(-1) < lowMemory {
		return &loading[0]
	}
	return &loading[name[0]%byte(len(loading))]
}

// runPattern is of the directories of loaders. In each is a file whose lock the loader holds, since it must keep the
// directory: wazero runs what it finds there. A directory without its file is being made, for less than makingRun.
const (
	runPattern = "husk-run-*"
	lockFile   = "lock"
	makingRun  = time.Minute
)

// sharedMemory is a directory of Linux in memory, which containers have even if all else is read-only.
// Placeholders in it need neither a disk nor its cache.
const sharedMemory = "/dev/shm"

// newLoader returns a loader with a directory in the first of the parents that permits it.
func newLoader(parents ...string) (*loader, error) {
	for _, parent := range parents {
		removeStaleRuns(parent)
	}
	var failures []error
	for _, parent := range parents {
		l, err := makeLoader(parent)
		if err == nil {
			return l, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func makeLoader(parent string) (*loader, error) {
	run, err := os.MkdirTemp(parent, runPattern)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(run, lockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(run))
	}
	var l *loader
	if _, err = filelock.Try(lock); err == nil {
		l, err = openLoader(run)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(run))
	}
	l.run, l.lock = run, lock
	return l, nil
}

// openLoader returns a loader for the files in a directory, which may also have files of other versions of wazero.
func openLoader(dir string) (l *loader, err error) {
	l = &loader{mapText: mapText}
	if l.Compiled, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
		return nil, err
	}
	l.files = filepath.Join(dir, codeDir())
	if _, err := os.Stat(l.files); err != nil {
		return nil, fmt.Errorf("wazero has named its directory otherwise: %w", err)
	}
	return l, nil
}

// removeStaleRuns removes the directories of loaders whose processes were killed.
func removeStaleRuns(parent string) {
	runs, _ := filepath.Glob(filepath.Join(parent, runPattern)) // the pattern is well-formed
	for _, run := range runs {
		if info, err := os.Lstat(run); err == nil && time.Since(info.ModTime()) > makingRun && ownedByUser(info) {
			removeUnlocked(run)
		}
	}
}

func removeUnlocked(run string) {
	lock, err := os.OpenFile(filepath.Join(run, lockFile), os.O_RDWR, 0)
	if err == nil {
		_, err = filelock.Try(lock)
		_ = lock.Close() // which releases it, to others that remove the directory
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		_ = os.RemoveAll(run) // the next host tries again
	}
}

// Close removes the directory of the loader. A second call does nothing.
func (l *loader) Close(ctx context.Context) error {
	var err error
	if l.Compiled != nil {
		err = l.Compiled.Close(ctx)
	}
	if l.run != "" {
		err = errors.Join(err, ignoring(l.lock.Close(), fs.ErrClosed), os.RemoveAll(l.run))
	}
	return err
}

func readFrame(from Modules, name string) (*frame, error) {
	content, err := from.Read(name + frameSuffix)
	if err != nil {
		return nil, err
	}
	f := &frame{}
	if err := strictcbor.Unmarshal(content, f); err != nil || !isCodeName(f.Name) {
		return nil, ErrNotCached
	}
	return f, nil
}

// load compiles a module whose machine code is the frame with the text in the file. It checks the text first.
func (l *loader) load(f *frame, path string, check func(text []byte) error, compile func() (wazero.CompiledModule, error)) (compiled wazero.CompiledModule, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lock := lockOf(f.Name)
	lock.Lock()
	defer lock.Unlock()
	checked := func(text []byte) error {
		if err := check(text); err != nil {
			return err
		}
		if len(text) != f.Size {
			return ErrNotCached
		}
		return nil
	}
	if f.large() && !l.copies.Load() {
		// The text is not in memory together with the placeholder.
		if err := view(file, checked); err != nil {
			return nil, err
		}
		if compiled, err = l.compileMapped(f, file, compile); compiled != nil || err != nil {
			return compiled, err
		}
		if l.run == "" {
			return nil, errors.New("it cannot be mapped into memory")
		}
		l.copies.Store(true)
	}
	err = view(file, func(text []byte) error {
		if err := checked(text); err != nil {
			return err
		}
		compiled, err = l.compile(f, text, compile)
		return err
	})
	return compiled, err
}

// compileMapped compiles a module with a placeholder, which it replaces. It returns nil if that is not possible.
func (l *loader) compileMapped(f *frame, text *os.File, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	compiled, err := l.compile(f, nil, compile)
	if err != nil || l.mapOver(f, text) {
		return compiled, err
	}
	return nil, compiled.Close(context.Background())
}

// large reports whether the text is large enough to be mapped.
func (f *frame) large() bool { return f.Size >= leastMapped }

// leastMapped is the least size of a text that is mapped, in bytes. To copy less costs no more than to map it.
const leastMapped = 64 << 10

func (l *loader) compile(f *frame, text []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	path := filepath.Join(l.files, f.Name)
	if l.run == "" {
		if err := f.check(path, text); err != nil {
			return nil, err
		}
		return compile()
	}
	defer os.Remove(path) // the directory is removed as a whole
	if err := f.write(path, text, 0o600); err != nil {
		return nil, err
	}
	return compile()
}

// mapOver maps the text in the place of its placeholder, and reports whether the module has its text now.
// A module that wazero had in memory already has no placeholder.
func (l *loader) mapOver(f *frame, text *os.File) bool {
	found, err := l.mapText(text, f.Size, f.mark())
	if found && err == nil {
		l.mapped.Store(f.Name, true)
	}
	_, mapped := l.mapped.Load(f.Name)
	return err == nil && mapped
}
