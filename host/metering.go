package host

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/meter"
)

// instantiateMeter adds the function by which guests ask for fuel.
func instantiateMeter(ctx context.Context, runtime wazero.Runtime) error {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), i64, i64).Export(meter.Refill).Instantiate(ctx)
	return err
}

// refill ends a guest whose call is over, and grants fuel to others.
func refill(ctx context.Context, stack []uint64) {
	guest, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok || guest.call == nil {
		panic(errNotReady)
	}
	r := guest.call
	now := time.Now()
	granted, err := guest.tank.Refill(int64(stack[0]), now)
	if spent, ok := errors.AsType[*meter.SpentError](err); ok {
		r.end(&limit.ExceededError{Limit: limit.Fuel, Most: spent.Limit, Method: string(r.method)})
	}
	r.checkDeadline(now)
	if r.hard().Err() != nil {
		panic(context.Cause(r.hard()))
	}
	stack[0] = uint64(granted)
}
