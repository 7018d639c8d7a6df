package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/internal/meter"
)

// Module is a checked and compiled module. It is safe for concurrent use, shared by
// all who load the same bytes, and lives as long as its host.
type Module struct {
	Info
	host *Host
	// code is the compiled module. One that was installed is loaded with its first instance.
	code     func() (wazero.CompiledModule, error)
	images   *images
	spares   spares
	declared *declaration
	answers  *answers
}

// newModule makes a module that has neither code nor images yet.
func (h *Host) newModule(info Info) *Module {
	m := &Module{Info: info, host: h, declared: newDeclaration("", ""), answers: &answers{}}
	if h.cache != nil {
		m.answers = h.answersOf(info.Digest)
	}
	m.declared.answers = m.answers
	return m
}

// compiledTo is a module's code that is there.
func compiledTo(compiled wazero.CompiledModule) func() (wazero.CompiledModule, error) {
	return func() (wazero.CompiledModule, error) { return compiled, nil }
}

// loading is a module that is being compiled; done is closed once the rest is set.
type loading struct {
	done   chan struct{}
	module *Module
	err    error
}

// digestPrefix begins the digests of modules.
const digestPrefix = "sha256:"

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// Load loads a module from a file. A failure is a *[LoadError]; the errors inside of
// it say whether the file or the module is at fault.
func (h *Host) Load(ctx context.Context, path string) (*Module, error) {
	wasm, err := readModule(path, h.config.moduleSize)
	if err == nil {
		var module *Module
		if module, err = h.load(ctx, wasm); err == nil {
			return module, nil
		}
	}
	return nil, &LoadError{Path: path, Err: err}
}

// LoadBytes loads a module from memory, as Load does.
func (h *Host) LoadBytes(ctx context.Context, wasm []byte) (*Module, error) {
	module, err := h.load(ctx, wasm)
	if err != nil {
		return nil, &LoadError{Err: err}
	}
	return module, nil
}

func readModule(path string, limit int) ([]byte, error) {
	file, err := os.Open(path)
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, failure.Err // the path is told by the LoadError
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > int64(limit):
		return nil, &SizeError{Size: info.Size(), Limit: int64(limit)}
	}
	return io.ReadAll(io.LimitReader(file, int64(limit)+1))
}

func (h *Host) load(ctx context.Context, wasm []byte) (*Module, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(wasm) > h.config.moduleSize {
		return nil, &SizeError{Size: int64(len(wasm)), Limit: int64(h.config.moduleSize)}
	}
	digest := digestOf(wasm)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errClosedHost
	}
	l, known := h.modules[digest]
	if !known {
		l = &loading{done: make(chan struct{})}
		h.modules[digest] = l
		h.working.Go(func() { h.compile(l, digest, wasm) })
	}
	h.mu.Unlock()
	select {
	case <-l.done:
		return l.module, l.err
	case <-ctx.Done():
		// The compilation goes on for others, and for the cache.
		return nil, context.Cause(ctx)
	}
}

var errClosedHost = errors.New("the host is closed")

// compile ends a loading. One that failed is forgotten, so that it can be tried again.
func (h *Host) compile(l *loading, digest string, wasm []byte) {
	defer close(l.done)
	if l.module, l.err = h.prepare(digest, wasm); l.err != nil {
		h.mu.Lock()
		delete(h.modules, digest)
		h.mu.Unlock()
	}
}

// prepare takes a module that is precompiled or installed, or makes it.
func (h *Host) prepare(digest string, wasm []byte) (*Module, error) {
	if h.ahead != nil {
		return h.precompiled(digest)
	}
	if installed := h.installed(digest, wasm); installed != nil {
		return installed, nil
	}
	return h.build(wasm)
}

// build admits, meters, and compiles a module, and installs it for the next time.
func (h *Host) build(wasm []byte) (*Module, error) {
	decoded, info, err := admit(wasm, h.config)
	if err != nil {
		return nil, err
	}
	metered, err := meter.Rewrite(decoded, meter.Options{
		MemoryPages: h.config.memoryPages(), TableElements: h.config.most.tableElements, Detach: meter.Detachable(decoded),
	})
	if err != nil {
		return nil, err
	}
	time := h.config.most.compileTime
	ctx, cancel := context.WithTimeoutCause(h.stopped, time, &ExceededError{LimitCompileTime, uint64(time)})
	defer cancel()
	ctx = experimental.WithCompilationWorkers(ctx, compileWorkers)
	m := h.newModule(info)
	m.images = newImages(decoded)
	switch err = h.install(ctx, m, metered); {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("the module is invalid: %w", err)
}
