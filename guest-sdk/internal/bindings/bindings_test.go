package bindings_test

import (
	"context"
	"maps"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// module is an instance of testdata/echo.
type module struct {
	api.Module
	exports []api.Function
}

func (m *module) Call(ctx context.Context, export int, stack []uint64) error {
	return m.exports[export].CallWithStack(ctx, stack)
}

// offering is a module that is asked for its arena.
type offering struct{ *module }

func (m offering) Arena(ctx context.Context) (uint32, bool, error) {
	answer, err := m.ExportedFunction(canon.ArenaExport).Call(ctx)
	if err != nil {
		return 0, false, err
	}
	return uint32(answer[0]), true, nil
}

func (m *module) Memory() canon.LinearMemory { return m.Module.Memory() }

func build(t *testing.T, name string) []byte {
	testmodule.Skip(t)
	return testmodule.Build(t, "./testdata/"+name)
}

func signature(f api.FunctionDefinition) canon.Signature {
	return canon.Signature{Params: f.ParamTypes(), Results: f.ResultTypes()}
}

// start instantiates the module with what it may import, for a host that knows arenas or
// does not.
func start(t *testing.T, wasm []byte, imports *canon.Imports, arena bool) (*canon.Guest, *module) {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, wasm)
	require.NoError(t, err)

	exports := map[string]canon.Signature{}
	for name, f := range compiled.ExportedFunctions() {
		exports[name] = signature(f)
	}
	world, err := canon.CheckExports(exports)
	require.NoError(t, err)
	for _, f := range compiled.ImportedFunctions() {
		if m, name, _ := f.Import(); strings.HasPrefix(m, canon.Package+"/") {
			require.NoError(t, canon.CheckImport(m, name, signature(f)))
		}
	}

	var guest *canon.Guest
	builders := map[string]wazero.HostModuleBuilder{}
	for _, i := range canon.ImportTable() {
		b, ok := builders[i.Module]
		if !ok {
			b = r.NewHostModuleBuilder(i.Module)
			builders[i.Module] = b
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			if err := i.Call(ctx, guest, imports, stack); err != nil {
				panic(err)
			}
		}), i.Params, i.Results).Export(i.Name)
	}
	for b := range maps.Values(builders) {
		_, err := b.Instantiate(ctx)
		require.NoError(t, err)
	}
	m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions("_initialize").WithStderr(os.Stderr))
	require.NoError(t, err)
	instance := &module{Module: m}
	for _, e := range world.ExportTable() {
		instance.exports = append(instance.exports, m.ExportedFunction(e.Name))
	}
	if guest = canon.NewGuest(instance, guestcbor.Codec{}, 1<<20); arena {
		guest = canon.NewGuest(offering{instance}, guestcbor.Codec{}, 1<<20)
	}
	return guest, instance
}

func TestModule(t *testing.T) {
	wasm := build(t, "echo")
	t.Run("every value crosses unchanged", func(t *testing.T) { testEcho(t, wasm, true) })
	t.Run("and for hosts without arenas", func(t *testing.T) { testEcho(t, wasm, false) })
	t.Run("a panic is an error", func(t *testing.T) { testPanic(t, wasm) })
	t.Run("no call leaves the collector marking", func(t *testing.T) { testMarking(t, wasm) })
	t.Run("nothing granted", func(t *testing.T) { testNothingGranted(t, wasm) })
}

// TestPolicyModule does the same with a policy pack.
func TestPolicyModule(t *testing.T) {
	var got, want canontest.Trace
	host := canon.Imports(canontest.NewHost(&got))
	guest, _ := start(t, build(t, "echopolicy"), &host, true)
	testEchoes[abi.Policy](t, guest, guest.Policy(), canontest.EchoPolicy{Host: canontest.NewHost(&want)}, &got, &want)
	_, err := guest.Policy().Handshake(t.Context(), abi.PolicyHandshakeRequest{Engine: "panic please"})
	require.ErrorIs(t, err, abi.ErrCrashed)
	require.NoError(t, guest.Broken())
}

// TestProgramModule does the same with a program.
func TestProgramModule(t *testing.T) {
	var got, want canontest.Trace
	host := canon.Imports(canontest.NewHost(&got))
	guest, _ := start(t, build(t, "echoprogram"), &host, true)
	testEchoes[abi.Program](t, guest, guest.Program(), canontest.EchoProgram{Host: canontest.NewHost(&want)}, &got, &want)
}

