package equivalence_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/equivalence"
	. "github.com/husk-dev/husk/internal/flowtest"
	"github.com/husk-dev/husk/internal/wasmfile"
	. "github.com/husk-dev/husk/internal/wasmtest"
)

// head begins a function that goes on to its copy where its parameter is not 0.
var head = LocalGet(Parameter) + If + LocalGet(Parameter) + Call(Functions) + Return + End

// pair is a module whose function Flow has the code, and the module that it is rewritten to.
func pair(before, after string) (original, rewritten Module) {
	original, rewritten = Around(before), Around(head+after)
	rewritten.Functions = append(rewritten.Functions, original.Functions[flowBody])
	return original, rewritten
}

// proven reports whether a module is proven to do what another one does.
func proven(t testing.TB, original, rewritten Module) bool {
	t.Helper()
	unproven, err := equivalence.Check(decode(t, original.Encode()), decode(t, rewritten.Encode()))
	require.NoError(t, err)
	return len(unproven) == 0
}

const (
	f64Lt   = "\x63"
	f64Ge   = "\x66"
	i64LtS  = "\x53"
	i64GeS  = "\x59"
	i32LtU  = "\x49"
	i32GeU  = "\x4f"
	i32Load = "\x28\x02"
	float0  = "\x44\x00\x00\x00\x00\x00\x00\x00\x00"
	toFloat = "\xb7" // f64.convert_i32_s
)

func tellNumber(n int32) string { return I32Const(n) + Call(Tell) }

// dispatch is a loop around a jump table, with two regions.
func dispatch(first, second string) string {
	return Loop + Block + Block + LocalGet(Parameter) + BrTable(0, 1) + End + first + End + second + End + Unreachable
}

func setTo(region int32) string { return I32Const(region) + LocalSet(Parameter) }

