package entropy_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	. "github.com/husk-dev/husk/internal/testkit/wasmtest"

	"github.com/husk-dev/husk/internal/wasm/entropy"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// program is a module as Go's toolchain makes them: functions with their names, of which the
// host calls the last one.
type program []function

type function struct {
	name string
	// body writes the code. It gets where the function is, and where others are.
	body func(p program, at int) string
}

// Imported functions, and what is kept of a time or number that they give.
const (
	importClock = iota
	importDraw
	imports
)

const (
	firstAddress = 0x1000
	stackEnd     = 4096
	tableAt      = 8192
	i64Load      = "\x29\x03"
	i64Store     = "\x37\x03"
	i64Store32   = "\x3e\x02"
	wrap         = "\xa7"
	extend       = "\xad"
	// stack is the local variable with the end of Go's stack.
	stack = 1
)

// at is the offset of an access to memory.
func at(offset uint64) string { return Unsigned(offset) }

func (p program) index(name string) int {
	for i, f := range p {
		if f.name == name {
			return i
		}
	}
	panic("there is no function " + name)
}

// address is what a call in a function returns to.
func address(function int) int64 { return int64(firstAddress+function)<<16 | 1 }

// call is a call of a function, with where it returns to.
func (p program) call(callee string, returns int64) string {
	return LocalGet(stack) + I32Const(8) + I32Sub + LocalTee(stack) + GlobalSet(0) +
		LocalGet(stack) + I64Const(returns) + i64Store + at(0) + I32Const(0) + Call(uint32(imports+p.index(callee))) +
		GlobalGet(0) + LocalSet(stack) + BrIf(0)
}

// calls is a function that calls others, and keeps what they give.
func calls(callees ...string) func(program, int) string {
	return func(p program, in int) string {
		var code strings.Builder
		for _, callee := range callees {
			code.WriteString(p.call(callee, address(in)))
		}
		return code.String()
	}
}

// The functions of a runtime that all programs have.
func goRuntime() program {
	return program{
		{"runtime.clock_time_get", func(program, int) string { return Call(importClock) }},
		{"runtime.nanotime1", calls("runtime.clock_time_get")},
		{"time.now", calls("runtime.nanotime1", "runtime.nanotime1")},
		{"time.runtimeNano", calls("runtime.nanotime1")},
		{"time.Now", calls("time.now")},
		{"runtime.rand", func(program, int) string { return LocalGet(stack) + Call(importDraw) + i64Store + at(8) }},
		{"runtime.randn", calls("runtime.rand")},
		{"internal/runtime/maps.rand", calls("runtime.rand")},
		{"runtime.cheaprand", func(program, int) string { return "" }},
	}
}

func (p program) wasm() []byte { return p.module().Encode() }

func (p program) module() Module {
	m := Module{
		Types:    []Type{{Params: I32, Results: I32}, {}, {Results: I64}},
		Imports:  []Import{{Module: "test", Name: "clock", Type: 1}, {Module: "test", Name: "draw", Type: 2}},
		Memories: []string{Limits(1)},
		Globals:  []Global{{Type: api.ValueTypeI32, Mutable: true, Init: I32Const(stackEnd)}},
		Exports:  []Export{{Name: "run", Index: uint32(imports + len(p) - 1)}},
	}
	var names string
	for i, f := range p {
		m.Functions = append(m.Functions, Function{Locals: I32, Code: GlobalGet(0) + LocalSet(stack) + Block + f.body(p, i) +
			LocalGet(stack) + I32Const(8) + I32Add + GlobalSet(0) + I32Const(0) + Return + End + I32Const(1)})
		names += Unsigned(uint64(imports+i)) + Text(f.name)
	}
	m.Customs = []Custom{{Name: wasmfile.NameSection, Content: Section(1, Unsigned(uint64(len(p)))+names)}}
	m.Data = append(m.Data, Data{Offset: tableAt, Content: p.table()})
	for n, v := range m.Data { // a linker leaves out zeros
		if at := strings.Index(v.Content, strings.Repeat("\x00", 8)); at > 0 {
			m.Data[n].Content = v.Content[:at]
			m.Data = append(m.Data, Data{Offset: v.Offset + int32(at) + 8, Content: v.Content[at+8:]})
		}
	}
	return m
}

