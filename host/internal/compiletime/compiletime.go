// Package compiletime bounds compilations by the processor time that they take, so that they do not fail because the
// machine does something else. wazero's workers are goroutines, whose threads cannot be told from others. So a compilation is
// charged its share of the process's time while it runs: as much as each other compilation in the process, and no more than its
// workers can use. Where the system does not tell what a process uses, the time that passes is charged.
package compiletime

import (
	"context"
	"sync"
	"time"
)

const (
	// patience is how many times the limit may pass, whatever is used of it: a compilation that hangs uses nothing.
	patience = 10
	// period is how often the time is looked at.
	period = 50 * time.Millisecond
)

// running are the compilations of the process.
var running struct {
	sync.Mutex
	count int
}

// Bound returns a context that ends with the cause once a compilation by so many workers has taken more than the limit.
// The returned function ends the compilation, and reports whether it has taken more.
func Bound(ctx context.Context, limit time.Duration, workers int, cause error) (context.Context, func() (exceeded bool)) {
	ctx, cancel := context.WithCancelCause(ctx)
	m := &meter{limit: limit, workers: workers, processor: processorTime, now: time.Now, others: change(1)}
	m.begin()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				if m.step(change(0)) {
					cancel(cause)
					return
				}
			}
		}
	}()
	return ctx, func() bool {
		close(stop)
		<-stopped
		exceeded := m.step(change(-1) + 1)
		cancel(nil)
		return exceeded
	}
}

// change adds to the compilations that are running, and returns how many there are.
func change(by int) int {
	running.Lock()
	defer running.Unlock()
	running.count += by
	return running.count
}

// meter measures the processor time of a compilation.
type meter struct {
	limit   time.Duration
	workers int
	// processor returns the processor time of the process, ok false if it is unknown.
	processor func() (used time.Duration, ok bool)
	now       func() time.Time

	began, last time.Time
	used        time.Duration
	known       bool
	others      int
	taken       time.Duration
}

func (m *meter) begin() {
	m.began = m.now()
	m.last = m.began
	m.used, m.known = m.processor()
}

// step charges the time since the last step, shared among so many compilations, and reports whether it exceeds the limit.
func (m *meter) step(running int) bool {
	now := m.now()
	passed := now.Sub(m.last)
	charged := passed
	if used, ok := m.processor(); ok && m.known {
		// Some may have ended, or begun, since the last step.
		share := (used - m.used) / time.Duration(max(1, running, m.others))
		charged = min(share, time.Duration(m.workers)*passed)
		m.used = used
	}
	m.last, m.others = now, running
	m.taken += charged
	return m.taken > m.limit || now.Sub(m.began) > patience*m.limit
}