// testEcho calls every function of a provider, and expects it to call all of the host's.
func testEcho(t *testing.T, wasm []byte, arena bool) {
	var got, want canontest.Trace
	host := canon.Imports(canontest.NewHost(&got))
	guest, _ := start(t, wasm, &host, arena)
	called := testEchoes[abi.Provider](t, guest, guest, canontest.EchoProvider{Host: canontest.NewHost(&want)}, &got, &want)
	for _, i := range canon.ImportTable() {
		name := strings.TrimPrefix(strings.Split(i.Module, "@")[0], canon.Package+"/") + "." + i.Name
		require.True(t, called[name], "%s was never called", name)
	}
}

// testEchoes calls every function with many requests, natively and in the module, and
// expects the same answers and the same calls of the host, whose names it returns.
func testEchoes[I any](t *testing.T, guest *canon.Guest, module, native I, got, want *canontest.Trace) map[string]bool {
	called, answered := map[string]bool{}, map[string]bool{}
	iface := reflect.TypeFor[I]()
	for n := range iface.NumMethod() {
		method := iface.Method(n).Name
		for round := range 20 {
			*got, *want = nil, nil
			draw := canontest.Seeded(method + strconv.Itoa(round))
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for p := 1; p < iface.Method(n).Type.NumIn(); p++ {
				v := reflect.New(iface.Method(n).Type.In(p))
				canontest.Fill(draw, v.Interface())
				args = append(args, v.Elem())
			}
			answer, err := call(module, method, args)
			wantAnswer, wantErr := call(native, method, args)
			require.Equal(t, wantErr, err, method)
			require.Equal(t, wantAnswer, answer, method)
			require.Equal(t, *want, *got, method)
			require.NoError(t, guest.Broken())
			for _, c := range *got {
				called[c.Function] = true
			}
			answered[method] = answered[method] || err == ""
		}
		require.True(t, answered[method], "%s never succeeded", method)
	}
	return called
}

// call returns the answer or the error of a method, as text.
func call(p any, method string, args []reflect.Value) (answer, err string) {
	results := reflect.ValueOf(p).MethodByName(method).Call(args)
	if err := results[len(results)-1]; !err.IsNil() {
		return "", canontest.Dump(err.Interface())
	}
	if len(results) == 1 {
		return "", ""
	}
	return canontest.Dump(results[0].Interface()), ""
}

func testPanic(t *testing.T, wasm []byte) {
	host := canon.Imports(canontest.NewHost(nil))
	guest, _ := start(t, wasm, &host, true)
	_, err := guest.Check(t.Context(), abi.CheckRequest{Name: "panic please"})
	require.ErrorIs(t, err, abi.ErrCrashed)
	require.ErrorContains(t, err, "panic: as you please")
	require.NoError(t, guest.Broken())
	_, err = guest.Check(t.Context(), abi.CheckRequest{Name: "the instance lives on"})
	require.NotErrorIs(t, err, abi.ErrCrashed)
}

// testMarking expects the collector at rest after each call, though it has begun in some.
func testMarking(t *testing.T, wasm []byte) {
	host := canon.Imports(canontest.NewHost(nil))
	guest, module := start(t, wasm, &host, true)
	ask := func(export string) uint64 {
		results, err := module.ExportedFunction(export).Call(t.Context())
		require.NoError(t, err)
		return results[0]
	}
	before := ask("collections")
	request := abi.CheckRequest{Name: strings.Repeat("long ", 10_000)} // the echo makes more of it
	for ask("collections") < before+5 {
		_, _ = guest.Check(t.Context(), request) // an error is an answer too
		require.NoError(t, guest.Broken())
		require.Zero(t, ask("marking"))
	}
}

// testNothingGranted expects that the provider sees refusals instead of results. The
// echo has what it sees in its answer.
func testNothingGranted(t *testing.T, wasm []byte) {
	guest, _ := start(t, wasm, &canon.Imports{}, true)
	native := canontest.EchoProvider{Host: canontest.DeniedHost()}
	for n := range 20 {
		args := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(abi.CheckRequest{Name: strconv.Itoa(n)})}
		answer, err := call(guest, "Check", args)
		wantAnswer, wantErr := call(native, "Check", args)
		require.Equal(t, wantErr, err)
		require.Equal(t, wantAnswer, answer)
	}
}
