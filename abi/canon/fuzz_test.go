package canon_test

import (
	"context"
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// pointing is an instance whose functions all answer the same address, into a memory
// of any contents.
type pointing struct {
	*fake
	answer uint64
}

func (p pointing) Call(ctx context.Context, export int, stack []uint64) error {
	if export == 0 {
		return p.fake.Call(ctx, export, stack)
	}
	stack[0] = p.answer
	return nil
}

// seed adds what an honest module's memory holds after a call of the method, and when
// it calls imports meanwhile. The fuzz target takes the arguments of an import from
// the beginning of the memory, but the first, which it is given.
func seed(f *testing.F, method reflect.Method, function uint8, imports []canon.Import) {
	module := newFake(canontest.NewHost(nil), echoing(nil))
	module.entered = func(iface string, index int, args []uint64) {
		first := slices.IndexFunc(imports, func(i canon.Import) bool {
			return i.Module == canon.Package+"/"+iface+"@"+canon.Version
		})
		if first < 0 || len(args) == 0 {
			return
		}
		memory := slices.Clone(module.memory)
		for n, arg := range args {
			binary.LittleEndian.PutUint64(memory[8*n:], arg)
		}
		f.Add(memory, uint8(reflect.TypeFor[abi.Provider]().NumMethod()+first+index), uint32(args[0]))
	}
	module.left = func(iface string, _ int, result uint64) {
		if iface == "provider" {
			f.Add(module.memory, function, uint32(result))
		}
	}
	draw := canontest.Seeded(method.Name)
	args := []reflect.Value{reflect.ValueOf(context.Background())}
	for p := 1; p < method.Type.NumIn(); p++ {
		v := reflect.New(method.Type.In(p))
		canontest.Fill(draw, v.Interface())
		args = append(args, v.Elem())
	}
	reflect.ValueOf(module.guest).MethodByName(method.Name).Call(args)
}

// FuzzLift gives any memory to the host: the result of every function and the
// arguments of every import. Each is an error or a value, in bounded memory.
func FuzzLift(f *testing.F) {
	const (
		mostMemory    = 64 << 10 // bytes
		mostAllocated = 32 << 20 // bytes; a CBOR item of one byte takes some 100 in Go
	)
	provider := reflect.TypeFor[abi.Provider]()
	imports := canon.ImportTable()
	f.Add([]byte{}, uint8(0), uint32(0))
	for n := range provider.NumMethod() {
		seed(f, provider.Method(n), uint8(n), imports)
	}
	f.Fuzz(func(t *testing.T, memory []byte, function uint8, ptr uint32) {
		if len(memory) > mostMemory {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		instance := pointing{&fake{memory: memory, arena: ptr / 2}, uint64(ptr)}
		g := canon.NewGuest(instance, guestcbor.Codec{}, limit)
		if n := int(function); n < provider.NumMethod() {
			method := reflect.ValueOf(g).MethodByName(provider.Method(n).Name)
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for p := 1; p < method.Type().NumIn(); p++ {
				args = append(args, reflect.Zero(method.Type().In(p)))
			}
			method.Call(args)
		} else if n -= provider.NumMethod(); n < len(imports) {
			stack := make([]uint64, max(len(imports[n].Params), 1))
			for i := range stack {
				stack[i] = uint64(ptr)
				if at := 8 * i; i > 0 && at+8 <= len(memory) {
					stack[i] = binary.LittleEndian.Uint64(memory[at:])
				}
			}
			_ = imports[n].Call(t.Context(), g, &canon.Imports{}, stack)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(mostAllocated))
	})
}