// What does the same is proven to, however its control flow is written.
func TestWhatIsProven(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"nothing changed":            {tellNumber(1) + I32Const(2), tellNumber(1) + I32Const(2)},
		"a jump":                     {dispatch(setTo(1)+Br(1), tellNumber(1)+I32Const(2)+Return), tellNumber(1) + I32Const(2)},
		"a jump that was needless":   {tellNumber(1) + I32Const(2), Block + Br(0) + End + tellNumber(1) + I32Const(2)},
		"code that is never reached": {I32Const(2) + Return + tellNumber(1) + I32Const(3), I32Const(2)},
		"code that is there twice": {
			Call(Choose) + If + tellNumber(1) + End + tellNumber(2) + I32Const(3),
			Call(Choose) + If + tellNumber(1) + tellNumber(2) + I32Const(3) + Return + End + tellNumber(2) + I32Const(3),
		},
		"a loop": {
			dispatch(setTo(1)+Br(1), tellNumber(1)+Call(Choose)+If+setTo(1)+Br(1)+End+I32Const(0)+Return),
			Loop + tellNumber(1) + Call(Choose) + If + Br(1) + End + End + I32Const(0),
		},
		"a loop that never does anything": {dispatch(setTo(1)+Br(1), setTo(1)+Br(0)), Loop + Br(0) + End + Unreachable},
		"the first turn of a loop": {
			Loop + tellNumber(1) + Call(Choose) + BrIf(0) + End + I32Const(0),
			Block + Block + tellNumber(1) + Call(Choose) + BrIf(0) + Br(1) + End + Loop + tellNumber(1) + Call(Choose) + BrIf(0) + End + End + I32Const(0),
		},
		"a condition that is negated twice": {Call(Choose) + I32Eqz + I32Eqz + If + tellNumber(1) + End + I32Const(0), Call(Choose) + If + tellNumber(1) + End + I32Const(0)},
		"a comparison that is negated":      {Call(Choose) + I32Const(3) + i32LtU + I32Eqz + Call(Tell) + I32Const(0), Call(Choose) + I32Const(3) + i32GeU + Call(Tell) + I32Const(0)},
		"a comparison as 64 bits":           {LocalGet(Long) + I64Const(3) + i64LtS + I64ExtendI32U + I64Eqz + Call(Tell) + I32Const(0), LocalGet(Long) + I64Const(3) + i64GeS + Call(Tell) + I32Const(0)},
		"a sum that is cut down":            {LocalGet(Stack) + I64ExtendI32U + I64Const(1<<33-8) + I64Add + I32WrapI64, LocalGet(Stack) + I32Const(-8) + I32Add},
		"a parameter that nothing reads":    {setTo(3) + tellNumber(1) + I32Const(0), tellNumber(1) + I32Const(0)},
		"a parameter that is set before a branch": {
			setTo(3) + Block + Call(Choose) + BrIf(0) + tellNumber(1) + End + I32Const(0), Block + Call(Choose) + BrIf(0) + tellNumber(1) + End + I32Const(0),
		},
		"a parameter that both set":           {setTo(3) + Call(Choose) + If + tellNumber(1) + End + LocalGet(Parameter), setTo(3) + Call(Choose) + If + tellNumber(1) + End + LocalGet(Parameter)},
		"a parameter that is what it was":     {LocalGet(Parameter), I32Const(0)},
		"a number that is dropped":            {I32Const(1) + Drop + I32Const(0), I32Const(0)},
		"a value that a branch leaves behind": {Block + I32Const(7) + Br(0) + End + I32Const(0), I32Const(0)},
		"a value that a jump table takes along": {
			Block[:1] + I32 + Block[:1] + I32 + I32Const(7) + LocalGet(Parameter) + BrTable(0, 1) + End + I32Const(1) + I32Add + End,
			I32Const(7) + I32Const(1) + I32Add,
		},
		"a branch that takes a value, and the other one": {
			I32Const(5) + Call(Choose) + If[:1] + Unsigned(2) + Call(Called) + Else + Call(Tell) + Call(Choose) + End,
			I32Const(5) + Call(Choose) + If[:1] + Unsigned(2) + Call(Called) + Else + Call(Tell) + Call(Choose) + Return + End,
		},
		"a branch that takes a value and leaves it": {
			I32Const(5) + Call(Choose) + If[:1] + Unsigned(2) + Call(Called) + End,
			I32Const(5) + Call(Choose) + If[:1] + Unsigned(2) + Call(Called) + Return + End,
		},
		"a condition that is known":               {I32Const(1) + If + tellNumber(1) + Else + tellNumber(2) + End + I32Const(0), tellNumber(1) + I32Const(0)},
		"a loop's condition that leads elsewhere": {Loop + tellNumber(1) + Call(Choose) + BrIf(0) + End + I32Const(0), Loop + Block + tellNumber(1) + Call(Choose) + BrIf(1) + End + End + I32Const(0)},
	} {
		t.Run(name, func(t *testing.T) {
			original, rewritten := pair(c.before, c.after)
			require.True(t, proven(t, original, rewritten))
			require.Equal(t, accepted, judge(t, original.Encode(), rewritten.Encode(), CallsOf(2, 1)))
		})
	}
}

