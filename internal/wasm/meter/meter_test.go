package meter_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// rewrite meters a module that is known to be admitted.
func rewrite(t testing.TB, wasm []byte, options meter.Options) []byte {
	t.Helper()
	module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	metered, err := meter.Rewrite(module, options)
	require.NoError(t, err)
	return metered
}

// machine runs one metered module.
type machine struct {
	module api.Module
	// granted is all fuel that the module was given.
	granted int64
	refills int
	// stop ends the guest when it asks for fuel and had as much as this.
	stop  error
	after int64
}

// quantum is small, so that tests with little work ask for more.
const quantum = 50

func start(t testing.TB, engine func() wazero.RuntimeConfig, metered []byte) *machine {
	t.Helper()
	ctx := t.Context()
	m := &machine{}
	runtime := wazero.NewRuntimeWithConfig(ctx, engine())
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithFunc(func(left int64) int64 {
			if m.stop != nil && m.granted >= m.after {
				panic(m.stop)
			}
			m.refills++
			m.granted += quantum
			return left + quantum
		}).Export(meter.Refill).Instantiate(ctx)
	require.NoError(t, err)
	m.module, err = runtime.Instantiate(ctx, metered)
	require.NoError(t, err)
	return m
}

// used is the fuel that the module has used.
func (m *machine) used() int64 {
	return m.granted - int64(m.module.ExportedGlobal(meter.Fuel).Get())
}

func (m *machine) call(t testing.TB, args ...uint64) []uint64 {
	t.Helper()
	results, err := m.module.ExportedFunction("f").Call(t.Context(), args...)
	require.NoError(t, err)
	return results
}

// program is a module whose function f, of one number, has the code.
func program(code string) Module {
	return Module{
		Types:     []Type{{Params: I32}},
		Functions: []Function{{Code: code}},
		Tables:    []string{Funcref + Limits(10, 100), Funcref + Limits(15, 20)},
		Memories:  []string{Limits(1)},
		Exports:   []Export{{Name: "f", Kind: KindFunction}, {Name: "memory", Kind: KindMemory}},
	}
}

// countdown runs the body as often as the parameter says.
func countdown(body string) string {
	return Block + LocalGet(0) + I32Eqz + BrIf(0) +
		Loop + body + LocalGet(0) + I32Const(1) + I32Sub + LocalTee(0) + BrIf(0) + End + End
}

