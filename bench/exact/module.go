package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
	"github.com/husk-dev/husk/internal/wasmsubset"
)

// command is a program to run: a module with a main function.
type command struct {
	args, env []string
	// mounts are the directories that the module may read, each at its path on the host. temporary is
	// the directory that it may write.
	mounts    []string
	temporary string
	// ran has the functions that run, where it is not nil.
	ran map[uint32]bool
}

type done struct {
	output string
	code   uint32
	// trapped is why it ended otherwise.
	trapped string
}

// rewritten is the module as a host makes it, and how many of its functions were rewritten.
func rewritten(wasm []byte) (metered []byte, copied int, err error) {
	limits := wasmfile.DefaultLimits()
	module, err := wasmfile.Read(wasm, limits)
	if err != nil {
		return nil, 0, err
	}
	if faster, copies := relooper.Rewrite(module, limits, func(int) bool { return true }); faster != nil {
		module, copied = faster, len(copies)
	}
	metered, err = meter.Rewrite(module, meter.Options{})
	return metered, copied, err
}

// partOf is the part of a module that has the functions that ran, and its imports.
func partOf(wasm []byte, ran map[uint32]bool) ([]byte, error) {
	module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return wasmsubset.Extract(module, func(function int) bool { return function < module.ImportedFunctions || ran[uint32(function)] }), nil
}

func (c *command) run(ctx context.Context, wasm []byte) (d done, err error) {
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer func() { err = errors.Join(err, runtime.Close(context.Background())) }()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return d, err
	}
	i64 := []api.ValueType{api.ValueTypeI64}
	if _, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), i64, i64).Export(meter.Refill).Instantiate(ctx); err != nil {
		return d, err
	}
	files := wazero.NewFSConfig()
	for _, dir := range c.mounts {
		files = files.WithReadOnlyDirMount(dir, dir)
	}
	if c.temporary != "" {
		files = files.WithDirMount(c.temporary, c.temporary)
	}
	var output bytes.Buffer
	config := wazero.NewModuleConfig().WithName("").WithArgs(c.args...).WithStdout(&output).WithStderr(&output).
		WithFSConfig(files).WithRandSource(rand.Reader).WithSysNanotime().WithSysWalltime().WithSysNanosleep()
	for at := 0; at < len(c.env); at += 2 {
		config = config.WithEnv(c.env[at], c.env[at+1])
	}
	compiling := experimental.WithCompilationWorkers(ctx, 2)
	if c.ran != nil {
		compiling = experimental.WithFunctionListenerFactory(compiling, listener(c.ran))
	}
	compiled, err := runtime.CompileModule(compiling, wasm)
	if err != nil {
		return d, err
	}
	_, ended := runtime.InstantiateModule(ctx, compiled, config)
	d.output = output.String()
	exit, exited := errors.AsType[*sys.ExitError](ended)
	switch {
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case exited:
		d.code = exit.ExitCode()
	case ended != nil:
		d.trapped = ended.Error()
	}
	return d, nil
}

// quantum is how much fuel a program gets at a time. It gets as much as it wants.
const quantum = math.MaxInt32

func refill(_ context.Context, stack []uint64) { stack[0] = quantum }

// listener takes down which functions run.
type listener map[uint32]bool

func (l listener) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	return experimental.FunctionListenerFunc(func(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
		l[f.Index()] = true
	})
}

// temporaryDir makes a directory for one program, and returns what removes it.
func temporaryDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "husk-exact")
	return dir, func() { os.RemoveAll(dir) }, err
}
