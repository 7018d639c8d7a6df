package relooper_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	. "github.com/husk-dev/husk/internal/flowtest"
	. "github.com/husk-dev/husk/internal/wasmtest"

	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
)

func decode(t testing.TB, wasm []byte) *wasmfile.Module {
	t.Helper()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	return m
}

// rewrite rewrites all functions of a module; nil where there are none.
func rewrite(t testing.TB, wasm []byte) []byte {
	t.Helper()
	rewritten, _ := relooper.Rewrite(decode(t, wasm), wasmfile.DefaultLimits(), func(int) bool { return true })
	if rewritten == nil {
		return nil
	}
	return rewritten.Bytes(0, rewritten.Size())
}

// sameCalls holds that a function does the same after it was rewritten.
func sameCalls(t testing.TB, wasm, rewritten []byte, regions int) {
	t.Helper()
	difference, err := Difference(t.Context(), wazero.NewRuntimeConfigInterpreter, wasm, rewritten, CallsOf(regions, 1))
	require.NoError(t, err)
	require.Empty(t, difference)
}

// check holds a function that is made by choices to what it is rewritten to, and reports whether it was.
func check(t testing.TB, choices []byte) bool {
	code, regions := Generate(choices)
	wasm := Around(code).Encode()
	rewritten := rewrite(t, wasm)
	if rewritten == nil {
		return false
	}
	sameCalls(t, wasm, rewritten, regions)
	return true
}

// A function does what it did before, from whichever place it is entered, and whoever wrote it.
func TestRewrittenFunctionsDoTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const tries = 500
	for oddness, least := range []int{tries * 9 / 10, tries / 2, tries / 10} {
		rewritten := 0
		for range tries {
			choices := Choices(random, 20+random.IntN(200))
			choices[0] = byte(oddness)
			if check(t, choices) {
				rewritten++
			}
		}
		t.Logf("%d of %d functions of oddness %d are rewritten", rewritten, tries, oddness)
		require.Greater(t, rewritten, least)
	}
}

// What is rewritten of a function as Go's compiler writes it is also proven.
func TestWhatIsRewrittenOfGoIsProven(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const tries = 500
	proposed := 0
	for range tries {
		choices := Choices(random, 20+random.IntN(200))
		choices[0] = 0
		code, _ := Generate(choices)
		wasm := Around(code).Encode()
		if fast, _ := relooper.Propose(decode(t, wasm), func(int) bool { return true }); fast != nil {
			proposed++
			require.Equal(t, fast, rewrite(t, wasm))
		}
	}
	require.Greater(t, proposed, tries*9/10)
}

func FuzzFlow(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x03\x01\x01\x01\x01\x01\x04\x01\x02\x03\x00\x01\x02\x03\x00\x01\x02\x03\x04\x05"))
	random := rand.New(rand.NewPCG(5, 6))
	for oddness := range 6 {
		choices := Choices(random, 150)
		choices[0] = byte(oddness)
		f.Add(choices)
	}
	f.Fuzz(func(t *testing.T, choices []byte) { check(t, choices[:min(len(choices), 1<<10)]) })
}

// What is made of a valid module is valid, whatever its functions look like.
func FuzzModule(f *testing.F) {
	for _, choices := range []string{"", "\x00\x05\x01\x01\x01\x01\x01\x01\x04\x01\x02\x03\x00\x01\x02\x03\x00\x01\x02\x03\x04\x05", "\x00\x02\x00\x00"} {
		code, _ := Generate([]byte(choices))
		f.Add(Around(code).Encode())
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
		if err != nil {
			return
		}
		rewritten, copied := relooper.Rewrite(m, wasmfile.DefaultLimits(), func(int) bool { return true })
		if rewritten == nil {
			return
		}
		require.Len(t, rewritten.Functions, len(m.Functions)+len(copied))
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer r.Close(ctx)
		_, before := r.CompileModule(ctx, wasm)
		_, after := r.CompileModule(ctx, rewritten.Bytes(0, rewritten.Size()))
		require.Equal(t, before == nil, after == nil, "%v, %v", before, after)
	})
}

const setPointer = "\x23\x00\x21\x01" // global.get 0, local.set Stack

// jumpTo goes on with a region from inside of so many blocks up to the loop.
func jumpTo(region int32, blocks uint32) string {
	return I32Const(region) + LocalSet(Parameter) + Br(blocks)
}

// looping is a function of three regions, the second of which repeats itself.
func looping() string {
	return setPointer + Loop + Block + Block + Block + LocalGet(Parameter) + BrTable(0, 1, 2) + End +
		I32Const(1) + Call(Tell) + End +
		I32Const(2) + Call(Tell) + Call(Choose) + If + jumpTo(1, 2) + End + End +
		I32Const(3) + Call(Tell) + I32Const(0) + Return + End + Unreachable
}

// unwinding is a function of two regions, of which the first one goes on with the second one, and that
// leaves the block around them.
func unwinding(rest string) string {
	return Block + Loop + Block + Block + LocalGet(Parameter) + BrTable(0, 1) + End +
		jumpTo(1, 1) + End +
		Br(1) + End + Unreachable + End + rest
}

