package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/limit"
)

// running is one call that an instance serves. It has two contexts: soft is the
// caller's, and what the guest and the host's functions learn of; hard ends some time
// later, and ends the guest. In between the guest can answer what became of its work.
type running struct {
	method   abi.Method
	instance *instance
	monitor  abi.Monitor
	assets   capability.Assets
	http     *capability.HTTP // nil until it is used
	// started is the monitor for the guest, nil until it is used.
	started *capability.Monitor
	// limits is what the call may take, and left what it may still.
	limits, left limit.Call
	// failure is why the call failed, empty until it has.
	failure Failure
	// refused is what the guest was refused last, so that it may fail for want of it; nil for
	// nothing.
	refused *limit.ExceededError
	// replaying is set while the call only repeats the setup of another instance.
	replaying bool
	// abandoned is the function of the host that did not end with the call; empty for none.
	abandoned string

	// caller is the caller's context, and begun when the call began.
	caller context.Context
	begun  time.Time
	// deadline is when the caller or, if limited is set, a limit ends soft; hard ends later
	// by grace.
	deadline time.Time
	limited  bool
	grace    time.Duration
	// watching is what soft and hard can be waited for by; nil while nobody does.
	watching atomic.Pointer[watch]

	previous, next *running // in runningCalls
}

// runningCalls are the calls of a sandbox that are running.
type runningCalls struct{ first *running }

func (c *runningCalls) add(r *running) {
	r.next = c.first
	if r.next != nil {
		r.next.previous = r
	}
	c.first = r
}

func (c *runningCalls) remove(r *running) {
	if r.previous != nil {
		r.previous.next = r.next
	} else {
		c.first = r.next
	}
	if r.next != nil {
		r.next.previous = r.previous
	}
	r.previous, r.next = nil, nil
}

// begin begins a call with its limits. finish must be called.
func begin(ctx context.Context, method abi.Method, limits limit.Call, grace time.Duration) *running {
	r := &running{
		method: method, limits: limits, left: limits, assets: capability.Assets{Opener: abi.AssetsFrom(ctx)},
		caller: ctx, begun: time.Now(), limited: true, grace: grace,
	}
	r.deadline = r.begun.Add(limits.Timeout())
	if method.About() == abi.AboutComponent {
		r.monitor = abi.MonitorFrom(ctx)
	}
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(r.deadline) {
		r.deadline, r.limited = earlier, false
	}
	return r
}

// soft is the context of what the guest and the host's functions learn of.
func (r *running) soft() context.Context { return (*softContext)(r) }

// hard is the context of the guest. The guest's functions find the instance by it.
func (r *running) hard() context.Context { return (*hardContext)(r) }

// hostCall counts a call of the host by the guest.
func (r *running) hostCall() {
	r.spend(&r.left.HostCalls, 1, limit.HostCalls, r.limits.HostCalls)
}

// randomBytes counts random bytes that the guest asks for.
func (r *running) randomBytes(n uint64) {
	r.spend(&r.left.RandomBytes, n, limit.RandomBytes, r.limits.RandomBytes)
}

// spend takes from what is left, and ends the guest if there is too little.
func (r *running) spend(left *uint64, n uint64, name limit.Limit, most uint64) {
	if n <= *left {
		*left -= n
		return
	}
	exceeded := &limit.ExceededError{Limit: name, Most: most, Method: string(r.method)}
	r.end(exceeded)
	panic(exceeded)
}

// cancel tells the guest that the call is over, and end stops it at once.
func (r *running) cancel(cause error) { r.watched().cancel(cause) }

func (r *running) end(cause error) {
	w := r.watched()
	w.cancel(cause)
	w.kill(cause)
}

// tookTooLong is the limit that ends soft at its deadline.
func (r *running) tookTooLong() error {
	return &limit.ExceededError{Limit: limit.Time, Most: r.limits.Time, Method: string(r.method)}
}

// checkDeadline ends a call that should have ended by its deadline. The timers of the
// contexts do that too, but a guest that keeps all processors busy could delay them.
func (r *running) checkDeadline(now time.Time) {
	if !now.After(r.deadline.Add(r.grace)) {
		return
	}
	if r.limited {
		r.end(r.tookTooLong())
		return
	}
	// It is the caller's, whose timer tells the reason once this goroutine is out of its way.
	late := time.NewTimer(timerTurn)
	defer late.Stop()
	select {
	case <-r.soft().Done():
		r.end(context.Cause(r.soft()))
	case <-late.C:
		r.end(context.DeadlineExceeded)
	}
}

// timerTurn is how long a timer that is due may take on a machine that is busy.
const timerTurn = time.Second

// finish releases the contexts.
func (r *running) finish() { r.over() }
