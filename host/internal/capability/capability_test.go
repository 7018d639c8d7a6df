package capability

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
)

// Every function of a capability that was not granted says so, as the host.
func TestWhatIsNotGrantedIsDenied(t *testing.T) {
	for _, capability := range []any{KV{}, DeniedMonitor{}} {
		all := reflect.ValueOf(capability)
		for n := range all.NumMethod() {
			name, method := all.Type().Method(n).Name, all.Method(n)
			args := []reflect.Value{reflect.ValueOf(context.Background())}
			for p := 1; p < method.Type().NumIn(); p++ {
				args = append(args, reflect.Zero(method.Type().In(p)))
			}
			results := method.Call(args)
			if name == "Close" {
				continue
			}
			err, ok := results[len(results)-1].Interface().(*abi.Error)
			require.True(t, ok, name)
			require.Equal(t, abi.ErrorKindDenied, err.Kind, name)
			require.Equal(t, abi.ErrorOriginHost, err.Origin, name)
			require.NotEmpty(t, err.Message, name)
		}
	}
}

// unbounded is a ledger that counts nothing.
type unbounded struct{}

func (unbounded) Acquire(string, int, uint64) error { return nil }
func (unbounded) Abandon(int, uint64)               {}
func (unbounded) Hold(string, uint64) error         { return nil }
func (unbounded) Release(uint64)                    {}
func (unbounded) Pass(string, uint64) error         { return nil }
func (unbounded) Passing() uint64                   { return 0 }
