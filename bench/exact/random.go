package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/equivalence"
	"github.com/husk-dev/husk/internal/flowtest"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// mutants is how many changes of each rewritten function there are.
const mutants = 3

// functions compares random functions, and changes of what they are rewritten to.
func (c *comparison) functions(ctx context.Context, n int, seed uint64) {
	if n == 0 {
		return
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var rewritten, accepted, refused int
	for i := range n {
		if ctx.Err() != nil {
			return
		}
		choices := flowtest.Choices(random, 20+random.IntN(200))
		f, err := newFunction(choices)
		if err != nil {
			c.failed("random functions", err)
			return
		}
		if f.after == nil {
			continue
		}
		rewritten++
		name := fmt.Sprintf("random function %d", i)
		// The interpreter takes less time to begin, so that the compiler has its turn now and then.
		engine := wazero.NewRuntimeConfigInterpreter
		if rewritten%20 == 0 {
			engine = wazero.NewRuntimeConfigCompiler
		}
		c.compare(ctx, name, engine, f.before, f.after, f.calls)
		for range mutants {
			mutant := flowtest.Mutate(f.after, flowtest.Flow-flowtest.Called, flowtest.Choices(random, 30))
			switch ok, err := proven(ctx, f.before, mutant); {
			case err != nil: // it is invalid
			case !ok:
				refused++
			default:
				accepted++
				module, err := wasmfile.Read(mutant, wasmfile.DefaultLimits())
				if err != nil {
					c.failed(name, err)
					return
				}
				c.compare(ctx, name+", changed", engine, f.before, module, f.calls)
			}
		}
	}
	c.tell("random functions", "%d, of which %d are rewritten; of changes of these, %d are refused, and %d do the same",
		n, rewritten, refused, accepted)
}

// function is one before and after it was rewritten; after is nil where it was not.
type function struct {
	before, after *wasmfile.Module
	calls         flowtest.Calls
}

func newFunction(choices []byte) (f function, err error) {
	code, regions := flowtest.Generate(choices)
	limits := wasmfile.DefaultLimits()
	if f.before, err = wasmfile.Read(flowtest.Around(code).Encode(), limits); err != nil {
		return f, err
	}
	f.after, _ = relooper.Rewrite(f.before, limits, func(int) bool { return true })
	f.calls = flowtest.CallsOf(regions, 1)
	return f, nil
}

func (c *comparison) compare(ctx context.Context, name string, engine func() wazero.RuntimeConfig, before, after *wasmfile.Module, calls flowtest.Calls) {
	difference, err := flowtest.Difference(ctx, engine, before.Bytes(0, before.Size()), after.Bytes(0, after.Size()), calls)
	switch {
	case err != nil:
		c.failed(name, err)
	case difference != "":
		c.differs(name, "%s", difference)
	}
}

// proven reports whether a valid module is proven to do what the original does.
func proven(ctx context.Context, original *wasmfile.Module, wasm []byte) (bool, error) {
	module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	if err != nil {
		return false, err
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	if _, err := runtime.CompileModule(ctx, wasm); err != nil {
		return false, err
	}
	unproven, err := equivalence.Check(original, module)
	return err == nil && len(unproven) == 0, nil
}