func TestWhatWorkCosts(t *testing.T) {
	zero := I32Const(0)
	for name, c := range map[string]struct {
		code string
		n    uint64
		want int64
	}{
		// A small function without calls is paid for by who calls it, the host here.
		"a leaf": {zero + Drop, 0, 0},
		// drop, const and end, as often as there are, and end.
		"straight code": {strings.Repeat(zero+Drop, 20), 0, 41},
		// The function: block, get, eqz, br_if, loop, end, end. A turn: get, const, sub,
		// tee, br_if, end.
		"a loop not entered":        {countdown(""), 0, 7},
		"a loop":                    {countdown(""), 1000, 7 + 1000*6},
		"the body of a loop":        {countdown(strings.Repeat(Nop, 94)), 1000, 7 + 1000*100},
		"both sides of a branch":    {LocalGet(0) + If + strings.Repeat(Nop, 50) + Else + strings.Repeat(Nop, 20) + End, 1, 75},
		"a call, and what it calls": {LocalGet(0) + If + LocalGet(0) + I32Const(1) + I32Sub + Call(0) + End, 2, 3 * (7 + 19)},
		// Each pays for the function, the call that charges, and the operation's length.
		"filling":             {zero + zero + LocalGet(0) + MemoryFill, 65536, 5 + 19 + 65536/64},
		"filling very little": {zero + zero + LocalGet(0) + MemoryFill, 63, 5 + 19},
		// The instructions, and a store for each 16 bytes; a copy also has a load.
		"filling a known length": {LocalGet(0) + zero + I32Const(250) + MemoryFill, 0, 5 + 16},
		"copying a known length": {zero + zero + I32Const(256) + MemoryCopy, 0, 5 + 32},
		"copying":                {zero + zero + LocalGet(0) + MemoryCopy, 128, 5 + 19 + 2},
		"filling a table":        {zero + RefNull + LocalGet(0) + TableFill, 9, 5 + 19 + 9},
		// Growing costs as much as a call of the host, and what was added.
		"growing memory":                            {LocalGet(0) + MemoryGrow + Drop, 3, 4 + 100 + 3*1024},
		"growing memory by nothing":                 {LocalGet(0) + MemoryGrow + Drop, 0, 4 + 100},
		"growing memory by more than there can be":  {LocalGet(0) + MemoryGrow + Drop, 1<<32 - 1, 4 + 100},
		"growing memory to more than there can be":  {LocalGet(0) + MemoryGrow + Drop, 1 << 16, 4 + 100},
		"growing memory twice":                      {LocalGet(0) + MemoryGrow + Drop + LocalGet(0) + MemoryGrow + Drop, 2, 7 + 200 + 4*1024},
		"growing a table":                           {RefNull + LocalGet(0) + TableGrow + Drop, 7, 5 + 100 + 7},
		"growing a table by more than there can be": {RefNull + LocalGet(0) + TableGrow + Drop, 1<<32 - 1, 5 + 100},
		"growing a table beyond its maximum":        {RefNull + LocalGet(0) + TableGrow + Drop, 91, 5 + 100},
		"growing another table beyond its maximum":  {RefNull + LocalGet(0) + "\xfc\x0f\x01" + Drop, 6, 5 + 100},
		"growing another table up to its maximum":   {RefNull + LocalGet(0) + "\xfc\x0f\x01" + Drop, 5, 5 + 100 + 5},
	} {
		t.Run(name, func(t *testing.T) {
			metered := rewrite(t, program(c.code).Encode(), meter.Options{})
			for name, engine := range engines {
				m := start(t, engine, metered)
				m.call(t, c.n)
				require.Equal(t, c.want, m.used(), name)
			}
		})
	}
	t.Run("local variables", func(t *testing.T) {
		p := program(zero + Drop)
		p.Functions[0].Locals = strings.Repeat(I64, 800)
		m := start(t, wazero.NewRuntimeConfigInterpreter, rewrite(t, p.Encode(), meter.Options{}))
		m.call(t, 0)
		require.EqualValues(t, 3+100, m.used())
	})
}

// What a table is refused is told of where the options have set its maximum, and costs nothing.
func TestElementsThatAreRefused(t *testing.T) {
	grow := func(table string) string { return RefNull + LocalGet(0) + "\xfc\x0f" + table + Drop }
	none, some := []string{Funcref + Limits(1)}, []string{Funcref + Limits(10, 100), Funcref + Limits(15, 20)}
	for name, c := range map[string]struct {
		tables      []string
		most        uint32
		code        string
		n           uint64
		has, refuse bool
	}{
		"up to the maximum":                {none, 10, grow("\x00"), 9, true, false},
		"beyond the maximum":               {none, 10, grow("\x00"), 10, true, true},
		"by more than there can be":        {none, 10, grow("\x00"), 1<<32 - 1, true, true},
		"twice":                            {none, 10, grow("\x00") + grow("\x00"), 6, true, true},
		"beyond that of the second table":  {some, 34, grow("\x01"), 3, true, true},
		"up to that of the second table":   {some, 34, grow("\x01"), 2, true, false},
		"beyond the module's own maximum":  {some, 100, grow("\x01"), 6, false, false},
		"a module with no maximum at all":  {none, 0, grow("\x00"), 10, false, false},
		"a module that only grows memory":  {none, 10, LocalGet(0) + MemoryGrow + Drop, 1 << 16, false, false},
		"the maximum is that of the start": {none, 1, grow("\x00"), 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := program(c.code)
			p.Tables = c.tables
			metered := rewrite(t, p.Encode(), meter.Options{TableElements: c.most})
			for name, engine := range engines {
				m := start(t, engine, metered)
				var tank meter.Tank
				tank.Connect(m.module)
				require.Equal(t, c.has, m.module.ExportedGlobal(meter.Refused) != nil)
				m.call(t, c.n)
				require.Equal(t, c.refuse, tank.Refused(), name)
				tank.Begin(1000, time.Now())
				require.False(t, tank.Refused(), "which was another call")
			}
		})
	}
}

