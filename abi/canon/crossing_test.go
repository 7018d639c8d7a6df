package canon_test

import (
	"context"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.bytecodealliance.org/wit"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
)

// loadContract runs a WIT parser in a sandbox, which takes most of a second.
var loadContract = sync.OnceValues(func() (*wit.Resolve, error) {
	dir, err := filepath.Abs("../../wit") // the sandbox knows no relative paths
	if err != nil {
		return nil, err
	}
	return wit.LoadWIT(dir)
})

func resolveContract(t *testing.T) *wit.Resolve {
	resolve, err := loadContract()
	require.NoError(t, err)
	return resolve
}

// witFunctions returns the functions of each interface of the contract.
func witFunctions(t *testing.T) map[string][]*wit.Function {
	functions := map[string][]*wit.Function{}
	for _, i := range resolveContract(t).Interfaces {
		for _, f := range i.Functions.All() {
			functions[*i.Name] = append(functions[*i.Name], f)
		}
	}
	return functions
}

func echoing(trace *canontest.Trace) func(canontest.Host) abi.Provider {
	return func(host canontest.Host) abi.Provider { return canontest.EchoProvider{Host: host, Trace: trace} }
}

// TestCrossing calls every function of a provider across a memory, with drawn values, and
// expects what the same provider returns directly. In between, it reads all arguments and
// results in the memory by the WIT alone.
func TestCrossing(t *testing.T) {
	testCrossing(t,
		func(host canontest.Host, trace *canontest.Trace) abi.Provider { return echoing(trace)(host) },
		func(guest *canon.Guest) abi.Provider { return guest })
}

// TestPolicyCrossing does the same for policy packs.
func TestPolicyCrossing(t *testing.T) {
	testCrossing(t, func(host canontest.Host, trace *canontest.Trace) abi.Policy {
		return canontest.EchoPolicy{Host: host, Trace: trace}
	}, (*canon.Guest).Policy)
}

// TestProgramCrossing does the same for programs.
func TestProgramCrossing(t *testing.T) {
	testCrossing(t, func(host canontest.Host, trace *canontest.Trace) abi.Program {
		return canontest.EchoProgram{Host: host, Trace: trace}
	}, (*canon.Guest).Program)
}

// testCrossing compares what native returns directly with what a fake that serves it returns to its host.
func testCrossing[S any](t *testing.T, native func(canontest.Host, *canontest.Trace) S, across func(*canon.Guest) S) {
	iface := reflect.TypeFor[S]()
	functions := witFunctions(t)
	for n := range iface.NumMethod() {
		method := iface.Method(n)
		t.Run(method.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				args := []reflect.Value{reflect.ValueOf(context.Background())}
				for p := 1; p < method.Type.NumIn(); p++ {
					v := reflect.New(method.Type.In(p))
					canontest.Fill(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }, v.Interface())
					args = append(args, v.Elem())
				}
				var direct canontest.Trace
				reflect.ValueOf(native(canontest.NewHost(&direct), &direct)).MethodByName(method.Name).Call(args)

				var inside, read canontest.Trace
				f := newFake(canontest.NewHost(&inside), func(host canontest.Host) S { return native(host, &inside) })
				released := 1
				if size := rapid.SampledFrom([]uint32{0, 1, 100, 10_000}).Draw(t, "arena"); size > 0 {
					f.offer(size)
					released = 0 // it frees its results itself
				}
				var open []canontest.Call
				f.entered = func(iface string, function int, args []uint64) {
					w := functions[iface][function]
					open = append(open, canontest.Call{
						Function: iface + "." + w.Name,
						Params:   witReader{f.memory}.params(w, args),
					})
				}
				f.left = func(iface string, function int, result uint64) {
					c := open[len(open)-1]
					open = open[:len(open)-1]
					c.Answer, c.Err = witReader{f.memory}.result(functions[iface][function], result)
					read = append(read, c)
				}
				results := reflect.ValueOf(across(f.guest)).MethodByName(method.Name).Call(args)

				require.Equal(t, direct, inside)
				require.Equal(t, direct, read)
				last := direct[len(direct)-1]
				require.Equal(t, last.Err, errorText(results[len(results)-1]))
				if last.Err == "" && len(results) == 2 {
					require.Equal(t, last.Answer, canontest.Dump(results[0].Interface()))
				}
				require.NoError(t, f.guest.Broken())
				require.Equal(t, released, f.released)
			})
		})
	}
}

func errorText(err reflect.Value) string {
	if err.IsNil() {
		return ""
	}
	return canontest.Dump(err.Interface())
}

// TestGranted checks that a module gets nothing without a grant.
func TestGranted(t *testing.T) {
	f := newFake(canontest.Host{}, echoing(nil))
	host := f.served.(canontest.EchoProvider).Host
	ctx := t.Context()
	_, err := host.HTTP.Send(ctx, abi.HTTPRequest{Method: "GET", URL: "https://example.com/"})
	require.ErrorIs(t, err, abi.ErrDenied)
	require.EqualError(t, err, "the provider is not granted the use of http")
	require.Equal(t, abi.ErrorOriginHost, abi.AsError(err).Origin)
	_, err = host.Monitor.Wait(ctx)
	require.ErrorIs(t, err, abi.ErrDenied)
	require.False(t, host.Control.Cancelled(ctx))
	host.Log.Write(ctx, abi.LogEntry{Message: "nobody listens"})
	host.TCP.Close(ctx, 1)
	require.NoError(t, f.guest.Broken())
}

// TestAllocations checks that each string and list has an allocation of its own, which
// other languages free one by one, and that empty ones have none.
func TestAllocations(t *testing.T) {
	f := newFake(canontest.Host{}, func(canontest.Host) abi.Provider { return listing{} })
	_, err := f.guest.GetMappings(t.Context(), abi.GetMappingsRequest{})
	require.NoError(t, err)
	// The two names that are not empty, the list, and the record of the result.
	require.Equal(t, 4, f.allocated)
	require.Equal(t, 1, f.released)

	canonical := f.allocated
	_, err = f.guest.GetMappings(t.Context(), abi.GetMappingsRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, canonical+5, f.allocated)
}

type listing struct{ abi.Unimplemented }

func (listing) GetMappings(context.Context, abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	return abi.GetMappingsResponse{Providers: []string{"aws", "", "azurerm"}}, nil
}

var _ canon.Caller = (*fake)(nil)
