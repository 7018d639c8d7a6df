package meter

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
)

const (
	// slice is the intended time between two calls of the host for more fuel. Go's garbage collector
	// may have to wait for it.
	slice = time.Millisecond
	// firstQuantum, leastQuantum and mostQuantum bound the fuel of one grant, which is adapted to
	// last for a slice. The most bounds a guest that first makes its fuel seem cheap and then reads
	// all over its memory: 4,000,000 units of that take some 50 ms.
	firstQuantum = 1 << 20
	leastQuantum = 1 << 16
	mostQuantum  = 1 << 22
)

// SpentError is a guest that has used more fuel than it may.
type SpentError struct{ Limit uint64 }

func (e *SpentError) Error() string {
	return fmt.Sprintf("it used more than the %d units of fuel that it may use", e.Limit)
}

// Tank is the fuel of an instance. Like the instance, it is not safe for concurrent use.
type Tank struct {
	// fuel is the rest of granted, nil until Connect.
	fuel api.MutableGlobal
	// refused is the global [Refused], nil for a module without it.
	refused api.MutableGlobal
	// used is the fuel that the running call used of limit up to the last refill.
	used, limit uint64
	granted     int64
	quantum     int64
	// filled is when the fuel was granted, yielded when other goroutines had their turn.
	filled, yielded time.Time
}

// Connect lets the tank reach an instance's fuel. Its start needs no connection.
func (t *Tank) Connect(instance api.Module) {
	t.fuel, _ = instance.ExportedGlobal(Fuel).(api.MutableGlobal)
	t.refused, _ = instance.ExportedGlobal(Refused).(api.MutableGlobal)
}

// Begin begins a call with a limit of fuel and grants a slice's worth, which is enough for most
// calls. The start of an instance, before Connect, asks for its first fuel.
func (t *Tank) Begin(limit uint64, now time.Time) {
	t.used, t.limit, t.granted = 0, limit, 0
	if t.quantum == 0 {
		t.quantum = firstQuantum
	}
	if t.fuel != nil {
		t.fuel.Set(uint64(t.grant(now)))
	}
	if t.refused != nil {
		t.refused.Set(0)
	}
}

// Refused reports whether the call was refused elements of a table.
func (t *Tank) Refused() bool { return t.refused != nil && t.refused.Get() != 0 }

// Used returns the fuel that the call has used since Begin.
func (t *Tank) Used() uint64 {
	if t.fuel == nil || t.granted == 0 {
		return t.used
	}
	left := int64(t.fuel.Get())
	return t.used + uint64(t.granted-left)
}

// Refill serves a guest's request for more fuel: it lets other goroutines run, if they have not for
// long, and grants a slice's worth. The error is a *[SpentError], after which the guest must be
// ended.
func (t *Tank) Refill(left int64, now time.Time) (granted int64, err error) {
	t.used += uint64(t.granted - left)
	if t.used > t.limit {
		t.granted = left // which is counted
		return 0, &SpentError{t.limit}
	}
	t.adapt(now)
	if now.Sub(t.yielded) >= slice/2 {
		// The guest has no other point at which Go could take the processor from it.
		runtime.Gosched()
		now = time.Now()
		t.yielded = now
	}
	return t.grant(now), nil
}

func (t *Tank) grant(now time.Time) int64 {
	t.filled = now
	t.granted = int64(min(uint64(t.quantum), t.limit-t.used))
	return t.granted
}

// adapt sets the quantum to last for a slice. A step is at most a factor of two, so a slow call of
// the host, whose time counts, changes little.
func (t *Tank) adapt(now time.Time) {
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
