package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// variant is how a module is run.
type variant int

const (
	plain variant = iota
	metered
	closing
	variants
)

// instance is a module's instance in a runtime of its own.
type instance struct {
	module   api.Module
	tank     *meter.Tank
	provider *canon.Guest
}

// start makes an instance of a module in one variant.
func start(ctx context.Context, wasm []byte, v variant) (*instance, error) {
	i := &instance{tank: &meter.Tank{}}
	if v == metered {
		module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil {
			return nil, err
		}
		if wasm, err = meter.Rewrite(module, meter.Options{MemoryPages: host.DefaultMemoryLimit >> 16}); err != nil {
			return nil, err
		}
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(v == closing))
	if err := i.imports(ctx, runtime); err != nil {
		return nil, err
	}
	i.tank.Begin(math.MaxInt64, time.Now())
	config := wazero.NewModuleConfig().WithStartFunctions("_initialize").WithRandSource(rand.Reader).WithSysNanotime().WithSysWalltime()
	var err error
	if i.module, err = runtime.InstantiateWithConfig(ctx, wasm, config); err != nil {
		return nil, err
	}
	i.tank.Connect(i.module)
	i.provider = canon.NewGuest(i, guestcbor.New(property.Limits{}), host.DefaultAnswerBytes)
	return i, nil
}

// imports are WASI, the refill of the host, and the contract with nothing granted.
func (i *instance) imports(ctx context.Context, runtime wazero.Runtime) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return err
	}
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			granted, err := i.tank.Refill(int64(stack[0]), time.Now())
			if err != nil || ctx.Err() != nil {
				panic(err)
			}
			stack[0] = uint64(granted)
		}), i64, i64).Export(meter.Refill).Instantiate(ctx)
	if err != nil {
		return err
	}
	// The module of TinyGo has an import that the functions which are measured do not use.
	_, err = runtime.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(int32, int32) { panic("not for benchmarks") }).Export("get_random_string").Instantiate(ctx)
	if err != nil {
		return err
	}
	builders := map[string]wazero.HostModuleBuilder{}
	for _, imported := range canon.ImportTable() {
		builder, ok := builders[imported.Module]
		if !ok {
			builder = runtime.NewHostModuleBuilder(imported.Module)
			builders[imported.Module] = builder
		}
		call := func(ctx context.Context, _ api.Module, stack []uint64) {
			if err := imported.Call(ctx, i.provider, &canon.Imports{}, stack); err != nil {
				panic(err)
			}
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), imported.Params, imported.Results).Export(imported.Name)
	}
	for _, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Call calls an export of the contract, for package canon.
func (i *instance) Call(ctx context.Context, index int, stack []uint64) error {
	return i.module.ExportedFunction(canon.WorldProvider.ExportTable()[index].Name).CallWithStack(ctx, stack)
}

// Memory is the instance's memory.
func (i *instance) Memory() canon.LinearMemory { return i.module.Memory() }

// call calls a function of numbers.
func (i *instance) call(ctx context.Context, name string, args ...uint64) error {
	function := i.module.ExportedFunction(name)
	if function == nil {
		return fmt.Errorf("the module has no function %s", name)
	}
	i.tank.Begin(math.MaxInt64, time.Now())
	_, err := function.Call(ctx, args...)
	return err
}
