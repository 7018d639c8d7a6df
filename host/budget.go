package host

import (
	"context"
	"sync"
)

// WithTotalMemory bounds the memory of all instances of the host together, in bytes. See
// [DefaultTotalMemory].
func (c Config) WithTotalMemory(bytes uint64) Config { c.most.totalMemory = bytes; return c }

// budget is the memory of all instances of a host. What is counted is the size of linear
// memories, whether they share pages or not. Nil has no bound.
//
// A provider may hold half of what the others leave, so that there is always room for one
// more, and those that are all busy come to equal shares. Whoever needs more than there is
// first has idle instances ended, of those that hold the most; then it waits as long as
// somebody is at work who will free memory, and behind those that hold less; then it fails.
// An instance that waits itself, for memory or for resources that a component registers, is
// not at work, so that nobody waits for one that waits for him.
type budget struct {
	total uint64

	mu   sync.Mutex
	used uint64
	held map[*sandbox]uint64
	// working counts the calls that are at work.
	working int
	waiting map[*claim]struct{}
	// changed is closed, and made anew, where a claim may come to another end now.
	changed chan struct{}
}

// claim is memory that a sandbox waits for.
type claim struct {
	sandbox *sandbox
	bytes   uint64
}

func newBudget(total uint64) *budget {
	return &budget{
		total: total, held: make(map[*sandbox]uint64),
		waiting: make(map[*claim]struct{}), changed: make(chan struct{}),
	}
}

// enter and leave are the begin and the end of a call, or of its being at work.
func (b *budget) enter() { b.work(1) }
func (b *budget) leave() { b.work(-1) }

func (b *budget) work(more int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.working += more
	b.tell()
}

func (b *budget) tell() {
	if len(b.waiting) > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// take waits for memory, for a call that is at work. The error is an *[ExceededError], or
// the context's.
func (b *budget) take(ctx context.Context, s *sandbox, bytes uint64) error {
	if b == nil || bytes == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &claim{s, bytes}
	b.waiting[c] = struct{}{}
	b.working--
	b.tell()
	defer func() {
		delete(b.waiting, c)
		b.working++
		b.tell()
	}()
	for {
		fits := b.fits(c)
		switch {
		case fits && b.isNext(c):
			b.used += bytes
			b.held[s] += bytes
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case bytes > b.total/2:
			return &ExceededError{Limit: LimitTotalMemory, Most: b.total}
		}
		if !fits && b.endIdle() {
			continue
		}
		if b.working == 0 && !b.someFit() {
			return &ExceededError{Limit: LimitTotalMemory, Most: b.total}
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
}

// fits tells whether there is room for a claim.
func (b *budget) fits(c *claim) bool {
	own := b.held[c.sandbox]
	left := b.total - (b.used - own)
	return own+c.bytes <= left/2
}

// isNext tells whether no other claim that there is room for comes first.
func (b *budget) isNext(c *claim) bool {
	for other := range b.waiting {
		if b.held[other.sandbox] < b.held[c.sandbox] && b.fits(other) {
			return false
		}
	}
	return true
}

func (b *budget) someFit() bool {
	for c := range b.waiting {
		if b.fits(c) {
			return true
		}
	}
	return false
}

// endIdle ends an idle instance of a sandbox that holds the most. False: there is none.
func (b *budget) endIdle() bool {
	var largest *sandbox
	for s := range b.held {
		if s.instances.hasIdle() && (largest == nil || b.held[s] > b.held[largest]) {
			largest = s
		}
	}
	if largest == nil {
		return false
	}
	b.working++ // others may wait for what is freed now
	b.mu.Unlock()
	largest.instances.endOldest()
	b.mu.Lock()
	b.working--
	return true
}

// free gives memory back.
func (b *budget) free(s *sandbox, bytes uint64) {
	if b == nil || bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	if b.held[s] -= bytes; b.held[s] == 0 {
		delete(b.held, s)
	}
	b.tell()
}

// of is how much a sandbox holds, or all of them for nil.
func (b *budget) of(s *sandbox) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s == nil {
		return b.used
	}
	return b.held[s]
}