// An operation that traps as it is longer than the memory or table costs its instructions only.
func TestWhatCannotBeDoneCostsNothing(t *testing.T) {
	zero := I32Const(0)
	for name, c := range map[string]struct {
		code    string
		n       uint64
		charged int64
	}{
		"filling all memory":              {zero + zero + LocalGet(0) + MemoryFill, 1 << 16, 1 << 10},
		"filling more than memory":        {zero + zero + LocalGet(0) + MemoryFill, 1<<16 + 1, 0},
		"filling very much":               {zero + zero + LocalGet(0) + MemoryFill, 1<<32 - 1, 0},
		"filling beyond memory":           {I32Const(1) + zero + LocalGet(0) + MemoryFill, 1 << 16, 1 << 10},
		"copying all memory":              {zero + zero + LocalGet(0) + MemoryCopy, 1 << 16, 1 << 10},
		"copying very much":               {zero + zero + LocalGet(0) + MemoryCopy, 1<<32 - 1, 0},
		"initializing with very much":     {zero + zero + LocalGet(0) + "\xfc\x08\x00\x00", 1<<32 - 1, 0},
		"filling a whole table":           {zero + RefNull + LocalGet(0) + TableFill, 10, 10},
		"filling more than a table":       {zero + RefNull + LocalGet(0) + TableFill, 11, 0},
		"filling another table":           {zero + RefNull + LocalGet(0) + "\xfc\x11\x01", 11, 11},
		"filling a table with very much":  {zero + RefNull + LocalGet(0) + TableFill, 1<<32 - 1, 0},
		"copying within another table":    {zero + zero + LocalGet(0) + "\xfc\x0e\x01\x01", 11, 11},
		"copying more than a table has":   {zero + zero + LocalGet(0) + "\xfc\x0e\x01\x00", 11, 0},
		"copying very much into a table":  {zero + zero + LocalGet(0) + "\xfc\x0e\x01\x00", 1<<32 - 1, 0},
		"initializing a table":            {zero + zero + LocalGet(0) + "\xfc\x0c\x00\x00", 1, 1},
		"initializing more than a table":  {zero + zero + LocalGet(0) + "\xfc\x0c\x00\x00", 1<<32 - 1, 0},
		"initializing another table":      {zero + zero + LocalGet(0) + "\xfc\x0c\x00\x01", 15, 15},
		"initializing more than another":  {zero + zero + LocalGet(0) + "\xfc\x0c\x00\x01", 16, 0},
		"growing, and filling what there": {I32Const(1) + MemoryGrow + zero + LocalGet(0) + MemoryFill, 1 << 17, 2 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := program(c.code)
			p.Elements, p.Data = []uint32{0}, []Data{{Passive: true, Content: "x"}}
			metered := rewrite(t, p.Encode(), meter.Options{})
			for name, engine := range engines {
				short, long := start(t, engine, metered), start(t, engine, metered)
				_, _ = short.module.ExportedFunction("f").Call(t.Context(), 0)
				_, _ = long.module.ExportedFunction("f").Call(t.Context(), c.n)
				require.Equal(t, c.charged, long.used()-short.used(), name)
			}
		})
	}
}

// stopped is what the host ends guests with.
type stopped struct{}

func (stopped) Error() string { return "stopped by the test" }

