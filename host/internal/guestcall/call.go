// Package guestcall has the parts of one call of a guest: limits and contexts ([Call]), encoding ([Codec]), a rate of logging
// ([LogRate]), and the meaning of a crash ([Crash]).
package guestcall

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
)

// Call is one call that an instance serves. Its context Soft is the caller's, which the guest learns of. Hard
// ends later, and ends the guest, which can answer in between what became of its work.
type Call struct {
	Method  abi.Method
	Monitor abi.Monitor
	Assets  capability.Assets
	HTTP    *capability.HTTP // nil until it is used
	// Started is the monitor for the guest, nil until it is used.
	Started *capability.Monitor
	// Refused is the last thing that the guest was refused, for want of which it may fail; nil for none.
	Refused *limit.ExceededError
	// DeniedFiles are uses of files that no grant permits, the first of them.
	DeniedFiles []wasi.Use
	// Replaying is set while the call only repeats the setup of another instance.
	Replaying bool
	// Abandoned is the function of the host that did not end with the call; empty for none.
	Abandoned string

	// instance and system are the hard context's values under InstanceKey and wasi.SystemKey.
	instance any
	system   *wasi.System
	// limits is the budget of the call, and left the rest of it.
	limits, left limit.Call
	// caller is the caller's context, and Begun when the call began.
	caller context.Context
	Begun  time.Time
	// deadline is when the soft context ends: for the caller's deadline, or for a limit if limited is set. The
	// hard context ends later, by grace.
	deadline time.Time
	limited  bool
	grace    time.Duration
	// watching is the watch by which soft and hard can be waited for; nil while nobody waits.
	watching atomic.Pointer[watch]

	previous, next *Call // in Calls
}

// Calls is the list of running calls.
type Calls struct{ first *Call }

// All visits all calls.
func (c *Calls) All() iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		for r := c.first; r != nil && yield(r); r = r.next {
		}
	}
}

// Add and Remove are the begin and the end of a call.
func (c *Calls) Add(r *Call) {
	r.next = c.first
	if r.next != nil {
		r.next.previous = r
	}
	c.first = r
}

func (c *Calls) Remove(r *Call) {
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

// Begin begins a call of an instance with its limits. Finish must be called.
func Begin(ctx context.Context, method abi.Method, limits limit.Call, grace time.Duration, instance any, system *wasi.System) *Call {
	r := &Call{
		Method: method, instance: instance, system: system, limits: limits, left: limits, Assets: capability.Assets{Opener: abi.AssetsFrom(ctx)},
		caller: ctx, Begun: time.Now(), limited: true, grace: grace,
	}
	r.deadline = r.Begun.Add(limits.Timeout())
	if method.About() == abi.AboutComponent {
		r.Monitor = abi.MonitorFrom(ctx)
	}
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(r.deadline) {
		r.deadline, r.limited = earlier, false
	}
	return r
}

// Soft is the context whose end the guest and the host's functions learn of.
func (r *Call) Soft() context.Context { return (*softContext)(r) }

// Hard is the context of the guest. The guest's functions find the instance by it.
func (r *Call) Hard() context.Context { return (*hardContext)(r) }

// HostCall counts a call of the host by the guest.
func (r *Call) HostCall() {
	r.spend(&r.left.HostCalls, 1, limit.HostCalls, r.limits.HostCalls)
}

// RandomBytes counts random bytes that the guest asks for.
func (r *Call) RandomBytes(n uint64) {
	r.spend(&r.left.RandomBytes, n, limit.RandomBytes, r.limits.RandomBytes)
}

// spend takes n from the rest of a budget, and ends the guest if there is too little.
func (r *Call) spend(left *uint64, n uint64, name limit.Limit, most uint64) {
	if n <= *left {
		*left -= n
		return
	}
	exceeded := &limit.ExceededError{Limit: name, Most: most, Method: string(r.Method)}
	r.End(exceeded)
	panic(exceeded)
}

// Cancel tells the guest that the call is over, and end stops it at once.
func (r *Call) Cancel(cause error) { r.watched().cancel(cause) }

func (r *Call) End(cause error) {
	w := r.watched()
	w.cancel(cause)
	w.kill(cause)
}

// tookTooLong is the limit that ends soft at its deadline.
func (r *Call) tookTooLong() error {
	return &limit.ExceededError{Limit: limit.Time, Most: r.limits.Time, Method: string(r.Method)}
}

// CheckDeadline ends a call after its deadline, in case a busy guest delays the timers of its contexts.
func (r *Call) CheckDeadline(now time.Time) {
	if !now.After(r.deadline.Add(r.grace)) {
		return
	}
	if r.limited {
		r.End(r.tookTooLong())
		return
	}
	// It is the caller's, whose timer tells the reason once this goroutine is out of its way.
	late := time.NewTimer(timerTurn)
	defer late.Stop()
	select {
	case <-r.Soft().Done():
		r.End(context.Cause(r.Soft()))
	case <-late.C:
		r.End(context.DeadlineExceeded)
	}
}

// timerTurn is how long a timer that is due may take on a machine that is busy.
const timerTurn = time.Second

// EachHeld visits what the call may have open, with the name of the function that closes one.
func (r *Call) EachHeld(visit func(name string, held capability.Held)) {
	visit("assets.close", &r.Assets)
	if r.HTTP != nil {
		visit("http.close", r.HTTP)
	}
}

// FunctionName is the name of a function of the host for people: http.send, path_open.
func FunctionName(name string) string {
	name = strings.TrimPrefix(name, canon.Package+"/")
	module, function, ok := strings.Cut(name, "#")
	if !ok {
		return name
	}
	module, _, _ = strings.Cut(module, "@")
	return module + "." + function
}

// Abandonment returns the addition to an error about an abandoned function of the host, or "".
func (r *Call) Abandonment() string {
	if r.Abandoned == "" {
		return ""
	}
	return "; it was waiting for " + FunctionName(r.Abandoned) + " of the host, which did not end and was abandoned"
}
