package codecache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/base/filelock"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// codeSection is the custom section of a hollow module that has its code's hash.
const codeSection = meter.Module + "/code"

// Hollow returns the hollow module of one.
func Hollow(module []byte) ([]byte, error) {
	sum := sha256.Sum256(module)
	return wasmfile.Hollow(module, codeSection, sum[:])
}

// Compile compiles a module, and keeps its code under the name that wazero has for the hollow
// module. If the code cannot be kept, that says nothing about the module.
func (c *Cache) Compile(ctx context.Context, settings wazero.RuntimeConfig, module, hollow []byte) (kept bool, err error) {
	own, err := newCompiler(ctx, settings, c.dir)
	if err != nil {
		return false, nil
	}
	defer own.close()
	code, err := own.compile(ctx, module)
	if err == nil && c.keep(ctx, own, code, hollow) == nil {
		return true, nil
	}
	if Unwritten(err) {
		err = nil
	}
	return false, err
}

const (
	// lockSuffix ends the name of a file that is locked while a module is compiled.
	lockSuffix = ".compiling"
	// lookAgain is how often a lock that is held is tried again.
	lookAgain = 50 * time.Millisecond
)

// Alone waits until no other process compiles the module of a record, but no longer than given, and has others wait until
// release. waited says that another did, so that the record may be there by now; waits is called when that is known. The lock
// ends with its process.
func (c *Cache) Alone(ctx context.Context, name string, most time.Duration, waits func()) (release func(), waited bool) {
	path, until := filepath.Join(c.dir, name+lockSuffix), time.Now().Add(most)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return func() {}, waited // then nothing can be kept either
		}
		unlock, err := filelock.Try(f)
		if err == nil {
			return func() { _, _, _ = os.Remove(path), unlock(), f.Close() }, waited
		}
		_ = f.Close()
		if !errors.Is(err, filelock.ErrHeld) || time.Now().After(until) {
			return func() {}, waited
		}
		if !waited {
			waits()
		}
		waited = true
		select {
		case <-ctx.Done():
			return func() {}, waited
		case <-time.After(lookAgain):
		}
	}
}

// keep writes the entry of a module whose machine code is in a file, and removes the file.
func (c *Cache) keep(ctx context.Context, own *compiler, file string, hollow []byte) error {
	whole := filepath.Join(own.run, "whole")
	if err := os.Rename(file, whole); err != nil {
		return err
	}
	named, err := own.compile(ctx, hollow)
	if err != nil {
		return err
	}
	return viewFile(whole, func(code []byte) error {
		f, text, err := divide(filepath.Base(named), code)
		if err != nil {
			return err
		}
		name := c.CodeName(hollow)
		f.Seal = c.seals.seal(name+textSuffix, text)
		if err := c.put(name+textSuffix, text); err != nil {
			return err
		}
		return c.writeCBOR(name+frameSuffix, f)
	})
}

// compiler is a runtime of wazero's that only compiles. It has a directory of its own, so
// that what appears there is known to be of the module that was compiled, whatever else is
// being compiled.
type compiler struct {
	*loader
	runtime wazero.Runtime
}

func newCompiler(ctx context.Context, settings wazero.RuntimeConfig, in string) (own *compiler, err error) {
	own = &compiler{}
	if own.loader, err = newLoader(in); err != nil {
		return nil, err
	}
	own.runtime = wazero.NewRuntimeWithConfig(ctx, settings.WithCompilationCache(own.Compiled))
	return own, nil
}

// compile returns the file with a module's code, which the caller moves, or leaves to be
// the only one that is left. Memory holds nothing of it.
func (c *compiler) compile(ctx context.Context, module []byte) (file string, err error) {
	compiled, err := c.runtime.CompileModule(ctx, module)
	if err != nil {
		return "", err
	}
	if err := compiled.Close(ctx); err != nil {
		return "", err
	}
	files, err := os.ReadDir(c.files)
	if err != nil {
		return "", err
	}
	if len(files) != 1 || !isCodeName(files[0].Name()) {
		return "", fmt.Errorf("%w: wazero left %d files", ErrNotCached, len(files))
	}
	return filepath.Join(c.files, files[0].Name()), nil
}

// close frees all that was compiled. Nothing of it runs.
func (c *compiler) close() {
	_ = c.runtime.Close(context.Background())
	_ = c.Close(context.Background()) // the directory is removed with the host's
}

// Unwritten reports whether an error of wazero's is about its files, and not about the module.
func Unwritten(err error) bool {
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	return path || link || errors.Is(err, ErrNotCached)
}