func TestEverythingEndlessAsksForFuel(t *testing.T) {
	recursive := LocalGet(0) + Call(0)
	for name, code := range map[string]string{
		"a loop":                     Loop + Br(0) + End,
		"loops in loops":             Loop + Loop + LocalGet(0) + BrIf(0) + End + Br(0) + End,
		"a loop behind code":         strings.Repeat(Nop, 30) + Loop + Br(0) + End,
		"a jump table":               Loop + LocalGet(0) + "\x0e\x00\x00" + End,
		"recursion that branches":    LocalGet(0) + I32Eqz + If + Return + End + LocalGet(0) + I32Const(1) + I32Sub + Call(0) + LocalGet(0) + I32Const(1) + I32Sub + Call(0),
		"recursion through a table":  LocalGet(0) + I32Const(0) + CallIndirect(0) + LocalGet(0) + I32Const(0) + CallIndirect(0),
		"recursion":                  recursive,
		"calls of what takes little": Loop + LocalGet(0) + Call(1) + Br(0) + End,
		"filling memory":             Loop + I32Const(0) + I32Const(0) + I32Const(65536) + MemoryFill + Br(0) + End,
		"code without end":           strings.Repeat(I32Const(1)+Drop, 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			p := program(code)
			p.Functions = append(p.Functions, Function{Code: Nop})
			p.Elements = []uint32{0}
			metered := rewrite(t, p.Encode(), meter.Options{})
			for name, engine := range engines {
				m := start(t, engine, metered)
				m.stop = stopped{}
				_, err := m.module.ExportedFunction("f").Call(t.Context(), 60)
				require.ErrorIs(t, err, stopped{}, name)
			}
		})
	}
}

