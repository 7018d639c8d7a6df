package wasmsubset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	. "github.com/husk-dev/husk/internal/wasmtest"

	"github.com/husk-dev/husk/internal/wasmfile"
	"github.com/husk-dev/husk/internal/wasmsubset"
)

// The functions of the tests' module. A function adds its own mark to what it is given,
// after those that it calls.
const (
	imported = iota
	leaf     // no calls
	caller   // calls leaf
	indirect // calls the function at a place of the table, which is its second parameter
	referrer // has a reference to itself, and calls the import
	functions
)

func whole() Module {
	number, place := Type{Params: I32, Results: I32}, Type{Params: I32 + I32, Results: I32}
	mark := func(of int32, code string) string { return code + I32Const(of) + "\x6a" } // i32.add
	return Module{
		Types:   []Type{number, place},
		Imports: []Import{{Module: "test", Name: "imported", Type: 0}},
		Functions: []Function{
			{Type: 0, Code: mark(1, LocalGet(0))},
			{Type: 0, Code: mark(10, LocalGet(0)+Call(leaf))},
			{Type: 1, Code: mark(100, LocalGet(0)+LocalGet(1)+CallIndirect(0))},
			{Type: 0, Locals: Funcref, Code: RefFunc(referrer) + LocalSet(1) + mark(1000, LocalGet(0)+Call(imported))},
		},
		Tables:   []string{Funcref + Limits(functions)},
		Elements: []uint32{imported, leaf, caller, indirect, referrer},
		Exports: []Export{
			{Name: "leaf", Index: leaf}, {Name: "caller", Index: caller}, {Name: "indirect", Index: indirect}, {Name: "referrer", Index: referrer},
		},
	}
}

// call runs an export of a module with parameters.
func call(t *testing.T, wasm []byte, name string, params ...uint64) (uint64, error) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	_, err := r.NewHostModuleBuilder("test").NewFunctionBuilder().
		WithFunc(func(v uint32) uint32 { return v + 10000 }).Export("imported").Instantiate(ctx)
	require.NoError(t, err)
	m, err := r.Instantiate(ctx, wasm)
	require.NoError(t, err)
	results, err := m.ExportedFunction(name).Call(ctx, params...)
	if err != nil {
		return 0, err
	}
	return results[0], nil
}

// Each set of functions makes a valid module, in which what needs no other function does what
// it did, and everything else traps.
func TestAPartDoesWhatTheWholeDoesOrTraps(t *testing.T) {
	wasm := whole().Encode()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	calls := []struct {
		name   string
		params []uint64
		needs  []int
		marks  uint64
	}{
		{"leaf", []uint64{5}, []int{leaf}, 6},
		{"caller", []uint64{5}, []int{caller, leaf}, 16},
		{"indirect", []uint64{5, leaf}, []int{indirect, leaf}, 106},
		{"indirect", []uint64{5, caller}, []int{indirect, caller, leaf}, 116},
		{"indirect", []uint64{5, imported}, []int{indirect, imported}, 10105},
		{"referrer", []uint64{5}, []int{referrer, imported}, 11005},
	}
	for set := range 1 << functions {
		small := wasmsubset.Extract(m, func(function int) bool { return set&(1<<function) != 0 })
		for _, c := range calls {
			enough := true
			for _, f := range c.needs {
				enough = enough && set&(1<<f) != 0
			}
			marks, err := call(t, small, c.name, c.params...)
			if enough {
				require.NoError(t, err)
				require.Equal(t, c.marks, marks)
			} else {
				require.ErrorContains(t, err, "unreachable")
			}
		}
	}
}

// A module can hand on what it imports, and have no function of its own.
func TestAPartOfImportsAloneTraps(t *testing.T) {
	m, err := wasmfile.Read(Module{
		Types:   []Type{{Params: I32, Results: I32}},
		Imports: []Import{{Module: "test", Name: "imported", Type: 0}},
		Tables:  []string{Funcref + Limits(1)},
		Exports: []Export{{Name: "imported", Index: imported}},
		Customs: []Custom{{Name: "custom", Content: "left out"}},
	}.Encode(), wasmfile.DefaultLimits())
	require.NoError(t, err)
	marks, err := call(t, wasmsubset.Extract(m, func(int) bool { return true }), "imported", 5)
	require.NoError(t, err)
	require.EqualValues(t, 10005, marks)
	_, err = call(t, wasmsubset.Extract(m, func(int) bool { return false }), "imported", 5)
	require.ErrorContains(t, err, "unreachable")
}

// stateful is the same module with all else that modules have.
func stateful() Module {
	m := whole()
	m.Memories = []string{Limits(1, 2)}
	m.Globals = []Global{{Type: I32[0], Mutable: true, Init: I32Const(7)}, {Type: Funcref[0], Init: RefFunc(leaf)}}
	m.Data = []Data{{Offset: 8, Content: "data"}}
	m.Customs = []Custom{{Name: "custom", Content: "left out"}}
	m.Start = leaf // which is 1 more than an index: the import
	m.Exports = append(m.Exports, Export{Name: "memory", Kind: KindMemory}, Export{Name: "global", Kind: KindGlobal})
	return m
}

// What a module has beside functions stays as it is.
func TestAPartHasTheStateOfTheWhole(t *testing.T) {
	whole := stateful()
	m, err := wasmfile.Read(whole.Encode(), wasmfile.DefaultLimits())
	require.NoError(t, err)
	small, err := wasmfile.Read(wasmsubset.Extract(m, func(function int) bool { return function == caller }), wasmfile.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, m.Types, small.Types)
	require.Equal(t, m.Imports, small.Imports)
	require.Equal(t, m.Exports, small.Exports)
	require.Equal(t, m.Globals, small.Globals)
	require.Equal(t, m.Tables, small.Tables)
	require.Equal(t, m.Memories, small.Memories)
	require.Equal(t, m.Segments, small.Segments)
	require.Len(t, small.FuncRefs, len(m.FuncRefs))
	require.Empty(t, small.Customs)
	require.Len(t, small.Bodies, 3, "the function that is kept, and one that traps for each type")
}