// table is the table with the names of the functions.
func (p program) table() string {
	const header, entry = 72, 8
	var texts, functions, known []byte
	for i, f := range p {
		functions = binary.LittleEndian.AppendUint32(functions, uint32(firstAddress+i))
		functions = binary.LittleEndian.AppendUint32(functions, uint32(len(p)*entry+len(known)))
		known = binary.LittleEndian.AppendUint32(known, uint32(firstAddress+i))
		known = binary.LittleEndian.AppendUint32(known, uint32(len(texts)))
		texts = append(append(texts, f.name...), 0)
	}
	table := []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}
	for _, v := range []int{len(p), 1, 0, header, 0, 0, 0, header + len(texts)} {
		table = binary.LittleEndian.AppendUint64(table, uint64(v))
	}
	return string(table) + string(texts) + string(functions) + string(known)
}

func read(t testing.TB, wasm []byte) *wasmfile.Module {
	t.Helper()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	return m
}

// counted is what a program has read, and what of that was counted.
type counted struct {
	reads, draws  int
	clock, random int64
	trapped       bool
}

// run runs a program that counts.
func run(t *testing.T, p program, watched bool) counted {
	t.Helper()
	wasm, account := entropy.Rewrite(read(t, p.wasm()))
	require.NotNil(t, account)
	require.Equal(t, [3]int{1, 2, 3}, [3]int{account.Clock, account.Random, account.Watched}, "they come after those of the program")
	globals := read(t, wasm).Globals
	require.Len(t, globals, 4)
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	var c counted
	_, err := r.NewHostModuleBuilder("test").
		NewFunctionBuilder().WithFunc(func() { c.reads++ }).Export("clock").
		NewFunctionBuilder().WithFunc(func() uint64 { c.draws++; return 7 }).Export("draw").
		Instantiate(ctx)
	require.NoError(t, err)
	m, err := r.Instantiate(ctx, withGlobals(t, wasm))
	require.NoError(t, err)
	global := func(index int) api.MutableGlobal {
		return m.ExportedGlobal("counted" + string(rune('0'+index))).(api.MutableGlobal)
	}
	if watched {
		global(account.Watched).Set(1)
	}
	_, err = m.ExportedFunction("run").Call(ctx, 0)
	c.clock, c.random = int64(global(account.Clock).Get()), int64(global(account.Random).Get())
	if c.trapped = err != nil; c.trapped {
		require.EqualValues(t, entropy.Caught, global(account.Watched).Get())
		require.Regexp(t, `stack trace:\n\t\.[a-z/]+\.[a-z0-9]*rand[a-z0-9]*\(`, err.Error(), "the functions that count have the names of those that they call")
	}
	return c
}

// withGlobals exports the globals of a module.
func withGlobals(t *testing.T, wasm []byte) []byte {
	m := read(t, wasm)
	out := append([]byte(nil), wasm[:wasmfile.HeaderSize]...)
	for _, s := range m.Sections {
		if s.ID != wasmfile.SectionExport {
			out = append(out, wasm[s.Start:s.End]...)
			continue
		}
		content := Unsigned(uint64(s.Count + 3))
		content += string(wasm[s.Items:s.End])
		for n := 1; n <= 3; n++ {
			content += Text("counted"+string(rune('0'+n))) + string([]byte{KindGlobal}) + Unsigned(uint64(n))
		}
		out = append(out, Section(wasmfile.SectionExport, content)...)
	}
	return out
}