// What differs in anything that can be seen is refused.
func TestWhatIsRefused(t *testing.T) {
	loop := Loop + tellNumber(1) + Call(Choose) + BrIf(0) + End + I32Const(0)
	for name, c := range map[string]struct{ before, after string }{
		"another result":                     {I32Const(0), I32Const(1)},
		"another effect":                     {tellNumber(1) + I32Const(0), tellNumber(2) + I32Const(0)},
		"a number with other bits above":     {I64Const(-1) + LocalSet(Long) + I32Const(0), I64Const(127) + LocalSet(Long) + I32Const(0)},
		"a very large number":                {I64Const(-1<<63) + LocalSet(Long) + I32Const(0), I64Const(-1<<62) + LocalSet(Long) + I32Const(0)},
		"an effect less":                     {tellNumber(1) + tellNumber(2) + I32Const(0), tellNumber(1) + I32Const(0)},
		"an effect more":                     {tellNumber(1) + I32Const(0), tellNumber(1) + tellNumber(1) + I32Const(0)},
		"effects in another order":           {tellNumber(1) + Call(Choose) + Call(Tell) + I32Const(0), Call(Choose) + tellNumber(1) + Call(Tell) + I32Const(0)},
		"another function":                   {I32Const(1) + Call(Tell) + I32Const(0), I32Const(1) + Call(Called) + Drop + I32Const(0)},
		"a trap less":                        {I32Const(-1) + I32Load + Drop + I32Const(0), I32Const(0)},
		"a trap more":                        {I32Const(0), Unreachable},
		"another trap":                       {Unreachable, I32Const(1) + I32Const(0) + I32DivS},
		"an access elsewhere":                {I32Const(0) + i32Load + "\x00", I32Const(0) + i32Load + "\x04"},
		"a branch the other way":             {Call(Choose) + If + tellNumber(1) + End + I32Const(0), Call(Choose) + I32Eqz + If + tellNumber(1) + End + I32Const(0)},
		"a branch less":                      {Call(Choose) + If + tellNumber(1) + End + I32Const(0), Call(Choose) + Drop + tellNumber(1) + I32Const(0)},
		"a turn less":                        {loop, tellNumber(1) + Call(Choose) + Drop + I32Const(0)},
		"a loop without an end":              {I32Const(0), Loop + Br(0) + End + Unreachable},
		"an end of a loop":                   {Loop + Br(0) + End + Unreachable, I32Const(0)},
		"an end of a loop that does nothing": {Loop + Call(Choose) + If + Loop + Br(0) + End + End + tellNumber(1) + Br(0) + End + Unreachable, Loop + Call(Choose) + If + Unreachable + End + tellNumber(1) + Br(0) + End + Unreachable},
		"a change of a variable less":        {I32Const(5) + LocalSet(Other) + I32Const(0), I32Const(0)},
		"a change of another variable":       {I32Const(5) + LocalSet(Other) + LocalGet(Other), I32Const(5) + LocalSet(Stack) + LocalGet(Stack)},
		"another variable":                   {Call(Choose) + LocalSet(Other) + LocalGet(Other), Call(Choose) + LocalSet(Other) + LocalGet(Stack)},
		"a variable before it is changed":    {LocalGet(Other) + Call(Choose) + LocalSet(Other) + Drop + LocalGet(Other), LocalGet(Other) + Call(Choose) + LocalSet(Other)},
		"a variable between two changes": {
			Block + Call(Choose) + BrIf(0) + tellNumber(1) + End + Call(Choose) + LocalSet(Other) + LocalGet(Other) + Call(Choose) + LocalSet(Other),
			Block + Call(Choose) + BrIf(0) + tellNumber(1) + End + Call(Choose) + LocalSet(Other) + Call(Choose) + LocalSet(Other) + LocalGet(Other),
		},
		"a global before it is changed":         {GlobalGet(1) + Call(Choose) + GlobalSet(1) + Drop + GlobalGet(1), GlobalGet(1) + Call(Choose) + GlobalSet(1)},
		"a comparison of floating point":        {LocalGet(Other) + toFloat + float0 + f64Lt + I32Eqz, LocalGet(Other) + toFloat + float0 + f64Ge},
		"a comparison of half of a number":      {LocalGet(Long) + I64Eqz, LocalGet(Long) + I32WrapI64 + I32Eqz},
		"a number for whether it is one":        {Call(Choose) + I32Eqz + I32Eqz, Call(Choose)},
		"a signed comparison":                   {Call(Choose) + I32Const(3) + i32LtU, Call(Choose) + I32Const(3) + "\x48"},
		"operands that are swapped":             {Call(Choose) + Call(Choose) + i32LtU, Call(Choose) + LocalSet(Other) + Call(Choose) + LocalGet(Other) + i32LtU},
		"a parameter that is read afterwards":   {setTo(1) + LocalGet(Parameter), I32Const(0) + Drop + LocalGet(Parameter)},
		"a parameter that is set on one way":    {Call(Choose) + If + setTo(1) + End + LocalGet(Parameter), Call(Choose) + If + Nop + End + LocalGet(Parameter)},
		"a parameter that is set in a turn":     {Loop + LocalGet(Parameter) + Call(Tell) + setTo(1) + Call(Choose) + BrIf(0) + End + I32Const(0), Loop + LocalGet(Parameter) + Call(Tell) + Call(Choose) + BrIf(0) + End + I32Const(0)},
		"a parameter behind the outer block":    {Block + dispatch(setTo(1)+Br(1), Br(1)) + End + LocalGet(Parameter), Block + Br(0) + End + LocalGet(Parameter)},
		"another region":                        {dispatch(setTo(1)+Br(1), tellNumber(1)+I32Const(0)+Return), dispatch(setTo(0)+Br(1), tellNumber(1)+I32Const(0)+Return)},
		"a region that is computed":             {dispatch(tellNumber(2)+Call(Choose)+LocalSet(Parameter)+Br(1), I32Const(0)+Return), Loop + tellNumber(2) + Call(Choose) + I32Eqz + BrIf(0) + End + I32Const(0)},
		"the number that a branch takes along":  {Block[:1] + I32 + I32Const(1) + I32Const(2) + Call(Choose) + BrIf(0) + Drop + End, Block[:1] + I32 + I32Const(1) + Call(Choose) + BrIf(0) + End},
		"a value that is left on the stack":     {I32Const(4) + Block + Call(Choose) + BrIf(0) + tellNumber(1) + End, I32Const(5) + Block + Call(Choose) + BrIf(0) + tellNumber(1) + End},
		"a part of the stack behind a branch":   {I32Const(4) + I32Const(5) + Block + Call(Choose) + BrIf(0) + End + Drop, I32Const(5) + I32Const(4) + Block + Call(Choose) + BrIf(0) + End + Drop},
		"the result of another call":            {Call(Choose) + Call(Choose) + Drop, Call(Choose) + LocalSet(Other) + Call(Choose)},
		"a sum that is cut down to another one": {LocalGet(Stack) + I64ExtendI32U + I64Const(8) + I64Add + I32WrapI64, LocalGet(Stack) + I32Const(-8) + I32Add},
	} {
		t.Run(name, func(t *testing.T) {
			original, rewritten := pair(c.before, c.after)
			for _, m := range []Module{original, rewritten} {
				_, ok := valid(m.Encode())
				require.True(t, ok)
			}
			require.False(t, proven(t, original, rewritten))
			identical, again := pair(c.before, c.before)
			if !strings.Contains(c.before, "\x0e") { // a jump table is followed only where its number is known
				require.True(t, proven(t, identical, again), "the original itself")
			}
		})
	}
}

