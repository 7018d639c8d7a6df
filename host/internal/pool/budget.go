package pool

import (
	"context"
	"errors"
	"sync"
)

// Budget is the memory of all instances of a host. It counts the size of linear memories,
// whether they share pages or not. Nil has no bound.
//
// A provider may hold half of the memory that the others leave, so there is always room for
// one more, and busy providers come to equal shares. A provider that needs more than is free
// first ends idle instances of the providers that hold the most. Then it waits, behind
// providers that hold less, as long as some instance is working and will free memory. Then it
// fails. An instance that waits itself, for memory or for resources that a component
// registers, does not count as working, so no two wait for each other.
type Budget struct {
	total uint64

	mu   sync.Mutex
	used uint64
	held map[Owner]uint64
	// working counts the calls that are at work.
	working int
	waiting map[*claim]struct{}
	// changed is closed, and made anew, when a claim may come to another end now.
	changed chan struct{}
}

// Owner is who holds memory: a [Pool].
type Owner interface {
	// HasIdle reports whether the owner has an idle instance.
	HasIdle() bool
	// EndOldest ends an idle instance, if there is one, which gives its memory back.
	EndOldest()
}

// ErrNoMemory is memory that would be more than there is, with nobody to free some.
var ErrNoMemory = errors.New("there is no more memory for guests")

// claim is memory that an owner waits for.
type claim struct {
	owner Owner
	bytes uint64
}

// NewBudget returns the budget of a host that has so many bytes for guests.
func NewBudget(total uint64) *Budget {
	return &Budget{
		total: total, held: make(map[Owner]uint64),
		waiting: make(map[*claim]struct{}), changed: make(chan struct{}),
	}
}

// Enter and Leave are the begin and the end of a call, or of its being at work.
func (b *Budget) Enter() { b.work(1) }
func (b *Budget) Leave() { b.work(-1) }

func (b *Budget) work(more int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.working += more
	b.tell()
}

func (b *Budget) tell() {
	if len(b.waiting) > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// Take waits for memory, for a call that is at work. The error is [ErrNoMemory], or the context's.
func (b *Budget) Take(ctx context.Context, o Owner, bytes uint64) error {
	if b == nil || bytes == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &claim{o, bytes}
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
			b.held[o] += bytes
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case bytes > b.total/2:
			return ErrNoMemory
		}
		if !fits && b.endIdle() {
			continue
		}
		if b.working == 0 && !b.someFit() {
			return ErrNoMemory
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

// fits reports whether there is room for a claim.
func (b *Budget) fits(c *claim) bool {
	own := b.held[c.owner]
	left := b.total - (b.used - own)
	return own+c.bytes <= left/2
}

// isNext reports whether no other claim that there is room for comes first.
func (b *Budget) isNext(c *claim) bool {
	for other := range b.waiting {
		if b.held[other.owner] < b.held[c.owner] && b.fits(other) {
			return false
		}
	}
	return true
}

func (b *Budget) someFit() bool {
	for c := range b.waiting {
		if b.fits(c) {
			return true
		}
	}
	return false
}

// endIdle ends an idle instance of an owner that holds the most. False: there is none.
func (b *Budget) endIdle() bool {
	var largest Owner
	for o := range b.held {
		if o.HasIdle() && (largest == nil || b.held[o] > b.held[largest]) {
			largest = o
		}
	}
	if largest == nil {
		return false
	}
	b.working++ // others may wait for the freed memory
	b.mu.Unlock()
	largest.EndOldest()
	b.mu.Lock()
	b.working--
	return true
}

// Free gives memory back.
func (b *Budget) Free(o Owner, bytes uint64) {
	if b == nil || bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	if b.held[o] -= bytes; b.held[o] == 0 {
		delete(b.held, o)
	}
	b.tell()
}

// Held returns how much an owner holds.
func (b *Budget) Held(o Owner) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[o]
}

// Used returns how much all owners hold.
func (b *Budget) Used() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