// What the runtime reads and draws for itself is counted, and nothing else.
func TestWhatTheRuntimeReadsIsCounted(t *testing.T) {
	for _, c := range []struct {
		caller, callee string
		want           counted
	}{
		{"runtime.main", "runtime.nanotime1", counted{reads: 1, clock: 1}},
		{"runtime.gcMarkTermination", "time.now", counted{reads: 2, clock: 2}},
		{"time.init", "time.runtimeNano", counted{reads: 1, clock: 1}},
		{"time.when", "time.runtimeNano", counted{reads: 1, clock: 1}},
		{"internal/sync.(*Mutex).lockSlow", "runtime.nanotime1", counted{reads: 1, clock: 1}},
		{"time.Since", "time.runtimeNano", counted{reads: 1}},
		{"main.init", "runtime.nanotime1", counted{reads: 1}},
		{"main.init", "time.Now", counted{reads: 2}},
		{"mytime.init", "runtime.nanotime1", counted{reads: 1}},
		{"example.org/runtime.init", "runtime.nanotime1", counted{reads: 1}},

		{"runtime.mrandinit", "runtime.rand", counted{draws: 1, random: 1}},
		{"runtime.f64hash", "runtime.randn", counted{draws: 1, random: 1}},
		{"internal/runtime/maps.NewMap", "internal/runtime/maps.rand", counted{draws: 1, random: 1}},
		{"internal/sync.(*HashTrieMap[...]).initSlow", "runtime.rand", counted{draws: 1, random: 1}},
		{"unique.newCanonMap[...]", "runtime.rand", counted{draws: 1, random: 1}},
		{"runtime.selectgo", "runtime.cheaprand", counted{}},
		{"main.main", "runtime.rand", counted{draws: 1, random: -1}},
		{"main.main", "runtime.randn", counted{draws: 1, random: -1}},
		{"main.main", "internal/runtime/maps.rand", counted{draws: 1, random: -1}},
		{"main.main", "runtime.cheaprand", counted{random: -1}},
		{"hash/maphash.randUint64", "runtime.rand", counted{draws: 1, random: -1}},
		{"math/rand/v2.runtimeSource.Uint64", "runtime.rand", counted{draws: 1, random: -1}},
	} {
		p := append(goRuntime(), function{c.caller, calls(c.callee)}, function{"main.run", calls(c.caller)})
		require.Equal(t, c.want, run(t, p, false), "%s calls %s", c.caller, c.callee)
		want := c.want
		if c.want.random < 0 {
			want = counted{trapped: true}
		}
		require.Equal(t, want, run(t, p, true), "%s calls %s, and is watched", c.caller, c.callee)
	}
}

// A call that returns to another function was moved there, by a tool that knows nothing of Go, and
// counts for nothing. The same goes for calls in another form than Go's.
func TestCallsThatAreNotGos(t *testing.T) {
	for name, body := range map[string]func(program, int) string{
		"moved":          func(p program, in int) string { return p.call("runtime.nanotime1", address(in-1)) },
		"of no function": func(p program, in int) string { return p.call("runtime.nanotime1", 1) },
		"without an address": func(p program, in int) string {
			return I32Const(0) + Call(uint32(imports+p.index("runtime.nanotime1"))) + Drop + GlobalGet(0) + LocalSet(stack)
		},
		"in the middle": func(p program, in int) string {
			return strings.Replace(p.call("runtime.nanotime1", address(in)), I32Const(0)+"\x10", I32Const(1)+"\x10", 1)
		},
		"with its address elsewhere": func(p program, in int) string {
			return strings.Replace(p.call("runtime.nanotime1", address(in)), i64Store+at(0), i64Store+at(16), 1)
		},
	} {
		p := append(goRuntime(), function{"runtime.main", body}, function{"main.run", calls("runtime.main")})
		require.Equal(t, counted{reads: 1}, run(t, p, false), name)
	}
}

// mapSeed is what Go's compiler writes for a map on the stack, in pieces.
func mapSeed(p program, in int) []string {
	const group, m = 64, 128
	local := func(offset int64) string { return LocalGet(stack) + extend + I64Const(offset) + "\x7c" }
	return []string{
		local(group) + wrap + I64Const(-0x7f7f7f7f7f7f7f80) + i64Store + at(0),
		local(m+16) + wrap + local(group) + i64Store + at(0),
		p.call("runtime.rand", address(in)),
		local(m+8) + wrap + LocalGet(stack) + i64Load + at(0) + i64Store + at(0),
	}
}

