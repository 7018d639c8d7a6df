package wasmsubset_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	. "github.com/husk-dev/husk/internal/wasmtest"

	"github.com/husk-dev/husk/internal/wasmfile"
	"github.com/husk-dev/husk/internal/wasmsubset"
)

// A part of a valid module is valid, whichever functions it keeps.
func FuzzPart(f *testing.F) {
	f.Add(whole().Encode(), uint64(0))
	f.Add(whole().Encode(), ^uint64(0))
	f.Add(Module{Types: whole().Types, Imports: whole().Imports}.Encode(), uint64(0))
	f.Add(stateful().Encode(), uint64(1<<caller|1<<imported))
	f.Fuzz(func(t *testing.T, wasm []byte, kept uint64) {
		m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil {
			return
		}
		ctx := context.Background()
		runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer runtime.Close(ctx)
		if _, err := runtime.CompileModule(ctx, wasm); err != nil {
			return
		}
		small := wasmsubset.Extract(m, func(function int) bool { return kept>>(function%64)&1 == 1 })
		if _, err := wasmfile.Read(small, wasmfile.DefaultLimits()); err != nil {
			t.Fatalf("the part cannot be read: %v", err)
		}
		if _, err := runtime.CompileModule(ctx, small); err != nil {
			t.Fatalf("the part is invalid: %v", err)
		}
	})
}
