package reloop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	. "github.com/husk-dev/husk/internal/wasmtest"

	"github.com/husk-dev/husk/internal/reloop"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// What one call did: what it told, and how it ended.
type done struct {
	told  []int32
	ended string
}

// mostTold ends what would run without end.
const mostTold = 60

var errEnough = errors.New("enough")

// run calls flow with a parameter.
func run(t testing.TB, wasm []byte, param uint64) done {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	var d done
	chosen := rand.New(rand.NewPCG(1, param))
	tellFunc := func(_ context.Context, stack []uint64) {
		if d.told = append(d.told, int32(stack[0])); len(d.told) == mostTold {
			panic(errEnough)
		}
	}
	chooses := 0
	chooseFunc := func(_ context.Context, stack []uint64) {
		if chooses++; chooses == mostTold {
			panic(errEnough)
		}
		stack[0] = uint64(uint32(chosen.IntN(8) - 1))
	}
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err := r.NewHostModuleBuilder("test").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(tellFunc), i32, nil).Export("tell").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(chooseFunc), nil, i32).Export("choose").
		Instantiate(ctx)
	require.NoError(t, err)
	m, err := r.Instantiate(ctx, wasm)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, err := m.ExportedFunction("flow").Call(ctx, param)
	switch {
	case err != nil:
		d.ended, _, _ = strings.Cut(err.Error(), "\n")
	case results[0] == 0:
		d.ended = "returned"
	default:
		d.ended = "unwound"
	}
	return d
}

// check holds a function that is made by choices to what it is rewritten to, and tells whether
// it was.
func check(t *testing.T, choices []byte) (rewritten bool) {
	g := &generator{choices: choices}
	wasm := module(g.function()).Encode()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	fast, copied := reloop.Of(m, func(function int) bool { return function == flowing })
	if fast == nil {
		return false
	}
	require.Equal(t, []int{flowing}, copied)
	_, err = wasmfile.Read(fast, wasmfile.DefaultLimits())
	require.NoError(t, err)
	for param := range uint64(g.regions + 2) {
		require.Equal(t, run(t, wasm, param), run(t, fast, param), "entered at %d", param)
	}
	return true
}

// A function does what it did before, from whichever place it is entered.
func TestRewrittenFunctionsDoTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const tries = 600
	rewritten := 0
	for range tries {
		choices := make([]byte, 20+random.IntN(200))
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		if check(t, choices) {
			rewritten++
		}
	}
	require.Greater(t, rewritten, tries/2)
}

func FuzzFlow(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x01\x01\x01\x01\x01\x04\x01\x02\x03\x00\x01\x02\x03\x00\x01\x02\x03\x04\x05"))
	f.Fuzz(func(t *testing.T, choices []byte) { check(t, choices[:min(len(choices), 1<<10)]) })
}

// What is made of a valid module is valid, whatever its functions look like.
func FuzzModule(f *testing.F) {
	for _, choices := range []string{"", "\x05\x01\x01\x01\x01\x01\x01\x04\x01\x02\x03\x00\x01\x02\x03\x00\x01\x02\x03\x04\x05", "\x02\x00\x00"} {
		f.Add(module((&generator{choices: []byte(choices)}).function()).Encode())
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil {
			return
		}
		fast, copied := reloop.Of(m, func(int) bool { return true })
		if fast == nil {
			return
		}
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer r.Close(ctx)
		_, before := r.CompileModule(ctx, wasm)
		_, after := r.CompileModule(ctx, fast)
		require.Equal(t, before == nil, after == nil, "%v, %v", before, after)
		again, err := wasmfile.Read(fast, wasmfile.DefaultLimits())
		if err == nil {
			require.Len(t, again.Functions, len(m.Functions)+len(copied))
		}
	})
}

// jumpTo goes on with a region from inside of so many blocks up to the loop.
func jumpTo(region int32, blocks uint32) string {
	return I32Const(region) + LocalSet(parameter) + Br(blocks)
}

// looping is a function of three regions, the second of which repeats itself.
func looping() string {
	return setPointer + Loop + Block + Block + Block + LocalGet(parameter) + "\x0e\x02\x00\x01\x02" + End +
		I32Const(1) + Call(tell) + End +
		I32Const(2) + Call(tell) + Call(choose) + If + jumpTo(1, 2) + End + End +
		I32Const(3) + Call(tell) + I32Const(0) + Return + End + Unreachable
}

