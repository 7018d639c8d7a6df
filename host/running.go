package host

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
)

// running is one call that an instance serves. It has two contexts: soft is the
// caller's, and what the guest and the host's functions learn of; hard ends some time
// later, and ends the guest. In between the guest can answer what became of its work.
type running struct {
	method  string
	monitor abi.Monitor
	assets  *guestAssets
	// limits is what the call may take, and left what it may still.
	limits, left callLimits
	// failure is why the call failed, empty until it has.
	failure Failure
	// replaying is set while the call only repeats the setup of another instance.
	replaying bool

	soft, hard context.Context
	cancel     context.CancelCauseFunc // of soft
	kill       context.CancelCauseFunc // of hard
	forget     func() bool
	release    context.CancelFunc // of what ends soft

	// deadline is when the caller or a limit ends soft, and ends is the reason then; hard
	// ends later by grace.
	deadline time.Time
	ends     error
	grace    time.Duration
}

// begin makes the contexts of a call with its limits. finish must be called.
func begin(ctx context.Context, method string, limits callLimits, grace time.Duration) *running {
	r := &running{method: method, limits: limits, left: limits, assets: &guestAssets{opener: abi.AssetsFrom(ctx)}}
	if method == "call" || method == "construct" {
		r.monitor = abi.MonitorFrom(ctx)
	}
	r.grace = grace
	r.deadline, r.ends = time.Now().Add(limits.timeout), &ExceededError{LimitTime, uint64(limits.timeout)}
	limited, release := context.WithDeadlineCause(ctx, r.deadline, r.ends)
	if earlier, _ := limited.Deadline(); earlier.Before(r.deadline) {
		r.deadline, r.ends = earlier, context.DeadlineExceeded
	}
	r.release = release
	r.soft, r.cancel = context.WithCancelCause(limited)
	r.hard, r.kill = context.WithCancelCause(context.WithoutCancel(ctx))
	r.forget = context.AfterFunc(r.soft, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.kill(context.Cause(r.soft))
		case <-r.hard.Done():
		}
	})
	return r
}

// hostCall counts a call of the host by the guest.
func (r *running) hostCall() {
	r.spend(&r.left.hostCalls, 1, LimitHostCalls, r.limits.hostCalls)
}

// randomBytes counts random bytes that the guest asks for.
func (r *running) randomBytes(n uint64) {
	r.spend(&r.left.randomBytes, n, LimitRandom, r.limits.randomBytes)
}

// spend takes from what is left, and ends the guest where there is too little.
func (r *running) spend(left *uint64, n uint64, limit Limit, most uint64) {
	if n <= *left {
		*left -= n
		return
	}
	exceeded := &ExceededError{limit, most}
	r.end(exceeded)
	panic(exceeded)
}

// end stops the call at once.
func (r *running) end(cause error) {
	r.cancel(cause)
	r.kill(cause)
}

// checkDeadline ends a call that should have ended by its deadline. The timers of the
// contexts do that too, but a guest that keeps all processors busy could delay them.
func (r *running) checkDeadline(now time.Time) {
	if !now.After(r.deadline.Add(r.grace)) {
		return
	}
	if r.ends == context.DeadlineExceeded {
		// It is the caller's, whose timer tells the reason once this goroutine is out of its way.
		late := time.NewTimer(timerTurn)
		defer late.Stop()
		select {
		case <-r.soft.Done():
			r.end(context.Cause(r.soft))
			return
		case <-late.C:
		}
	}
	r.end(r.ends)
}

// timerTurn is how long a timer that is due may take on a machine that is busy.
const timerTurn = time.Second

// finish releases the contexts, and what the guest left open.
func (r *running) finish() {
	r.forget()
	r.cancel(nil)
	r.kill(nil)
	r.release()
	r.assets.closeAll()
}