func TestWhatIsAddedCannotBeReached(t *testing.T) {
	// The module has 1 type, 1 import, 1 function, and 1 global. What is added has the
	// indexes from 1 on of types and globals, and from 2 on of functions; the function
	// itself will be 2, which is invalid before.
	base := func() Module {
		return Module{
			Types:     []Type{{}},
			Imports:   []Import{{Module: "a", Name: "b"}},
			Functions: []Function{{Code: ""}},
			Tables:    []string{Funcref + Limits(10)},
			Memories:  []string{Limits(1)},
			Globals:   []Global{{Type: I64[0], Mutable: true, Init: I64Const(1)}},
		}
	}
	for name, change := range map[string]func(*Module){
		"calling it":                 func(m *Module) { m.Functions[0].Code = Call(2) },
		"calling the last":           func(m *Module) { m.Functions[0].Code = I32Const(1) + Call(6) + Drop },
		"a reference":                func(m *Module) { m.Functions[0].Code = RefFunc(2) + Drop },
		"an indirect call":           func(m *Module) { m.Functions[0].Code = I64Const(1) + I32Const(0) + CallIndirect(1) + Drop },
		"a block of an added type":   func(m *Module) { m.Functions[0].Code = "\x02\x02" + End },
		"reading the fuel":           func(m *Module) { m.Functions[0].Code = GlobalGet(1) + Drop },
		"setting the fuel":           func(m *Module) { m.Functions[0].Code = I64Const(1<<62) + GlobalSet(1) },
		"a global of the fuel":       func(m *Module) { m.Globals = append(m.Globals, Global{Type: I64[0], Init: GlobalGet(2)}) },
		"exporting the fuel":         func(m *Module) { m.Exports = []Export{{Name: "x", Kind: KindGlobal, Index: 1}} },
		"exporting a function":       func(m *Module) { m.Exports = []Export{{Name: "x", Kind: KindFunction, Index: 2}} },
		"starting with it":           func(m *Module) { m.Start = 1 + 2 },
		"a table of it":              func(m *Module) { m.Elements = []uint32{2} },
		"a global function":          func(m *Module) { m.Globals = append(m.Globals, Global{Type: Funcref[0], Init: RefFunc(2)}) },
		"a function of its type":     func(m *Module) { m.Functions = append(m.Functions, Function{Type: 2}) },
		"an import of an added type": func(m *Module) { m.Imports = append(m.Imports, Import{Module: "a", Name: "c", Type: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			m := base()
			_, err := wasmfile.Read(m.Encode(), wasmfile.DefaultLimits())
			require.NoError(t, err)
			change(&m)
			_, err = wasmfile.Read(m.Encode(), wasmfile.DefaultLimits())
			var malformed *wasmfile.FormatError
			require.ErrorAs(t, err, &malformed)
		})
	}
	for name, change := range map[string]func(*Module){
		"export the fuel":   func(m *Module) { m.Exports = []Export{{Name: meter.Fuel, Kind: KindGlobal}} },
		"export a global":   func(m *Module) { m.Exports = []Export{{Name: meter.GlobalName(0), Kind: KindGlobal}} },
		"import the refill": func(m *Module) { m.Imports[0] = Import{Module: meter.Module, Name: meter.Refill} },
	} {
		t.Run("names: "+name, func(t *testing.T) {
			m := base()
			change(&m)
			module, err := wasmfile.Read(m.Encode(), wasmfile.DefaultLimits())
			require.NoError(t, err)
			_, err = meter.Rewrite(module, meter.Options{})
			var reserved *meter.ReservedError
			require.ErrorAs(t, err, &reserved)
		})
	}
}

func TestMaxima(t *testing.T) {
	for name, c := range map[string]struct {
		memory, table        string
		wantPages, wantTable wasmfile.Range
	}{
		"none":              {Limits(2), Limits(3), wasmfile.Range{Min: 2, Max: 16, HasMax: true}, wasmfile.Range{Min: 3, Max: 100, HasMax: true}},
		"higher":            {Limits(2, 60000), Limits(3, 1<<30), wasmfile.Range{Min: 2, Max: 16, HasMax: true}, wasmfile.Range{Min: 3, Max: 100, HasMax: true}},
		"lower":             {Limits(2, 5), Limits(3, 4), wasmfile.Range{Min: 2, Max: 5, HasMax: true}, wasmfile.Range{Min: 3, Max: 4, HasMax: true}},
		"more at the start": {Limits(20), Limits(200), wasmfile.Range{Min: 20, Max: 20, HasMax: true}, wasmfile.Range{Min: 200, Max: 200, HasMax: true}},
	} {
		t.Run(name, func(t *testing.T) {
			before := Module{Memories: []string{c.memory}, Tables: []string{Funcref + c.table, Funcref + c.table}}
			after, err := wasmfile.Read(rewrite(t, before.Encode(), meter.Options{MemoryPages: 16, TableElements: 200}), wasmfile.DefaultLimits())
			require.NoError(t, err)
			require.Equal(t, []wasmfile.Range{c.wantPages}, after.Memories)
			require.Equal(t, c.wantTable, after.Tables[0].Range)
			require.Equal(t, c.wantTable, after.Tables[1].Range)
		})
	}
}

func TestGlobalsAreExportedForImages(t *testing.T) {
	m := Module{Globals: []Global{
		{Type: I32[0], Mutable: true, Init: I32Const(1)},
		{Type: I64[0], Init: I64Const(2)},
		{Type: F64[0], Mutable: true, Init: "\x44\x00\x00\x00\x00\x00\x00\x00\x00"},
		{Type: Externref[0], Mutable: true, Init: "\xd0\x6f"},
	}}
	after, err := wasmfile.Read(rewrite(t, m.Encode(), meter.Options{}), wasmfile.DefaultLimits())
	require.NoError(t, err)
	var names []string
	for _, e := range after.Exports {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{meter.GlobalName(0), meter.GlobalName(2), meter.Fuel}, names)
}

func TestDataSegmentsAreMerged(t *testing.T) {
	data := func(segments ...Data) Module {
		return Module{
			Memories: []string{Limits(1)}, Data: segments,
			Exports: []Export{{Name: "memory", Kind: KindMemory}},
		}
	}
	far := int32(1000)
	for name, c := range map[string]struct {
		module Module
		want   int // segments
	}{
		"near":         {data(Data{Offset: 8, Content: "one"}, Data{Offset: 20, Content: "two"}, Data{Offset: 23, Content: "three"}), 1},
		"far":          {data(Data{Offset: 8, Content: "one"}, Data{Offset: far, Content: "two"}), 2},
		"not in order": {data(Data{Offset: 20, Content: "two"}, Data{Offset: 8, Content: "one"}), 1},
		"at the end":   {data(Data{Offset: 65530, Content: "abc"}, Data{Offset: 65533, Content: "def"}), 1},
		"overlapping":  {data(Data{Offset: 8, Content: "one"}, Data{Offset: 9, Content: "two"}), 2},
		"passive":      {data(Data{Passive: true, Content: "one"}, Data{Offset: 9, Content: "two"}), 2},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.module.Encode()
			metered := rewrite(t, before, meter.Options{})
			after, err := wasmfile.Read(metered, wasmfile.DefaultLimits())
			require.NoError(t, err)
			require.Len(t, after.Segments, c.want)
			require.Equal(t, memoryOf(t, before), memoryOf(t, metered))
		})
	}
	t.Run("beyond memory", func(t *testing.T) {
		m := data(Data{Offset: 0, Content: "ab"}, Data{Offset: 65535, Content: "cd"})
		after, err := wasmfile.Read(rewrite(t, m.Encode(), meter.Options{}), wasmfile.DefaultLimits())
		require.NoError(t, err)
		require.Len(t, after.Segments, 2, "the engine must refuse it")
	})
	t.Run("used by code", func(t *testing.T) {
		m := data(Data{Offset: 0, Content: "ab"}, Data{Offset: 2, Content: "cd"}, Data{Passive: true})
		m.Types, m.Functions = []Type{{}}, []Function{{Code: "\xfc\x09\x02"}} // data.drop
		after, err := wasmfile.Read(rewrite(t, m.Encode(), meter.Options{}), wasmfile.DefaultLimits())
		require.NoError(t, err)
		require.Len(t, after.Segments, 3)
	})
}

