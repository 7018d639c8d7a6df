package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/guestcall"
)

// blockingCall is the work that the host does for a guest and cannot interrupt: a disk, a server, or a function of the embedding
// program may never return. It runs in a goroutine of its own, which the guest's goroutine abandons when the call must end. The
// abandoned goroutine holds the instance until it returns.
type blockingCall struct {
	// state is a constant below: the work and the end of the call race to set it.
	state atomic.Int32
	// work feeds the goroutine, which lives as long as the instance, because its stack has grown.
	work chan func()
	done chan struct{}
	// panicked is the value of its panic.
	panicked any
	timer    *time.Timer
}

const (
	isAwaited int32 = iota
	hasEnded
	isAbandoned
)

const (
	// pollAfter is how long the guest's goroutine waits before it also watches for the end of the call.
	pollAfter = time.Millisecond
	// abandonAfter is how long it waits for work that ends with the call, as most does.
	abandonAfter = time.Second
)

// await does something for the guest, in the function of that name. It panics with the reason if the call
// must end before.
func (i *instance) await(name string, do func()) {
	i.sandbox.instances.Pause()
	defer i.sandbox.instances.Resume()
	if i.endsAtOnce(name) {
		do()
		return
	}
	a := &i.awaiting
	if a.work == nil {
		a.work, a.done, a.timer = make(chan func()), make(chan struct{}, 1), time.NewTimer(pollAfter)
		go i.doAwaited()
	} else {
		a.timer.Reset(pollAfter)
	}
	a.state.Store(isAwaited)
	a.work <- do
	select {
	case <-a.done:
		a.timer.Stop()
	case <-a.timer.C:
		i.awaitEnd(name)
	}
	if p := a.panicked; p != nil {
		a.panicked = nil
		panic(p)
	}
}

// endsAtOnce reports whether a function always ends with its call.
func (i *instance) endsAtOnce(name string) bool {
	config := &i.sandbox.module.host.config
	switch name {
	case "poll_oneoff":
		return !config.otherClock
	case "random_get":
		return config.random == nil
	}
	return strings.HasPrefix(name, canon.Package+"/control@")
}

// doAwaited does one thing after the other, until one is abandoned or the instance ends.
func (i *instance) doAwaited() {
	a := &i.awaiting
	for do := range a.work {
		p := recovered(do)
		if a.state.Load() == isAwaited {
			a.panicked = p
		}
		if !a.state.CompareAndSwap(isAwaited, hasEnded) {
			i.Close()
			return
		}
		a.done <- struct{}{}
	}
}

// recovered calls a function and returns the value of its panic.
func recovered(do func()) (p any) {
	defer func() { p = recover() }()
	do()
	return nil
}

// awaitEnd waits for the operation that the guest waits for, or abandons it at the end of the call.
func (i *instance) awaitEnd(name string) {
	a, hard := &i.awaiting, i.call.Hard()
	select {
	case <-a.done:
		return
	case <-hard.Done():
		a.timer.Reset(abandonAfter)
	}
	select {
	case <-a.done:
		a.timer.Stop()
		return
	case <-a.timer.C:
	}
	i.holders.Add(1) // which it is itself
	if !a.state.CompareAndSwap(isAwaited, isAbandoned) {
		i.holders.Add(-1)
		<-a.done
		return
	}
	s := i.sandbox
	i.call.Abandoned = name
	s.counters.count(func(c *Stats) { c.Abandoned++ })
	s.module.host.abandoned.Add(1)
	s.module.host.live.Done()
	// The log may be what does not answer.
	go s.logger.Warn(fmt.Sprintf("the %s waited for %s of the host, which did not end when the call did, and was abandoned", s.module.World, guestcall.FunctionName(name)))
	panic(context.Cause(hard))
}

// finish does something for a call that has its outcome, and reports whether that ended in the grace.
func (i *instance) finish(name string, do func()) (ended bool) {
	i.call.Cancel(errEnded)
	defer func() {
		if i.call.Abandoned != "" {
			_ = recover()
		}
	}()
	i.await(name, do)
	return true
}

// errEnded is the cause that ends the operations which a call has left open.
var errEnded = errors.New("the call has ended")
