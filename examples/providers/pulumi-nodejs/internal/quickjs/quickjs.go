// Package quickjs runs JavaScript in QuickJS-ng, a small engine in C. Package core is the engine, compiled to
// WebAssembly and from there to Go, so that it is part of a module that Go builds; build/build.sh makes it.
package quickjs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/husk-dev/husk/examples/providers/pulumi-nodejs/internal/quickjs/core"
)

// What scripts may use, in bytes. Each call of a script also needs the stack of the module that this is part of,
// of which a host allows some ten megabytes: half a megabyte here stays below that.
const (
	memoryLimit = 64 << 20
	stackLimit  = 512 << 10
)

// Engine is one instance of the engine. It is for one goroutine.
type Engine struct {
	module *core.Module
	memory core.Memory
	broken error
}

// New returns an engine in which __host(name, argument) calls host. Both arguments are text, and so is the result.
func New(host func(name, argument string) string) (*Engine, error) {
	e := &Engine{}
	h := &imports{e: e, host: host}
	e.module = core.New(h, h)
	e.memory = e.module.Xmemory()
	e.module.X_initialize()
	if e.module.Xstart(memoryLimit, stackLimit) != 0 {
		return nil, errors.New("the JavaScript engine has not started: there is not enough memory")
	}
	return e, nil
}

// Watch has the script's global function __unhandled(promise, reason, handled) called with each promise that is
// rejected without a handler, or that gets one later.
func (e *Engine) Watch() { e.module.Xwatch() }

// Evaluate runs a script and returns its value as text. An exception is an error with its text.
func (e *Engine) Evaluate(source, file string) (text string, err error) {
	defer e.recovered(&err)
	if e.broken != nil {
		return "", e.broken
	}
	at := e.give(source)
	name := e.give(file)
	if at == 0 || name == 0 {
		return "", errors.New("InternalError: out of memory")
	}
	failed := e.module.Xevaluate(at, int32(len(source)), name)
	e.module.Xrelease(at)
	e.module.Xrelease(name)
	text = e.text(e.module.Xresult_text(), e.module.Xresult_length())
	if failed != 0 {
		return "", errors.New(text)
	}
	return text, nil
}

// Job runs the next pending job, and reports whether there was one.
func (e *Engine) Job() (ran bool, err error) {
	defer e.recovered(&err)
	if e.broken != nil {
		return false, e.broken
	}
	switch e.module.Xjob() {
	case 0:
		return false, nil
	case 1:
		return true, nil
	}
	return true, errors.New(e.text(e.module.Xresult_text(), e.module.Xresult_length()))
}

// recovered makes an error of what the engine's code panics with, for example because its stack is full. The
// engine cannot be used after that.
func (e *Engine) recovered(err *error) {
	if p := recover(); p != nil {
		e.broken = fmt.Errorf("the JavaScript engine broke off: %v", p)
		*err = e.broken
	}
}

// Broken reports whether the engine cannot be used any more.
func (e *Engine) Broken() bool { return e.broken != nil }

// give copies a text into the engine's memory, with a zero byte behind it. It returns 0 if there is no room.
func (e *Engine) give(s string) int32 {
	at := e.module.Xallocate(int32(len(s) + 1))
	if at != 0 {
		memory := (*e.memory.Slice())[uint32(at):]
		copy(memory, s)
		memory[len(s)] = 0
	}
	return at
}

func (e *Engine) text(at, n int32) string {
	if at == 0 {
		return "InternalError: out of memory"
	}
	return string((*e.memory.Slice())[uint32(at) : uint32(at)+uint32(n)])
}

// imports are the functions that the engine's module imports: host, and what its C library asks of WASI.
type imports struct {
	e    *Engine
	host func(name, argument string) string
}

func (i *imports) Xcall(name, nameLen, argument, argumentLen int32) int32 {
	answer := i.host(i.e.text(name, nameLen), i.e.text(argument, argumentLen))
	at := i.e.module.Xresult_allocate(int32(len(answer)))
	if at != 0 {
		copy((*i.e.memory.Slice())[uint32(at):], answer)
	}
	return at
}

// WASI's results.
const (
	success = 0
	badFile = 8
)

func (i *imports) Xclock_time_get(_ int32, _ int64, at int32) int32 {
	binary.LittleEndian.PutUint64((*i.e.module.Xmemory().Slice())[uint32(at):], uint64(time.Now().UnixNano()))
	return success
}

// The C library writes to no file: QuickJS prints nothing unless it is asked to.
func (*imports) Xfd_close(int32) int32                      { return badFile }
func (*imports) Xfd_fdstat_get(int32, int32) int32          { return badFile }
func (*imports) Xfd_seek(int32, int64, int32, int32) int32  { return badFile }
func (*imports) Xfd_write(int32, int32, int32, int32) int32 { return badFile }