// memoryOf is the memory of a module at the start.
func memoryOf(t *testing.T, wasm []byte) []byte {
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { runtime.Close(context.Background()) })
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithFunc(func(int64) int64 { return 0 }).Export(meter.Refill).Instantiate(t.Context())
	require.NoError(t, err)
	module, err := runtime.Instantiate(t.Context(), wasm)
	require.NoError(t, err)
	memory := module.Memory()
	all, ok := memory.Read(0, memory.Size())
	require.True(t, ok)
	return all
}

func TestNamesStayRight(t *testing.T) {
	// f calls fail, which is after the import that is added.
	m := program(LocalGet(0) + Call(1))
	m.Functions = append(m.Functions, Function{Code: Unreachable})
	m.Customs = []Custom{
		{Name: "name", Content: Section(1, "\x02\x00"+Text("outer")+"\x01"+Text("inner"))},
		{Name: ".debug_info", Content: "offsets"},
		{Name: "producers", Content: "\x00"},
	}
	metered := rewrite(t, m.Encode(), meter.Options{})
	_, err := start(t, wazero.NewRuntimeConfigInterpreter, metered).module.ExportedFunction("f").Call(t.Context(), 0)
	require.ErrorContains(t, err, "wasm error: unreachable\nwasm stack trace:\n\t.inner(i32)\n\t.outer(i32)")
	after, err := wasmfile.Read(metered, wasmfile.DefaultLimits())
	require.NoError(t, err)
	require.Len(t, after.Customs, 2)
	require.Equal(t, wasmfile.Custom{Name: "producers", Data: []byte("\x00")}, after.Customs[1])
}
