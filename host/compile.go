package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// mostCompilations bounds how many modules are compiled at once: one of 5 MB takes some
// 130 MB for that.
const mostCompilations = 4

// compilations is for how many of them there are processors. It is two at least, as workers
// do not do all of a compilation.
func compilations() int {
	return min(max(2, runtime.GOMAXPROCS(0)/compileWorkers), mostCompilations)
}

// compile compiles a module, and keeps its code under the name that wazero has for the hollow
// module, which it answers. Nil: the code cannot be kept, which says nothing about the module.
func (c *diskCache) compile(ctx context.Context, settings wazero.RuntimeConfig, module []byte) (hollow []byte, err error) {
	sum := sha256.Sum256(module)
	if hollow, err = wasmfile.Hollow(module, codeSection, sum[:]); err != nil {
		return nil, err
	}
	own, err := newCompiler(ctx, settings, c.run)
	if err != nil {
		return nil, nil
	}
	defer own.close()
	code, err := own.compile(ctx, module)
	if err == nil && c.keep(ctx, own, code, hollow) == nil {
		return hollow, nil
	}
	if unwritten(err) {
		err = nil
	}
	return nil, err
}

// keep makes an entry of a file of code.
func (c *diskCache) keep(ctx context.Context, own *compiler, file string, hollow []byte) error {
	entry := c.entry(hollow)
	code, err := os.ReadFile(file)
	if err == nil {
		err = os.Rename(file, entry+codeSuffix)
	}
	if err != nil {
		return err
	}
	named, err := own.compile(ctx, hollow)
	if err != nil {
		return err
	}
	name := filepath.Base(named)
	return atomicfile.WriteUnsynced(entry+sealSuffix, append(c.seals.seal(sealed(entry, name), code), name...), 0o600)
}

// compiler is a runtime of wazero's that only compiles. It has a directory of its own, so
// that what appears there is known to be of the module that was compiled, whatever else is
// being compiled.
type compiler struct {
	dir, files string
	cache      wazero.CompilationCache
	runtime    wazero.Runtime
}

func newCompiler(ctx context.Context, settings wazero.RuntimeConfig, in string) (_ *compiler, err error) {
	own := &compiler{}
	if own.dir, err = os.MkdirTemp(in, "compile-*"); err != nil {
		return nil, err
	}
	if own.cache, err = wazero.NewCompilationCacheWithDir(own.dir); err == nil {
		own.files, err = filesIn(own.dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(own.dir))
	}
	own.runtime = wazero.NewRuntimeWithConfig(ctx, settings.WithCompilationCache(own.cache))
	return own, nil
}

// compile answers the file with a module's code, which the caller moves, or leaves to be
// the only one that is left.
func (c *compiler) compile(ctx context.Context, module []byte) (file string, err error) {
	if _, err := c.runtime.CompileModule(ctx, module); err != nil {
		return "", err
	}
	files, err := os.ReadDir(c.files)
	if err != nil {
		return "", err
	}
	if len(files) != 1 || !isCodeName(files[0].Name()) {
		return "", fmt.Errorf("%w: wazero left %d files", errNotCached, len(files))
	}
	return filepath.Join(c.files, files[0].Name()), nil
}

// close frees all that was compiled. Nothing of it runs.
func (c *compiler) close() {
	_ = c.runtime.Close(context.Background())
	_ = c.cache.Close(context.Background())
	_ = os.RemoveAll(c.dir) // it is removed with the host's directory
}

// unwritten tells of an error of wazero's whether it is about the files, and not about the
// module.
func unwritten(err error) bool {
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	return path || link || errors.Is(err, errNotCached)
}

// compileKept compiles a module, and keeps its code. It answers the hollow module, too, by
// which the code is found again, nil where it was not kept.
func (h *Host) compileKept(ctx context.Context, module []byte) (compiled wazero.CompiledModule, hollow []byte, err error) {
	if hollow, err = h.cache.compile(ctx, h.settings, module); err != nil {
		return nil, nil, err
	}
	if hollow != nil {
		if compiled, err = h.loadHollow(h.cache, hollow); err == nil {
			return compiled, hollow, nil
		}
	}
	compiled, err = h.runtime.CompileModule(ctx, module)
	if unwritten(err) {
		compiled, err = h.runtime.CompileModule(ctx, module) // wazero has it in memory by now
	}
	return compiled, nil, err
}