func opcodes(t *testing.T, wasm []byte, function int) (ops []wasmfile.Opcode) {
	t.Helper()
	m := decode(t, wasm)
	code := m.Code(function - m.ImportedFunctions)
	for in := (wasmfile.Instruction{}); code.Next(&in); {
		ops = append(ops, in.Op)
	}
	return ops
}

func TestAFunctionGetsItsLoopsBack(t *testing.T) {
	wasm := Around(looping()).Encode()
	fast, copied := relooper.Rewrite(decode(t, wasm), wasmfile.DefaultLimits(), func(int) bool { return true })
	require.Equal(t, []int{Flow}, copied, "Called has no table, and Tell and Choose are imported")
	rewritten := fast.Bytes(0, fast.Size())
	ops := opcodes(t, rewritten, Flow)
	require.Contains(t, ops, wasmfile.OpLoop)
	require.NotContains(t, ops, wasmfile.OpBrTable)
	require.Equal(t, opcodes(t, wasm, Flow), opcodes(t, rewritten, Functions), "the copy")
	none, _ := relooper.Rewrite(decode(t, wasm), wasmfile.DefaultLimits(), func(int) bool { return false })
	require.Nil(t, none)
}

// The first turn of a loop that is entered in its middle is written on its own.
func TestALoopIsEnteredInItsMiddle(t *testing.T) {
	wasm := Around(strings.NewReplacer(I32Const(1)+Call(Tell)+End, Call(Choose)+If+jumpTo(2, 3)+End+End,
		I32Const(3)+Call(Tell), I32Const(3)+Call(Tell)+Call(Choose)+If+jumpTo(1, 1)+End).Replace(looping())).Encode()
	rewritten := rewrite(t, wasm)
	require.Contains(t, opcodes(t, rewritten, Flow), wasmfile.OpLoop)
	require.NotContains(t, opcodes(t, rewritten, Flow), wasmfile.OpBrTable)
	sameCalls(t, wasm, rewritten, 3)
}

func TestAFunctionOfAnotherFormStaysAsItIs(t *testing.T) {
	for name, flow := range map[string]string{
		"without a table":                            I32Const(0),
		"that begins with work":                      I32Const(1) + Call(Tell) + looping(),
		"that reads its parameter":                   strings.Replace(looping(), I32Const(3)+Call(Tell), LocalGet(Parameter)+Call(Tell), 1),
		"that reads it where it may not be set":      strings.Replace(looping(), I32Const(3)+Call(Tell), Call(Choose)+If+I32Const(5)+LocalSet(Parameter)+End+LocalGet(Parameter)+Call(Tell), 1),
		"that reads it behind the outer block":       unwinding(LocalGet(Parameter)),
		"that computes with it behind the block":     unwinding(I32Const(2) + LocalGet(Parameter) + I32Add),
		"whose jump is to a region that is computed": strings.Replace(looping(), jumpTo(1, 2), Call(Choose)+LocalSet(Parameter)+Br(2), 1),
		"that falls out of its loop":                 strings.Replace(looping(), I32Const(0)+Return+End+Unreachable, End+I32Const(0), 1),
		"whose first region is not that of 0":        strings.Replace(looping(), BrTable(0, 1, 2), BrTable(1, 0, 2), 1),
	} {
		t.Run(name, func(t *testing.T) {
			wasm := Around(flow).Encode()
			sameCalls(t, wasm, wasm, 3) // it is valid
			require.Nil(t, rewrite(t, wasm))
		})
	}
	require.NotNil(t, rewrite(t, Around(unwinding(I32Const(2))).Encode()), "with another end")
}

// A function that cannot be proven to do the same does not keep others from being rewritten.
func TestOthersAreRewrittenBesidesOneThatStays(t *testing.T) {
	m := Around(looping())
	m.Functions = append(m.Functions, Function{Type: 2, Code: unwinding(LocalGet(Parameter))}, Function{Type: 2, Code: unwinding(I32Const(2))})
	wasm := m.Encode()
	rewritten, copied := relooper.Rewrite(decode(t, wasm), wasmfile.DefaultLimits(), func(int) bool { return true })
	require.Equal(t, []int{Flow, Functions + 1}, copied)
	require.Equal(t, opcodes(t, wasm, Functions), opcodes(t, rewritten.Bytes(0, rewritten.Size()), Functions))
}

// A module that would be beyond a limit with its copies stays as it is.
func TestTheResultIsWithinTheLimits(t *testing.T) {
	limits := wasmfile.DefaultLimits()
	limits.Functions = 2
	rewritten, _ := relooper.Rewrite(decode(t, Around(looping()).Encode()), limits, func(int) bool { return true })
	require.Nil(t, rewritten)
}

// Stack traces name a copy like what it is a copy of.
func TestCopiesHaveNames(t *testing.T) {
	m := Around(looping())
	name := func(index uint32, name string) string { return Unsigned(uint64(index)) + Text(name) }
	m.Customs = []Custom{{Name: wasmfile.NameSection, Content: Section(1, "\x02"+name(Tell, "tell")+name(Flow, "flow"))}}
	again := decode(t, rewrite(t, m.Encode()))
	require.Equal(t, Section(1, "\x03"+name(Tell, "tell")+name(Flow, "flow")+name(Functions, "flow")), string(again.Customs[0].Data))
}
