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
	// replaying is set while the call only repeats the setup of another instance.
	replaying bool

	soft, hard context.Context
	cancel     context.CancelCauseFunc // of soft
	kill       context.CancelCauseFunc // of hard
	forget     func() bool
}

// begin makes the contexts of a call. finish must be called.
func begin(ctx context.Context, method string, grace time.Duration) *running {
	r := &running{method: method, assets: &guestAssets{opener: abi.AssetsFrom(ctx)}}
	if method == "call" || method == "construct" {
		r.monitor = abi.MonitorFrom(ctx)
	}
	r.soft, r.cancel = context.WithCancelCause(ctx)
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

// end stops the call at once.
func (r *running) end(cause error) {
	r.cancel(cause)
	r.kill(cause)
}

// finish releases the contexts, and what the guest left open.
func (r *running) finish() {
	r.forget()
	r.cancel(nil)
	r.kill(nil)
	r.assets.closeAll()
}
