// Package wasi is the WASI preview 1 system interface as Husk gives it to guests:
// arguments and environment that were granted, clocks, randomness, bounded output,
// and a file system of granted directories that no path leaves.
//
// It exists because wazero's own module cannot be interrupted while a guest sleeps,
// has deterministic randomness by default, and knows no confined directories. Package host provides the sockets; guests cannot
// accept any. Only package host uses it.
//
// One host module serves all guests of a runtime; what a call sees is the [System]
// in its context. Where that context has ended, every function ends the guest by a
// panic with the context's cause, which wazero turns into an error of the call.
//
// The interface is defined at
// https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.
package wasi

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ModuleName is the import module of preview 1.
const ModuleName = "wasi_snapshot_preview1"

// Config says what one instance gets. The zero value grants nothing but clocks and
// randomness.
type Config struct {
	// Args are the program's arguments, its name first.
	Args []string
	// Env holds `NAME=value` strings.
	Env []string
	// Clock is the system's where nil.
	Clock Clock
	// Random is crypto/rand's reader where nil. It is read by one goroutine at a time
	// for each instance, so one that several instances share needs a lock.
	Random io.Reader
	// Stdout and Stderr take what the guest writes, in pieces of at most a mebibyte
	// which they must not keep. Nil discards it.
	Stdout, Stderr func([]byte)
	// Files is the file system; nil has no directory at all.
	Files *FileSystem
	// OpenFiles bounds the descriptors that are open at once; 0 is [DefaultOpenFiles]. A file is one,
	// a directory two.
	OpenFiles int
	// Open is called, if it is set, for descriptors that are about to be open, and reports whether
	// they may be; then OpenFiles counts for nothing. Closed is called once they are not any more.
	Open   func(descriptors int) bool
	Closed func(descriptors int)
	// Called is called at each call of a function, and RandomTaken before a guest gets so
	// many random bytes. They may end the guest by a panic with an error.
	Called      func()
	RandomTaken func(bytes uint64)
	// ClockRead is called before a guest learns what time it is, and may end it in the same way.
	ClockRead func()
	// Await calls do, which may take for ever, and returns when it has ended, or ends the guest by
	// a panic with an error: then do may still use the memory and the System. name is the function
	// that was called. Where it is nil, do is called.
	Await func(name string, do func())
	// Sockets are there beside files; nil for none.
	Sockets Sockets
	// Used is called for each use of a file by its path; nil for nobody. The guest's part of its
	// texts is not escaped.
	Used func(Use)
}

// System is the state of one instance: its configuration and its open files.
// It serves one call at a time, as the instance does.
type System struct {
	config  Config
	handles handles
	// changed is set once the guest may have changed files.
	changed bool
}

// New makes the system of a fresh instance.
func New(config Config) *System {
	if config.Clock == nil {
		config.Clock = SystemClock()
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	if config.Files == nil {
		config.Files = emptyFileSystem()
	}
	config.OpenFiles = cmp.Or(config.OpenFiles, DefaultOpenFiles)
	s := &System{config: config}
	s.handles.reset(config)
	return s
}

// Unchanged reports whether the guest has the descriptors that it began with, and no others:
// one with the same memory can go on in its place.
func (s *System) Unchanged() bool { return s.handles.unchanged() }

// Close closes all files that the guest left open. The file system stays open.
func (s *System) Close() { s.handles.closeAll() }

// SystemKey is the key of the *System in the context in which an instance's functions are
// called.
type SystemKey struct{}

// ExitError is the panic, and thus the call's error, of a guest that exits. It is
// not wazero's, because some codes of that one pass for an ended context.
type ExitError struct {
	Code uint32
}

func (e *ExitError) Error() string { return fmt.Sprintf("the guest exited with code %d", e.Code) }

// call is one call of a function by a guest.
type call struct {
	ctx context.Context
	sys *System
	mem memory
	// args are the raw parameters; the accessors below read them.
	args []uint64
	// path is the absolute path that the call is about, where uses are listed.
	path   string
	result Errno
}

func (c *call) u32(i int) uint32 { return uint32(c.args[i]) }
func (c *call) u64(i int) uint64 { return c.args[i] }
func (c *call) i64(i int) int64  { return int64(c.args[i]) }

// mustGoOn ends the guest if the call's context has ended.
func (c *call) mustGoOn() {
	if c.ctx.Err() != nil {
		panic(context.Cause(c.ctx))
	}
}

// now is the wall clock, where a function needs it.
func (c *call) now() time.Time { return c.sys.config.Clock.Now() }

// function is one entry of the interface. Its parameters are written as in
// [valueTypes]; all but proc_exit return an Errno.
type function struct {
	name   string
	params string
	call   func(*call) Errno
}

// waits reports whether the function uses files or parts of a [Config], which may never answer.
func (f function) waits() bool {
	switch {
	case f.name == "poll_oneoff", f.name == "random_get", strings.HasPrefix(f.name, "path_"):
		return true
	case strings.HasPrefix(f.name, "fd_fdstat_"), strings.HasPrefix(f.name, "fd_prestat_"):
		return false
	}
	return strings.HasPrefix(f.name, "fd_")
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

func valueTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i, letter := range letters {
		types[i] = i32
		if letter == 'I' {
			types[i] = i64
		}
	}
	return types
}

func (f function) results() []api.ValueType {
	if f.name == "proc_exit" {
		return nil
	}
	return []api.ValueType{i32}
}

// functions is the whole of preview 1. `i` is an i32, `I` an i64.
func functions() []function {
	return dated(slices.Concat(processFunctions(), clockFunctions(), handleFunctions(), fileFunctions(),
		directoryFunctions(), audited(pathFunctions()), socketFunctions()))
}

// Signature tells the core type of a function of the interface.
func Signature(name string) (params, results []api.ValueType, ok bool) {
	for _, f := range functions() {
		if f.name == name {
			return valueTypes(f.params), f.results(), true
		}
	}
	return nil, nil, false
}

// Instantiate adds the interface to a runtime, for all of its guests.
func Instantiate(ctx context.Context, runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(ModuleName)
	for _, f := range functions() {
		builder.NewFunctionBuilder().
			WithName(f.name).
			WithGoModuleFunction(f.enter(), valueTypes(f.params), f.results()).
			Export(f.name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// isLocal reports whether the function is about an open file on a disk of this machine, which
// answers.
func (c *call) isLocal(f function) bool {
	if !strings.HasPrefix(f.name, "fd_") || len(c.args) == 0 {
		return false
	}
	fd := c.u32(0)
	h := c.sys.handles.get(fd)
	return h != nil && h.local || h == nil && f.name != "fd_close" && c.socket(fd) != nil // sockets never wait
}

func (f function) enter() api.GoModuleFunc {
	waits := f.waits()
	return func(ctx context.Context, module api.Module, stack []uint64) {
		sys, ok := ctx.Value(SystemKey{}).(*System)
		if !ok {
			panic(fmt.Errorf("wasi: %s was called in a context without a system", f.name))
		}
		c := call{ctx: ctx, sys: sys, mem: memory{module.Memory()}, args: stack[:len(f.params)]}
		c.mustGoOn()
		if called := sys.config.Called; called != nil {
			called()
		}
		if await := sys.config.Await; await != nil && waits && !c.isLocal(f) {
			await(f.name, func() { c.result = f.call(&c) })
			stack[0] = uint64(c.result)
			return
		}
		stack[0] = uint64(f.call(&c))
	}
}