// Nothing but functions may differ, and those only as they do where they are rewritten.
func TestDifferencesOfModules(t *testing.T) {
	const code = "\x41\x07" // i32.const 7
	check := func(change func(original, rewritten *Module)) ([]int, error) {
		original, rewritten := pair(code, code)
		change(&original, &rewritten)
		return equivalence.Check(decode(t, original.Encode()), decode(t, rewritten.Encode()))
	}
	unproven, err := check(func(_, _ *Module) {})
	require.NoError(t, err)
	require.Empty(t, unproven)

	for name, change := range map[string]func(original, rewritten *Module){
		"another function changed": func(_, m *Module) { m.Functions[0].Code = I32Const(0) },
		"no head":                  func(_, m *Module) { m.Functions[1].Code = code + Drop + code },
		"a head that tells":        func(_, m *Module) { m.Functions[1].Code = tellNumber(1) + m.Functions[1].Code },
		"a head that calls itself": func(_, m *Module) { m.Functions[1].Code = strings.Replace(head, Call(Functions), Call(Flow), 1) + code },
		"a head that calls another": func(_, m *Module) {
			m.Functions[1].Code = strings.Replace(head, Call(Functions), Call(Called), 1) + code
		},
		"a head with another condition": func(_, m *Module) { m.Functions[1].Code = LocalGet(Other) + head[len(LocalGet(Parameter)):] + code },
		"a head with another parameter": func(_, m *Module) {
			m.Functions[1].Code = strings.Replace(head, If+LocalGet(Parameter), If+LocalGet(Other), 1) + code
		},
		"a head that goes on":               func(_, m *Module) { m.Functions[1].Code = strings.Replace(head, Return, Drop, 1) + code },
		"a copy that is another function":   func(_, m *Module) { m.Functions[2].Code = I32Const(8) },
		"a copy with other local variables": func(_, m *Module) { m.Functions[2].Locals = I32 + I64 },
		"other local variables":             func(_, m *Module) { m.Functions[1].Locals = I32 + I64 + I64 },
		"a variable that is not there":      func(_, m *Module) { m.Functions[1].Code = head + LocalGet(100) + Drop + code },
		"a parameter of another type": func(original, m *Module) {
			for _, m := range []*Module{original, m} {
				m.Types = append(m.Types, Type{Params: I64, Results: I32})
				m.Functions[1].Type = 4
			}
			m.Functions[2].Type = 4
		},
	} {
		t.Run(name, func(t *testing.T) {
			unproven, err := check(change)
			require.NoError(t, err)
			require.Len(t, unproven, 1)
		})
	}
	for name, change := range map[string]func(original, rewritten *Module){
		"a global":               func(_, m *Module) { m.Globals[0].Init = I32Const(65) },
		"an import":              func(_, m *Module) { m.Imports[0].Name = "shout" },
		"a type":                 func(_, m *Module) { m.Types[0].Params = I64 },
		"the type of a function": func(_, m *Module) { m.Functions[0].Type = 1 },
		"a memory":               func(_, m *Module) { m.Memories[0] = Limits(1, 2) },
		"an export":              func(_, m *Module) { m.Exports[0].Index = Functions },
		"a start":                func(_, m *Module) { m.Start = 1 + Choose },
		"data":                   func(_, m *Module) { m.Data = []Data{{Content: "x"}} },
		"a function less":        func(_, m *Module) { m.Functions = m.Functions[:1]; m.Exports = m.Exports[1:] },
		"a custom section":       func(_, m *Module) { m.Customs = []Custom{{Name: "a", Content: "b"}} },
		"what a custom section says": func(original, m *Module) {
			original.Customs, m.Customs = []Custom{{Name: "a", Content: "b"}}, []Custom{{Name: "a", Content: "c"}}
		},
		"a section in place of another": func(original, m *Module) {
			original.Tables, m.Customs = []string{Funcref + Limits(1)}, []Custom{{Name: "a", Content: "b"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := check(change)
			require.Error(t, err)
		})
	}
	_, err = check(func(original, m *Module) {
		original.Customs = []Custom{{Name: "name"}}
		m.Customs = []Custom{{Name: "name", Content: Section(0, Text("m"))}}
	})
	require.NoError(t, err, "names may differ")
}

// Each function of a module is looked at for itself.
func TestSeveralFunctions(t *testing.T) {
	original, rewritten := Around(I32Const(0)), Around(I32Const(0))
	codes := []string{
		Loop + tellNumber(1) + LocalGet(Parameter) + Call(Tell) + setTo(1) + Call(Choose) + BrIf(0) + End + I32Const(0),
		Call(Choose) + LocalSet(Other) + LocalGet(Parameter) + LocalGet(Other) + I32Add,
		Block + Call(Choose) + BrIf(0) + tellNumber(1) + End + LocalGet(Parameter),
	}
	for n, code := range codes {
		function := Function{Type: 2, Locals: I32 + I64 + I32, Code: code}
		original.Functions = append(original.Functions, function)
		function.Code = strings.Replace(head, Call(Functions), Call(uint32(Functions+len(codes)+n)), 1) + code
		rewritten.Functions = append(rewritten.Functions, function)
	}
	rewritten.Functions = append(rewritten.Functions, original.Functions[len(original.Functions)-len(codes):]...)
	require.True(t, proven(t, original, rewritten))
	rewritten.Functions[len(rewritten.Functions)-len(codes)-1].Code += Drop + I32Const(1)
	unproven, err := equivalence.Check(decode(t, original.Encode()), decode(t, rewritten.Encode()))
	require.NoError(t, err)
	require.Equal(t, []int{Functions + len(codes) - 1}, unproven)
}

// Expressions are equal only where they have the same value for all numbers that are tried.
func TestEqualExpressionsHaveEqualValues(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	var codes []string
	for range 250 {
		// A number and one of 64 bits are known by their variables; everything is computed of them.
		codes = append(codes, Call(Choose)+I32Const(-0x61c88647)+I32Mul+LocalTee(Other)+I64ExtendI32S+I64Const(3<<31)+I64Add+LocalSet(Long)+expression(random, 1+random.IntN(4)))
	}
	values := make([]string, len(codes))
	for i, code := range codes {
		m, err := Start(t.Context(), wazero.NewRuntimeConfigInterpreter(), Around(code).Encode())
		require.NoError(t, err)
		for seed := range uint64(8) {
			o, err := m.Observe(t.Context(), 0, seed)
			require.NoError(t, err)
			values[i] += o.Ended + ","
		}
		require.NoError(t, m.Close(t.Context()))
	}
	equal := 0
	for i, before := range codes {
		for j, after := range codes {
			if i == j {
				continue
			}
			if original, rewritten := pair(before, after); proven(t, original, rewritten) {
				require.Equal(t, values[i], values[j], "%x and %x", before, after)
				equal++
			}
		}
	}
	t.Logf("%d of %d pairs are equal", equal, len(codes)*(len(codes)-1))
	require.Greater(t, equal, 100)
}

// expression is one of 32 bits.
func expression(random *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{LocalGet(Other), LocalGet(Other), I32Const(0), I32Const(1), I32Const(-1)}[random.IntN(5)]
	}
	switch random.IntN(7) {
	case 0, 1:
		return expression(random, depth-1) + I32Eqz
	case 2:
		return expression64(random, depth-1) + I64Eqz
	case 3:
		return expression64(random, depth-1) + I32WrapI64
	case 4:
		return expression(random, depth-1) + expression(random, 0) + string([]byte{0x46 + byte(random.IntN(10))})
	case 5:
		return expression64(random, depth-1) + expression64(random, 0) + string([]byte{0x51 + byte(random.IntN(10))})
	}
	return expression(random, depth-1) + expression(random, 0) + I32Add
}

