package flowtest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// Observed is everything visible of a call of Flow.
type Observed struct {
	// Numbers are those that Tell took.
	Numbers []int32
	// Ended is the result, the reason of a trap, Endless, or Enough.
	Ended string
	// Memory is a checksum of memory and globals at the end. Endless calls have none.
	Memory uint32
}

// Endless is a call that ran for long. Enough is one that was ended after many calls of the imports.
const (
	Endless = "endless"
	Enough  = "enough"
)

const (
	// mostTold and mostChosen bound the calls of the imports.
	mostTold, mostChosen = 60, 60
	// mostFuel bounds the work: 200 times that of a function that reaches mostTold.
	mostFuel = 1_000_000
	quantum  = 10_000
)

var (
	errEnough  = errors.New("it has done enough")
	errEndless = errors.New("it does not end")
)

// Machine runs a module.
type Machine struct {
	runtime  wazero.Runtime
	instance api.Module
	numbers  []int32
	random   *rand.Rand
	chooses  int
	fuel     int
}

// Start makes an instance of a module with bounded work.
func Start(ctx context.Context, engine wazero.RuntimeConfig, wasm []byte) (*Machine, error) {
	decoded, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	if err != nil {
		return nil, err
	}
	metered, err := meter.Rewrite(decoded, meter.Options{})
	if err != nil {
		return nil, err
	}
	m := &Machine{runtime: wazero.NewRuntimeWithConfig(ctx, engine)}
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	_, err = m.runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(m.refill), i64, i64).Export(meter.Refill).Instantiate(ctx)
	if err == nil {
		_, err = m.runtime.NewHostModuleBuilder("test").
			NewFunctionBuilder().WithGoFunction(api.GoFunc(m.tell), i32, nil).Export("tell").
			NewFunctionBuilder().WithGoFunction(api.GoFunc(m.choose), nil, i32).Export("choose").
			Instantiate(ctx)
	}
	if err == nil {
		m.instance, err = m.runtime.Instantiate(ctx, metered)
	}
	if err != nil {
		return nil, errors.Join(err, m.runtime.Close(ctx))
	}
	return m, nil
}

// Close frees the instance.
func (m *Machine) Close(ctx context.Context) error { return m.runtime.Close(ctx) }

func (m *Machine) refill(_ context.Context, stack []uint64) {
	if m.fuel -= quantum; m.fuel < 0 {
		panic(errEndless)
	}
	stack[0] = quantum
}

func (m *Machine) tell(_ context.Context, stack []uint64) {
	if m.numbers = append(m.numbers, int32(stack[0])); len(m.numbers) == mostTold {
		panic(errEnough)
	}
}

func (m *Machine) choose(_ context.Context, stack []uint64) {
	if m.chooses++; m.chooses == mostChosen {
		panic(errEnough)
	}
	stack[0] = uint64(uint32(m.random.IntN(8) - 1))
}

// Observe calls Flow with a parameter. The seed defines the numbers of Choose. Calls of the same
// instance share its state.
func (m *Machine) Observe(ctx context.Context, parameter, seed uint64) (Observed, error) {
	m.numbers, m.chooses, m.fuel = nil, 0, mostFuel
	m.random = rand.New(rand.NewPCG(seed, parameter))
	results, err := m.instance.ExportedFunction("flow").Call(ctx, parameter)
	o := Observed{Numbers: slices.Clone(m.numbers)}
	switch {
	case errors.Is(err, errEndless):
		o.Ended = Endless
		return o, nil
	case errors.Is(err, errEnough):
		o.Ended = Enough
	case err != nil:
		o.Ended, _, _ = strings.Cut(err.Error(), "\n")
	default:
		o.Ended = fmt.Sprint("returned ", int32(results[0]))
	}
	memory, ok := m.instance.Memory().Read(0, m.instance.Memory().Size())
	if !ok {
		return o, errors.New("the memory cannot be read")
	}
	o.Memory = crc32.ChecksumIEEE(fmt.Append(slices.Clone(memory),
		m.instance.ExportedGlobal(meter.GlobalName(pointer)).Get(), m.instance.ExportedGlobal(meter.GlobalName(counter)).Get()))
	return o, nil
}

// Calls are calls of Flow, each with a parameter and a seed.
type Calls []struct{ Parameter, Seed uint64 }

// CallsOf returns calls of a function with so many regions: several with the parameter 0, for which
// code is rewritten, one for each region, and some for no region.
func CallsOf(regions int, seed uint64) (calls Calls) {
	for i := range uint64(4) {
		calls = append(calls, struct{ Parameter, Seed uint64 }{0, seed + i})
	}
	for i := range uint64(regions + 1) {
		calls = append(calls, struct{ Parameter, Seed uint64 }{i + 1, seed})
	}
	return append(calls, struct{ Parameter, Seed uint64 }{1 << 31, seed}, struct{ Parameter, Seed uint64 }{1<<32 - 1, seed})
}

// Difference calls a module and a rewritten form of it. It returns a description of the first call
// after which they differ, or "".
func Difference(ctx context.Context, engine func() wazero.RuntimeConfig, before, after []byte, calls Calls) (difference string, err error) {
	first, err := Start(ctx, engine(), before)
	if err != nil {
		return "", fmt.Errorf("the original: %w", err)
	}
	defer func() { err = errors.Join(err, first.Close(ctx)) }()
	second, err := Start(ctx, engine(), after)
	if err != nil {
		return "", fmt.Errorf("the rewritten module: %w", err)
	}
	defer func() { err = errors.Join(err, second.Close(ctx)) }()
	for _, call := range calls {
		want, err := first.Observe(ctx, call.Parameter, call.Seed)
		if err != nil {
			return "", err
		}
		got, err := second.Observe(ctx, call.Parameter, call.Seed)
		if err != nil {
			return "", err
		}
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("with the parameter %d and the seed %d, the original did %+v, and the rewritten module %+v",
				call.Parameter, call.Seed, want, got), nil
		}
		if want.Ended == Endless { // they have done some of it, and not the same
			break
		}
	}
	return "", nil
}
