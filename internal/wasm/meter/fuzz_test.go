package meter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// outcome is all that can be seen of a run.
type outcome struct {
	results []uint64
	trap    string
	memory  string
	globals [2]uint64
}

// arguments are those of the function f of a generated module.
var arguments = []uint64{3, 1<<40 + 5}

// observe runs the function f of a generated module.
func observe(t *testing.T, module api.Module, globals func(int) uint64) outcome {
	var o outcome
	var err error
	o.results, err = module.ExportedFunction("f").Call(t.Context(), arguments...)
	if err != nil {
		o.trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	memory, ok := module.Memory().Read(0, module.Memory().Size())
	require.True(t, ok)
	o.memory = string(memory)
	o.globals = [2]uint64{globals(0), globals(1)}
	return o
}

// sameBehaviour holds that a module does the same on both engines, metered and not, and
// that both engines use the same fuel.
func sameBehaviour(t *testing.T, choices []byte) {
	plain := generate(choices)
	metered := rewrite(t, plain.Encode(), meter.Options{})
	for i := range plain.Globals {
		plain.Exports = append(plain.Exports, wasmtest.Export{Name: fmt.Sprint(i), Kind: wasmtest.KindGlobal, Index: uint32(i)})
	}
	// Some modules take very long; that is found out while they can be stopped.
	m := start(t, wazero.NewRuntimeConfigCompiler, metered)
	m.stop, m.after = stopped{}, 1_000_000
	_, err := m.module.ExportedFunction("f").Call(t.Context(), arguments...)
	if errors.Is(err, stopped{}) {
		return
	}
	var first *outcome
	fuel := map[string]int64{}
	for name, engine := range engines {
		runtime := wazero.NewRuntimeWithConfig(t.Context(), engine())
		defer runtime.Close(context.Background())
		module, err := runtime.Instantiate(t.Context(), plain.Encode())
		require.NoError(t, err)
		got := observe(t, module, func(i int) uint64 { return module.ExportedGlobal(fmt.Sprint(i)).Get() })
		if first == nil {
			first = &got
		}
		require.Equal(t, *first, got, "%s, plain", name)

		m := start(t, engine, metered)
		got = observe(t, m.module, func(i int) uint64 { return m.module.ExportedGlobal(meter.GlobalName(i)).Get() })
		require.Equal(t, *first, got, "%s, metered", name)
		fuel[name] = m.used()
	}
	require.Equal(t, fuel["interpreter"], fuel["compiler"])
}

// FuzzBehaviour compares what generated modules do on both engines, metered and not.
func FuzzBehaviour(f *testing.F) {
	for seed := range byte(10) {
		f.Add(randomChoices(f, rand.NewChaCha8([32]byte{seed})))
	}
	f.Fuzz(func(t *testing.T, choices []byte) { sameBehaviour(t, choices) })
}

func randomChoices(t testing.TB, random *rand.ChaCha8) []byte {
	choices := make([]byte, 1500)
	_, err := random.Read(choices)
	require.NoError(t, err)
	return choices
}

func TestMeteredModulesBehaveAsBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles hundreds of modules")
	}
	random := rand.NewChaCha8([32]byte{100})
	for range 150 {
		sameBehaviour(t, randomChoices(t, random))
	}
}

// validity reports whether wazero accepts a module that was read, plain and rewritten.
func validity(t testing.TB, runtime wazero.Runtime, wasm []byte, module *wasmfile.Module) (plain, metered error) {
	rewritten, err := meter.Rewrite(module, meter.Options{MemoryPages: 1 << 15, TableElements: 1 << 20})
	require.NoError(t, err)
	// wazero fails on an empty custom section if it is the last thing in the file.
	wasm = append(wasm[:len(wasm):len(wasm)], wasmtest.Section(0, wasmtest.Text("end")+"of file")...)
	compiled, plain := runtime.CompileModule(t.Context(), wasm)
	if plain == nil {
		require.NoError(t, compiled.Close(t.Context()))
	}
	compiled, metered = runtime.CompileModule(t.Context(), rewritten)
	if metered == nil {
		require.NoError(t, compiled.Close(t.Context()))
	}
	return plain, metered
}

// FuzzValidity holds that what can be rewritten is valid after it exactly if it was
// before.
func FuzzValidity(f *testing.F) {
	for _, name := range []string{"bulk.0", "elem.0", "select.0", "call_indirect.0", "simd_const.0", "names.0", "nop.0"} {
		wasm, err := os.ReadFile(suite(f, "v2", "testdata", name+".wasm"))
		require.NoError(f, err)
		f.Add(wasm)
	}
	generated := generate([]byte("some module that is generated")).Encode()
	f.Add(generated)
	f.Add(append(generated[:len(generated):len(generated)], wasmtest.Section(0, wasmtest.Text(""))...))
	runtime := wazero.NewRuntimeWithConfig(f.Context(), wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { runtime.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil || meter.Check(module) != nil {
			return
		}
		plain, metered := validity(t, runtime, wasm, module)
		if (plain == nil) != (metered == nil) {
			t.Fatalf("plain: %v\nmetered: %v", plain, metered)
		}
	})
}

// TestInvalidModulesStayInvalid rewrites every module of the tests of proposals, valid
// or not, which wazero has beside those of the standard.
func TestInvalidModulesStayInvalid(t *testing.T) {
	files, err := filepath.Glob(suite(t, "*", "testdata", "*.wasm"))
	require.NoError(t, err)
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(context.Background())
	var valid, refused, invalid int
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		require.NoError(t, err)
		module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil {
			refused++
			continue
		}
		plain, metered := validity(t, runtime, wasm, module)
		if plain == nil {
			require.NoError(t, metered, file)
			valid++
		} else {
			require.Error(t, metered, file)
			invalid++
		}
	}
	t.Logf("%d valid, %d invalid, %d refused by admission", valid, invalid, refused)
	require.Greater(t, valid, 1000)
	require.Greater(t, invalid, 1000)
}
