package host

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/meter"
)

const (
	// slice is how long a guest should run between two calls of the host for more fuel.
	// Go's garbage collector may have to wait for as long.
	slice = time.Millisecond
	// firstQuantum, leastQuantum and mostQuantum are how much fuel a guest gets at a time,
	// adapted so that it lasts for a slice. The most is a bound on what a guest can do
	// that first lets its fuel seem cheap and then does what takes longest, reads all over
	// its memory: 4,000,000 units of that take some 50 ms.
	firstQuantum = 1 << 20
	leastQuantum = 1 << 16
	mostQuantum  = 1 << 22
)

// overrun is the cause of the end of a call that took more than it may, of time or else
// of fuel.
type overrun struct {
	timeout time.Duration
	fuel    uint64
}

func (e *overrun) Error() string {
	if e.timeout > 0 {
		return fmt.Sprintf("it took longer than the %s that it may take", e.timeout)
	}
	return fmt.Sprintf("it used more than the %d units of fuel that it may use", e.fuel)
}

// tank is the fuel of an instance, in units of package meter.
type tank struct {
	// fuel is what is left of granted; nil until the instance can be called.
	fuel api.MutableGlobal
	// used is what the running call has used of limit, up to the last refill.
	used, limit uint64
	granted     int64
	quantum     int64
	// filled is when the fuel was granted, yielded when other goroutines had their turn.
	filled, yielded time.Time
}

// begin empties the tank, so that the call asks for fuel where it first has to.
func (t *tank) begin(limit uint64) {
	t.used, t.limit, t.granted = 0, limit, 0
	if t.fuel != nil {
		t.fuel.Set(0)
	}
	t.quantum = max(t.quantum, leastQuantum)
}

// refill grants more fuel, or an error if the call has used all it may.
func (t *tank) refill(left int64, now time.Time) (int64, error) {
	t.used += uint64(t.granted - left)
	if t.used > t.limit {
		return 0, &overrun{fuel: t.limit}
	}
	t.adapt(now)
	if now.Sub(t.yielded) >= slice/2 {
		// The guest has no other point at which Go could take the processor from it.
		runtime.Gosched()
		now = time.Now()
		t.yielded = now
	}
	t.filled = now
	t.granted = int64(min(uint64(t.quantum), t.limit-t.used))
	return t.granted, nil
}

// adapt sets the quantum so that it lasts for a slice. One step is at most a factor of
// two, so that a slow call of the host, whose time is counted too, changes little.
func (t *tank) adapt(now time.Time) {
	if t.granted != t.quantum {
		return
	}
	switch lasted := now.Sub(t.filled); {
	case lasted < slice/2:
		t.quantum = min(t.quantum*2, mostQuantum)
	case lasted > slice*2:
		t.quantum = max(t.quantum/2, leastQuantum)
	}
}

// instantiateMeter adds the function by which guests ask for fuel.
func instantiateMeter(ctx context.Context, runtime wazero.Runtime) error {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refill), i64, i64).Export(meter.Refill).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("making the host module %s: %w", meter.Module, err)
	}
	return nil
}

// refill ends a guest whose call is over, and grants fuel to others.
func refill(ctx context.Context, stack []uint64) {
	guest, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok || guest.call == nil {
		panic(errNotReady)
	}
	r := guest.call
	now := time.Now()
	granted, err := guest.tank.refill(int64(stack[0]), now)
	if err != nil {
		r.end(err)
	}
	r.checkDeadline(now)
	if r.hard.Err() != nil {
		panic(context.Cause(r.hard))
	}
	stack[0] = uint64(granted)
}