// The compiler draws the seed of a map on the stack in the function that makes the map, also
// behind the end of a block. What looks nearly like that is a draw of the program.
func TestSeedsOfMapsOnTheStack(t *testing.T) {
	local := func(offset int64) string { return LocalGet(stack) + extend + I64Const(offset) + "\x7c" }
	for name, c := range map[string]struct {
		change func(pieces []string)
		random int64
	}{
		"a map":                       {func([]string) {}, 1},
		"behind a block":              {func(s []string) { s[0], s[2] = Block+s[0], s[2]+End }, 1},
		"a group that is not empty":   {func(s []string) { s[0] = strings.Replace(s[0], I64Const(-0x7f7f7f7f7f7f7f80), I64Const(0), 1) }, -1},
		"a group elsewhere":           {func(s []string) { s[0] = strings.Replace(s[0], local(64), local(56), 1) }, -1},
		"no group":                    {func(s []string) { s[0] = "" }, -1},
		"a group that is not stored":  {func(s []string) { s[0] = strings.Replace(s[0], i64Store+at(0), i64Store+at(8), 1) }, -1},
		"a directory elsewhere":       {func(s []string) { s[1] = strings.Replace(s[1], local(144), local(152), 1) }, -1},
		"a directory behind it":       {func(s []string) { s[1] = strings.Replace(s[1], i64Store+at(0), i64Store+at(8), 1) }, -1},
		"a directory of numbers":      {func(s []string) { s[1] = strings.Replace(s[1], wrap+local(64), wrap+I64Const(64), 1) }, -1},
		"not on the stack":            {func(s []string) { s[3] = strings.Replace(s[3], LocalGet(stack)+extend, LocalGet(0)+extend, 1) }, -1},
		"no map":                      {func(s []string) { s[1] = "" }, -1},
		"a seed elsewhere":            {func(s []string) { s[3] = strings.Replace(s[3], local(136), local(160), 1) }, -1},
		"a seed that is not kept":     {func(s []string) { s[3] = "" }, -1},
		"a seed in another place":     {func(s []string) { s[3] = strings.Replace(s[3], i64Store+at(0), i64Store+at(24), 1) }, -1},
		"a seed that is changed":      {func(s []string) { s[3] = strings.Replace(s[3], i64Load+at(0), i64Load+at(0)+I64Const(1)+I64Add, 1) }, -1},
		"another seed than was drawn": {func(s []string) { s[3] = strings.Replace(s[3], i64Load+at(0), i64Load+at(8), 1) }, -1},
		"groups that are computed otherwise": {func(s []string) {
			for n := range 2 {
				s[n] = strings.Replace(s[n], local(64), LocalGet(stack)+extend+I64Const(64)+I64Sub, 1)
			}
		}, -1},
		"another function's": {func(s []string) {
			s[2] = strings.Replace(s[2], I64Const(address(9)), I64Const(address(3)), 1)
		}, -1},
	} {
		p := append(goRuntime(), function{"main.seen", func(p program, in int) string {
			pieces := mapSeed(p, in)
			c.change(pieces)
			return strings.Join(pieces, "")
		}}, function{"main.run", calls("main.seen")})
		require.Equal(t, counted{draws: 1, random: c.random}, run(t, p, false), name)
	}
}

// The generators that the runtime has beside that one are found behind its seed.
func TestFurtherGenerators(t *testing.T) {
	const state = 32
	seeded := func(offsets ...string) program {
		return append(goRuntime(), function{"runtime.mrandinit", func(p program, in int) string {
			code := GlobalGet(0) + I64Const(32<<32) + i64Store + at(state+1536)
			for _, stored := range offsets {
				code += p.call("runtime.rand", address(in)) + GlobalGet(0) + LocalGet(stack) + i64Load + at(0) + stored
			}
			return code
		}}, function{"main.run", calls("runtime.mrandinit")})
	}
	for name, c := range map[string]struct {
		p    program
		want []entropy.Word
	}{
		"one":         {seeded(i64Store + at(state+1552)), []entropy.Word{{16, 8}}},
		"two":         {seeded(i64Store32+at(state+1552), i64Store+at(state+1560)), []entropy.Word{{16, 4}, {24, 8}}},
		"none behind": {seeded(i64Store + at(state+1536)), nil},
		"far behind":  {seeded(i64Store + at(state+1600)), nil},
		"many": {seeded(i64Store+at(state+1537), i64Store+at(state+1538), i64Store+at(state+1539), i64Store+at(state+1540), i64Store+at(state+1541)),
			[]entropy.Word{{1, 8}, {2, 8}, {3, 8}, {4, 8}}},
		"none": {goRuntime(), nil},
	} {
		_, account := entropy.Rewrite(read(t, c.p.wasm()))
		require.NotNil(t, account, name)
		require.Equal(t, c.want, account.Words, name)
	}
}