func opcodes(t *testing.T, wasm []byte, function int) (ops []wasmfile.Opcode) {
	t.Helper()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	code := m.Code(function - m.ImportedFunctions)
	for in := (wasmfile.Instruction{}); code.Next(&in); {
		ops = append(ops, in.Op)
	}
	return ops
}

func TestAFunctionGetsItsLoopsBack(t *testing.T) {
	m := module(looping())
	wasm := m.Encode()
	decoded, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	all := func(int) bool { return true }
	fast, copied := reloop.Of(decoded, all)
	require.Equal(t, []int{flowing}, copied, "called has no table, and tell and choose are imported")
	ops := opcodes(t, fast, flowing)
	require.Contains(t, ops, wasmfile.OpLoop)
	require.NotContains(t, ops, wasmfile.OpBrTable)
	require.Equal(t, opcodes(t, wasm, flowing), opcodes(t, fast, functions), "the copy")
	none, _ := reloop.Of(decoded, func(int) bool { return false })
	require.Nil(t, none)
}

// The first turn of a loop that is entered in its middle is written on its own.
func TestALoopIsEnteredInItsMiddle(t *testing.T) {
	wasm := module(strings.NewReplacer(I32Const(1)+Call(tell)+End, Call(choose)+If+jumpTo(2, 3)+End+End,
		I32Const(3)+Call(tell), I32Const(3)+Call(tell)+Call(choose)+If+jumpTo(1, 1)+End).Replace(looping())).Encode()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	fast, _ := reloop.Of(m, func(int) bool { return true })
	require.Contains(t, opcodes(t, fast, flowing), wasmfile.OpLoop)
	require.NotContains(t, opcodes(t, fast, flowing), wasmfile.OpBrTable)
	for param := range uint64(3) {
		require.Equal(t, run(t, wasm, param), run(t, fast, param))
	}
}

func TestAFunctionOfAnotherFormStaysAsItIs(t *testing.T) {
	for name, flow := range map[string]string{
		"without a table":                            I32Const(0),
		"that begins with work":                      I32Const(1) + Call(tell) + looping(),
		"that reads its parameter":                   strings.Replace(looping(), I32Const(3)+Call(tell), LocalGet(parameter)+Call(tell), 1),
		"that reads it where it may not be set":      strings.Replace(looping(), I32Const(3)+Call(tell), Call(choose)+If+I32Const(5)+LocalSet(parameter)+End+LocalGet(parameter)+Call(tell), 1),
		"whose jump is to a region that is computed": strings.Replace(looping(), jumpTo(1, 2), Call(choose)+LocalSet(parameter)+Br(2), 1),
		"that falls out of its loop":                 strings.Replace(looping(), I32Const(0)+Return+End+Unreachable, End+I32Const(0), 1),
		"whose first region is not that of 0":        strings.Replace(looping(), "\x0e\x02\x00\x01\x02", "\x0e\x02\x01\x00\x02", 1),
	} {
		t.Run(name, func(t *testing.T) {
			wasm := module(flow).Encode()
			run(t, wasm, 0) // it is valid
			m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
			require.NoError(t, err)
			fast, _ := reloop.Of(m, func(int) bool { return true })
			require.Nil(t, fast)
		})
	}
}

// Stack traces name a copy like what it is a copy of.
func TestCopiesHaveNames(t *testing.T) {
	m := module(looping())
	name := func(index uint32, name string) string { return Unsigned(uint64(index)) + Text(name) }
	m.Customs = []Custom{{Name: wasmfile.NameSection, Content: Section(1, "\x02"+name(tell, "tell")+name(flowing, "flow"))}}
	decoded, err := wasmfile.Read(m.Encode(), wasmfile.DefaultLimits())
	require.NoError(t, err)
	fast, _ := reloop.Of(decoded, func(int) bool { return true })
	again, err := wasmfile.Read(fast, wasmfile.DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, Section(1, "\x03"+name(tell, "tell")+name(flowing, "flow")+name(functions, "flow")), string(again.Customs[0].Data))
}
