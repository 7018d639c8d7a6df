// Package pool says when a guest may run: how many calls of a provider run and wait ([Pool]), how much memory
// the guests of all providers have together ([Budget]), and whether a provider crashes too often
// ([Health]).
package pool

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Instance is a guest in a pool. Close frees it.
type Instance interface {
	comparable
	Close()
}

// Pool holds the idle instances of a provider, and bounds how many are busy. The
// instance that was used last is used next, so that its memory is still warm.
type Pool[I Instance] struct {
	// slots has an element for each call that is running.
	slots chan struct{}
	// ended is closed by close.
	ended chan struct{}
	// waiting has an element for each call that waits for one of the slots.
	waiting chan struct{}
	// budget learns of the calls that run, and idling counts the idle instances of the host.
	budget *Budget
	idling *atomic.Int64

	// freed has an element for each instance or processor that became free while calls waited for one.
	freed chan struct{}

	mu     sync.Mutex
	idle   []idleInstance[I]
	closed bool
	// computing counts the running calls whose guests compute: all but the ones between [Pool.Pause] and [Pool.Resume]. Calls with
	// instances that left the pool count, too. waiters counts the calls that wait for one of them.
	computing, waiters int
}

// patience is how long a call waits for the instance of another one while each processor has a guest that computes. A new
// instance would not end sooner, and takes megabytes; guests that compute for long still leave room for others.
const patience = 200 * time.Millisecond

type idleInstance[I Instance] struct {
	instance I
	// stale is set if the instance was idle when stale instances were last looked for.
	stale bool
}

// New makes a pool for so many calls at once, and so many more that wait. idling counts the idle instances
// of all pools.
func New[I Instance](size, waiting int, b *Budget, idling *atomic.Int64) *Pool[I] {
	return &Pool[I]{
		slots: make(chan struct{}, size), ended: make(chan struct{}), waiting: make(chan struct{}, waiting),
		freed: make(chan struct{}, size), budget: b, idling: idling,
	}
}

var (
	// ErrCrowded is a call that comes when too many are waiting.
	ErrCrowded = errors.New("too many calls are waiting")
	// ErrClosed is a call of a provider or policy pack that was closed.
	ErrClosed = errors.New("it is closed")
)

// Take waits until one more call may run, and returns an idle instance for it, the zero value if it is to have
// a new one. Put or Leave ends the call.
func (p *Pool[I]) Take(ctx context.Context) (i I, err error) {
	if err := p.enter(ctx); err != nil {
		return i, err
	}
	if i, err = p.choose(ctx); err != nil {
		<-p.slots
		return i, err
	}
	p.budget.Enter()
	return i, nil
}

// Begin begins a call with an instance that left the pool, such as that of a stream. The call has no slot, and does not wait.
func (p *Pool[I]) Begin() {
	p.budget.Enter()
	p.Resume()
}

// End ends a [Pool.Begin].
func (p *Pool[I]) End() {
	p.budget.Leave()
	p.Pause()
}

// choose returns the idle instance that was used last, the zero value if the call is to have a new one.
func (p *Pool[I]) choose(ctx context.Context) (i I, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok, err := p.tryTake(false); ok || err != nil {
		return i, err
	}
	p.waiters++
	defer func() { p.waiters-- }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		p.mu.Unlock()
		expired := false
		select {
		case <-p.freed:
		case <-timer.C:
			expired = true
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-p.ended:
			err = ErrClosed
		}
		p.mu.Lock()
		if err != nil {
			return i, err
		}
		if i, ok, err := p.tryTake(expired); ok || err != nil {
			return i, err
		}
	}
}

// tryTake begins a call with the idle instance that was used last. If there is none, the call begins without one if a processor is free or
// the call has waited long enough, and else ok is false.
func (p *Pool[I]) tryTake(waited bool) (i I, ok bool, err error) {
	if p.closed {
		return i, false, ErrClosed
	}
	if last := len(p.idle) - 1; last >= 0 {
		i = p.idle[last].instance
		p.idle[last] = idleInstance[I]{} // it may end before another one takes its place
		p.idle = p.idle[:last]
		p.idling.Add(-1)
	} else if p.computing >= runtime.GOMAXPROCS(0) && !waited {
		return i, false, nil
	}
	p.computing++
	return i, true, nil
}

// Pause begins work of the host that a guest waits for. A waiting call looks again.
func (p *Pool[I]) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.computing--
	if p.waiters > 0 {
		select {
		case p.freed <- struct{}{}:
		default: // as many will look again
		}
	}
}

// Resume ends a [Pool.Pause].
func (p *Pool[I]) Resume() {
	p.mu.Lock()
	p.computing++
	p.mu.Unlock()
}

// enter waits for a slot.
func (p *Pool[I]) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return ErrCrowded
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return ErrClosed
	}
}

// Put ends a call and keeps the instance. False: the pool is closed, and the call has
// not ended.
func (p *Pool[I]) Put(i I) bool {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, idleInstance[I]{instance: i})
		p.idling.Add(1)
	}
	p.mu.Unlock()
	if !closed {
		p.Leave()
	}
	return !closed
}

// Leave ends a call whose instance is gone.
func (p *Pool[I]) Leave() {
	p.End()
	<-p.slots
}

// HasIdle implements [Owner].
func (p *Pool[I]) HasIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle) > 0
}

// EndOldest implements [Owner]. It ends the idle instance that was used first.
func (p *Pool[I]) EndOldest() {
	p.mu.Lock()
	if len(p.idle) == 0 {
		p.mu.Unlock()
		return
	}
	oldest := p.idle[0].instance
	p.idle = slices.Delete(p.idle, 0, 1)
	p.idling.Add(-1)
	p.mu.Unlock()
	oldest.Close()
}

// TakeIdle returns all idle instances, which are the caller's then.
func (p *Pool[I]) TakeIdle() []I {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takeFirst(len(p.idle))
}

// TakeStale returns the instances that were idle since it was called last, which are the
// caller's then, and whether others are idle.
func (p *Pool[I]) TakeStale() (stale []I, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Those that were used last are at the end, and are not stale.
	n := 0
	for n < len(p.idle) && p.idle[n].stale {
		n++
	}
	stale = p.takeFirst(n)
	for i := range p.idle {
		p.idle[i].stale = true
	}
	return stale, len(p.idle) > 0
}

func (p *Pool[I]) takeFirst(n int) (taken []I) {
	for _, i := range p.idle[:n] {
		taken = append(taken, i.instance)
	}
	p.idle = slices.Delete(p.idle, 0, n)
	p.idling.Add(-int64(n))
	return taken
}

// Close refuses further calls and returns the idle instances.
func (p *Pool[I]) Close() []I {
	p.mu.Lock()
	p.closed = true
	close(p.ended)
	p.mu.Unlock()
	return p.TakeIdle()
}