// A module without Go's table, or with the table of another one, does not count.
func TestModulesThatDoNotCount(t *testing.T) {
	whole := string(append(goRuntime(), function{"main.run", calls("time.Now")}).wasm())
	_, account := entropy.Rewrite(read(t, []byte(whole)))
	require.NotNil(t, account)
	for name, wasm := range map[string]string{
		"another table":    strings.Replace(whole, "\xf1\xff\xff\xff", "\xf0\xff\xff\xff", 1),
		"more functions":   strings.Replace(whole, "\x00\x00\x01\x08\x0a", "\x00\x00\x01\x08\x0b", 1),
		"names behind it":  strings.Replace(whole, "\x48\x00", "\x48\xff", 1),
		"names of nothing": strings.Replace(whole, "\x48\x00", "\xff\xff", 1),
		"no Go's runtime":  strings.NewReplacer("runtime", "rantime", "time.", "times").Replace(whole),
		"a function of others": string(Module{
			Types: []Type{{}}, Functions: []Function{{}, {Code: Call(0)}},
			Memories: []string{Limits(1)}, Globals: []Global{{Type: api.ValueTypeI32, Init: I32Const(0)}},
			Data: []Data{{Offset: 64, Content: program{{name: "runtime.rand"}, {name: "main.main"}}.table()}},
		}.Encode()),
		"nothing": string(Module{}.Encode()),
	} {
		wasm, account := entropy.Rewrite(read(t, []byte(wasm)))
		require.Nil(t, account, name)
		require.Nil(t, wasm, name)
	}
}

// Functions with the same name, which call each other, are each looked at once.
func TestNamesThatAreNotAlone(t *testing.T) {
	const many = 50
	all := func(p program, in int) string {
		var code strings.Builder
		for callee := range many {
			code.WriteString(I32Const(0) + Call(uint32(imports+callee)) + Drop)
		}
		return code.String()
	}
	var p program
	for range many {
		p = append(p, function{"runtime.randn", all})
	}
	_, account := entropy.Rewrite(read(t, p.wasm()))
	require.NotNil(t, account)
}

// Go's linker says that it has written a module, in a section that other tools keep.
func TestModulesOfGo(t *testing.T) {
	p := goRuntime().module()
	require.False(t, entropy.Go(read(t, p.Encode())))
	p.Customs = append(p.Customs, Custom{Name: "go:buildid", Content: p.Customs[0].Content})
	require.True(t, entropy.Go(read(t, p.Encode())))
	wasm, _ := entropy.Rewrite(read(t, p.Encode()))
	require.Equal(t, p.Customs[1].Content, string(read(t, wasm).Customs[1].Data), "only names of functions are added to")
}

// Whatever a module says of the names of its functions, what counts is as valid as it was.
func FuzzTable(f *testing.F) {
	p := append(goRuntime(), function{"runtime.mrandinit", func(p program, in int) string { return strings.Join(mapSeed(p, in), "") }},
		function{"main.run", calls("time.Now", "runtime.rand", "runtime.mrandinit")})
	table := p.table()
	f.Add([]byte(table))
	f.Add([]byte(table[:len(table)/2]))
	f.Add([]byte(strings.ReplaceAll(table, "main.", "time.")))
	f.Fuzz(func(t *testing.T, table []byte) {
		if len(table) > 1<<15 {
			return // it must be in the memory
		}
		m := p.module()
		m.Data = []Data{{Offset: tableAt, Content: string(table)}}
		wasm, account := entropy.Rewrite(read(t, m.Encode()))
		if account == nil {
			return
		}
		read(t, wasm)
		ctx := context.Background()
		runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer runtime.Close(ctx)
		if _, err := runtime.CompileModule(ctx, wasm); err != nil {
			t.Fatalf("the module that counts is invalid: %v", err)
		}
	})
}
