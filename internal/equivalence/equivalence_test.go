package equivalence_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/equivalence"
	. "github.com/husk-dev/husk/internal/flowtest"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
)

func decode(t testing.TB, wasm []byte) *wasmfile.Module {
	t.Helper()
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	return m
}

// Places of Flow and of its copy among the functions that a module defines.
const (
	flowBody = Flow - Called
	copyBody = Functions - Called
)

// rewritten is a function that choices decide about, before and after it was rewritten; nil where it
// was not.
func rewritten(t testing.TB, choices []byte) (before, after *wasmfile.Module, regions int) {
	code, regions := Generate(choices)
	before = decode(t, Around(code).Encode())
	after, _ = relooper.Rewrite(before, wasmfile.DefaultLimits(), func(int) bool { return true })
	return before, after, regions
}

// verdict is what becomes of two modules.
type verdict int

const (
	invalid verdict = iota
	// refused modules differ, and those that are refusedAlike do the same in the calls that are tried.
	refused
	refusedAlike
	accepted
)

// valid decodes a module, and reports whether there is one.
func valid(wasm []byte) (*wasmfile.Module, bool) {
	m, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	if err != nil {
		return nil, false
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	_, err = r.CompileModule(ctx, wasm)
	return m, err == nil
}

// judge holds that a module that is accepted does the same as the original.
func judge(t testing.TB, before, after []byte, calls Calls) verdict {
	original, ok := valid(before)
	if !ok {
		return invalid
	}
	changed, ok := valid(after)
	if !ok {
		if m, err := wasmfile.Read(after, wasmfile.DefaultLimits()); err == nil {
			_, _ = equivalence.Check(original, m) // has nothing to say, and says it
		}
		return invalid
	}
	unproven, err := equivalence.Check(original, changed)
	difference, failed := Difference(t.Context(), wazero.NewRuntimeConfigInterpreter, before, after, calls)
	require.NoError(t, failed)
	switch {
	case err == nil && len(unproven) == 0:
		require.Empty(t, difference)
		return accepted
	case difference == "":
		return refusedAlike
	}
	return refused
}

// mutants judges changes of a function that was rewritten, and of the function that it was made of.
func mutants(t testing.TB, choices []byte, mutations ...[]byte) (verdicts []verdict) {
	before, after, regions := rewritten(t, choices)
	if after == nil {
		return nil
	}
	calls := CallsOf(regions, 1)
	for _, mutation := range mutations {
		verdicts = append(verdicts,
			judge(t, before.Bytes(0, before.Size()), Mutate(after, flowBody, mutation), calls),
			judge(t, Mutate(before, flowBody, mutation), Mutate(after, copyBody, mutation), calls))
	}
	return verdicts
}

// A rewritten function that was changed is refused unless it still does the same, and so is one whose
// original was changed.
func TestNoMutantIsTakenForTheOriginal(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	count := map[verdict]int{}
	for range 200 {
		var mutations [][]byte
		for range 10 {
			mutations = append(mutations, Choices(random, 30))
		}
		for _, v := range mutants(t, Choices(random, 20+random.IntN(200)), mutations...) {
			count[v]++
		}
	}
	t.Logf("%d mutants are invalid, %d refused, %d refused that seem to do the same, %d accepted",
		count[invalid], count[refused], count[refusedAlike], count[accepted])
	require.Greater(t, count[refused], 100)
	require.Greater(t, count[accepted], 10)
}

func FuzzMutants(f *testing.F) {
	random := rand.New(rand.NewPCG(11, 12))
	for oddness := range 6 {
		choices := Choices(random, 150)
		choices[0] = byte(oddness)
		f.Add(choices, Choices(random, 30))
	}
	f.Fuzz(func(t *testing.T, choices, mutation []byte) {
		mutants(t, choices[:min(len(choices), 1<<10)], mutation)
	})
}
