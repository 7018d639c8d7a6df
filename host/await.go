package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/guest"
)

// awaiting is what the host does for a guest that may never end: a disk, a server, or a function
// of the program that embeds the host need not answer, and cannot be interrupted. So it runs in a
// goroutine of its own, and the guest's goroutine leaves it behind once the call must end.
//
// What is left behind may still use the instance. It goes on to belong to the instance, which is
// freed when that ends.
type awaiting struct {
	// state tells who of the two is first: what is being done, or the end of the call.
	state atomic.Int32
	// work has what is to be done, for a goroutine that is kept, as its stack has grown. It ends with
	// the instance.
	work chan func()
	done chan struct{}
	// panicked is what it panicked with.
	panicked any
	patience *time.Timer
}

const (
	isAwaited int32 = iota
	hasEnded
	isAbandoned
)

const (
	// patience is how long the guest's goroutine waits before it looks for the end of the call, as
	// that takes longer than most of what it waits for.
	patience = time.Millisecond
	// farewell is how long it waits for what ends with the call, as most does.
	farewell = time.Second
)

// await does something for the guest. name is the function that the guest called. If that has
// not ended when the call must, await panics with the reason, as all functions of the host do
// then.
func (i *instance) await(name string, do func()) {
	if i.answers(name) {
		do()
		return
	}
	a := &i.awaiting
	if a.work == nil {
		a.work, a.done, a.patience = make(chan func()), make(chan struct{}, 1), time.NewTimer(patience)
		go i.doAwaited()
	} else {
		a.patience.Reset(patience)
	}
	a.state.Store(isAwaited)
	a.work <- do
	select {
	case <-a.done:
		a.patience.Stop()
	case <-a.patience.C:
		i.awaitEnd(name)
	}
	if p := a.panicked; p != nil {
		a.panicked = nil
		panic(p)
	}
}

// answers reports whether a function always ends with its call: one that only asks, and those that
// use the system's clock or random numbers.
func (i *instance) answers(name string) bool {
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

// recovered calls a function and returns what it panics with.
func recovered(do func()) (p any) {
	defer func() { p = recover() }()
	do()
	return nil
}

// awaitEnd waits for what the guest waits for, or abandons it at the end of the call.
func (i *instance) awaitEnd(name string) {
	a, hard := &i.awaiting, i.call.Hard()
	select {
	case <-a.done:
		return
	case <-hard.Done():
		a.patience.Reset(farewell)
	}
	select {
	case <-a.done:
		a.patience.Stop()
		return
	case <-a.patience.C:
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
	go s.logger.Warn(fmt.Sprintf("the %s waited for %s of the host, which did not end when the call did, and was abandoned", s.module.World, guest.FunctionName(name)))
	panic(context.Cause(hard))
}

// conclude does something for a call that has its outcome. It reports whether that has ended
// within the grace.
func (i *instance) conclude(name string, do func()) (ended bool) {
	i.call.Cancel(errEnded)
	defer func() {
		if i.call.Abandoned != "" {
			_ = recover()
		}
	}()
	i.await(name, do)
	return true
}

// errEnded is the cause of the end of what a call has left open.
var errEnded = errors.New("the call has ended")
