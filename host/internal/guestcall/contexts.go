package guestcall

import (
	"context"
	"time"

	"github.com/husk-dev/husk/host/internal/wasi"
)

// Contexts with timers and entries in the caller's context cost more than all else that the host does for a
// short call. So they are made only once somebody waits for a call's end, or it is over.

// watch are contexts that can be waited for.
type watch struct {
	soft, hard context.Context
	cancel     context.CancelCauseFunc // of soft
	kill       context.CancelCauseFunc // of hard
	forget     func() bool
	release    context.CancelFunc // frees the watch that ends soft
}

// watched makes the contexts that can be waited for, if nobody has.
func (r *Call) watched() *watch {
	if made := r.watching.Load(); made != nil {
		return made
	}
	w := r.watch()
	if !r.watching.CompareAndSwap(nil, w) {
		w.finish()
	}
	return r.watching.Load()
}

func (r *Call) watch() *watch {
	w := &watch{}
	var limited context.Context
	limited, w.release = r.caller, func() {}
	if r.limited {
		limited, w.release = context.WithDeadlineCause(r.caller, r.deadline, r.tookTooLong())
	}
	w.soft, w.cancel = context.WithCancelCause(limited)
	w.hard, w.kill = context.WithCancelCause(context.WithoutCancel(r.caller))
	w.forget = context.AfterFunc(w.soft, func() {
		timer := time.NewTimer(r.grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			w.kill(context.Cause(w.soft))
		case <-w.hard.Done():
		}
	})
	return w
}

func (w *watch) finish() {
	w.forget()
	w.cancel(nil)
	w.kill(nil)
	w.release()
}

// Finish ends the contexts of a call that has ended.
func (r *Call) Finish() {
	if w := r.watching.Load(); w != nil || !r.watching.CompareAndSwap(nil, ended) {
		r.watched().finish()
	}
}

// ended is the watch of calls that have ended.
var ended = func() *watch {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(nil)
	nothing := func(error) {}
	return &watch{soft: ctx, hard: ctx, cancel: nothing, kill: nothing, forget: func() bool { return false }, release: func() {}}
}()

// isDue reports whether soft should have ended by now.
func (r *Call) isDue() bool {
	return r.caller.Err() != nil || r.limited && time.Until(r.deadline) <= 0
}

// WasStopped reports whether somebody may have learned that soft has ended.
func (r *Call) WasStopped() bool {
	w := r.watching.Load()
	return w != nil && w.soft.Err() != nil || r.caller.Err() != nil
}

// seen returns the watch, nil if nobody waits and the call is not over.
func (r *Call) seen() *watch {
	if w := r.watching.Load(); w != nil {
		return w
	}
	if r.isDue() {
		return r.watched()
	}
	return nil
}

// softContext is [Call.Soft]. It is derived from the caller's.
type softContext Call

func (c *softContext) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *softContext) Done() <-chan struct{} { return (*Call)(c).watched().soft.Done() }

func (c *softContext) Err() error {
	if w := (*Call)(c).seen(); w != nil {
		return w.soft.Err()
	}
	return nil
}

// Value returns the caller's values, and the ones of package context, so that derived contexts need no goroutine.
func (c *softContext) Value(key any) any {
	if w := c.watching.Load(); w != nil {
		if v := w.soft.Value(key); v != nil {
			return v
		}
	}
	return c.caller.Value(key)
}

// hardContext is [Call.Hard]. It does not end with the caller's.
type hardContext Call

func (c *hardContext) Deadline() (deadline time.Time, ok bool) { return deadline, false }

func (c *hardContext) Done() <-chan struct{} { return (*Call)(c).watched().hard.Done() }

func (c *hardContext) Err() error {
	if w := (*Call)(c).seen(); w != nil {
		return w.hard.Err()
	}
	return nil
}

// InstanceKey is the key of the instance in the hard context of its call.
type InstanceKey struct{}

func (c *hardContext) Value(key any) any {
	switch key.(type) {
	case InstanceKey:
		return c.instance
	case wasi.SystemKey:
		return c.system
	}
	if w := c.watching.Load(); w != nil {
		if v := w.hard.Value(key); v != nil {
			return v
		}
	}
	return c.caller.Value(key)
}