func expression64(random *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{LocalGet(Long), LocalGet(Other) + I64ExtendI32U, I64Const(0), I64Const(1), I64Const(-1), I64Const(1 << 32)}[random.IntN(6)]
	}
	if random.IntN(3) == 0 {
		return expression64(random, depth-1) + expression64(random, 0) + I64Add
	}
	return expression(random, depth-1) + I64ExtendI32U
}

// similar judges a function and one that was made by nearly the same choices in its place.
func similar(t testing.TB, choices []byte, at int, changed byte) verdict {
	before, regions := Generate(choices)
	others := slices.Clone(choices)
	others[at%len(others)] = changed
	after, _ := Generate(others)
	original, rewritten := pair(before, after)
	return judge(t, original.Encode(), rewritten.Encode(), CallsOf(regions, 1))
}

// A function is not taken for another one that is similar, also where neither was rewritten.
func TestNoSimilarFunctionIsTakenForTheOriginal(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	count := map[verdict]int{}
	for range 1500 {
		choices := Choices(random, 20+random.IntN(150))
		count[similar(t, choices, random.Int(), byte(random.Uint32()))]++
	}
	t.Logf("%d are refused, %d are refused that seem to do the same, %d are accepted", count[refused], count[refusedAlike], count[accepted])
	require.Greater(t, count[refused], 100)
	require.Greater(t, count[accepted], 100)
}

func FuzzSimilar(f *testing.F) {
	random := rand.New(rand.NewPCG(19, 20))
	for oddness := range 6 {
		choices := Choices(random, 150)
		choices[0] = byte(oddness)
		f.Add(choices, 30, byte(5))
	}
	f.Fuzz(func(t *testing.T, choices []byte, at int, changed byte) {
		if len(choices) > 0 && at >= 0 {
			similar(t, choices[:min(len(choices), 1<<10)], at, changed)
		}
	})
}

// FuzzModules has nothing to expect but an answer.
func FuzzModules(f *testing.F) {
	random := rand.New(rand.NewPCG(15, 16))
	for range 5 {
		code, _ := Generate(Choices(random, 100))
		original, rewritten := pair(code, code)
		f.Add(original.Encode(), rewritten.Encode())
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		original, err := wasmfile.Read(before, wasmfile.DefaultLimits())
		if err != nil {
			return
		}
		rewritten, err := wasmfile.Read(after, wasmfile.DefaultLimits())
		if err != nil {
			return
		}
		_, _ = equivalence.Check(original, rewritten)
	})
}
