package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// pool holds the idle instances of a provider, and bounds how many are busy. The
// instance that was used last is used next, so that its memory is still warm.
type pool struct {
	// slots has an element for each call that is running.
	slots chan struct{}
	// ended is closed by close.
	ended chan struct{}
	// waiting has an element for each call that waits for one of the slots.
	waiting chan struct{}
	// budget learns of the calls that run, and idling counts the idle instances of the host.
	budget *budget
	idling *atomic.Int64

	mu     sync.Mutex
	idle   []*instance
	closed bool
}

// newPool makes a pool for so many calls at once, and so many more that wait.
func newPool(size, waiting int, b *budget, idling *atomic.Int64) *pool {
	return &pool{
		slots: make(chan struct{}, size), ended: make(chan struct{}), waiting: make(chan struct{}, waiting),
		budget: b, idling: idling,
	}
}

// errCrowded is a call that comes when too many are waiting.
var errCrowded = errors.New("too many calls are waiting")

// take waits until one more call may run, and answers an idle instance for it, nil
// where there is none. put or leave ends the call.
func (p *pool) take(ctx context.Context) (*instance, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	p.budget.enter()
	i, err := p.last()
	if err != nil {
		p.leave()
	}
	return i, err
}

// last takes the idle instance that was used last, nil where there is none.
func (p *pool) last() (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if len(p.idle) == 0 {
		return nil, nil
	}
	last := len(p.idle) - 1
	i := p.idle[last]
	p.idle[last] = nil // it may end before another one takes its place
	p.idle = p.idle[:last]
	p.idling.Add(-1)
	i.stale = false
	return i, nil
}

// enter waits for a slot.
func (p *pool) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return errCrowded
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return errClosed
	}
}

// put ends a call and keeps the instance. False: the pool is closed, and the call has
// not ended.
func (p *pool) put(i *instance) bool {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, i)
		p.idling.Add(1)
	}
	p.mu.Unlock()
	if !closed {
		p.leave()
	}
	return !closed
}

// leave ends a call whose instance is gone.
func (p *pool) leave() {
	p.budget.leave()
	<-p.slots
}

func (p *pool) hasIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle) > 0
}

// endOldest ends the idle instance that was used first, if there is one.
func (p *pool) endOldest() {
	p.mu.Lock()
	if len(p.idle) == 0 {
		p.mu.Unlock()
		return
	}
	oldest := p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	p.idling.Add(-1)
	p.mu.Unlock()
	oldest.close()
}

// takeIdle answers all idle instances, which are the caller's then.
func (p *pool) takeIdle() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle
	p.idle = nil
	p.idling.Add(-int64(len(idle)))
	return idle
}

// close refuses further calls and answers the idle instances.
func (p *pool) close() []*instance {
	p.mu.Lock()
	p.closed = true
	close(p.ended)
	p.mu.Unlock()
	return p.takeIdle()
}
