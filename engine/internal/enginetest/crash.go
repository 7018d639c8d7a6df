package enginetest

import (
	"context"
	"errors"
	"sync"

	"github.com/husk-dev/husk/engine/state"
)

// ErrCrash is the error of a Crash store from the crash on.
var ErrCrash = errors.New("the process was killed")

// Crash is a store whose process dies at one of its writes: later ones do not reach the store below.
type Crash struct {
	state.Store
	// At is the write, counted from 1, at which it dies; 0 for never.
	At int
	// Late says that the fatal write is still done.
	Late bool

	mu     sync.Mutex
	writes int
	dead   bool
}

// Writes returns the number of writes so far.
func (c *Crash) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// Lease implements state.Store.
func (c *Crash) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, err := c.Store.Lease(ctx, name, holder)
	return &crashLease{l, c}, err
}

// LeaseAndLoad implements state.Store.
func (c *Crash) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, c, name, holder)
}

func (c *Crash) write(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return ErrCrash
	}
	c.writes++
	if c.writes != c.At {
		return do()
	}
	c.dead = true
	if c.Late {
		return errors.Join(do(), ErrCrash)
	}
	return ErrCrash
}

type crashLease struct {
	state.Lease
	crash *Crash
}

func (l *crashLease) Append(ctx context.Context, sequence uint64, record []byte) error {
	return l.crash.write(func() error { return l.Lease.Append(ctx, sequence, record) })
}

func (l *crashLease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	return l.crash.write(func() error { return l.Lease.Checkpoint(ctx, sequence, checkpoint) })
}

// Release keeps the lease after a crash, as a process that died would until the
// store finds out.
func (l *crashLease) Release(ctx context.Context) error {
	l.crash.mu.Lock()
	dead := l.crash.dead
	l.crash.mu.Unlock()
	if dead {
		return nil
	}
	return l.Lease.Release(ctx)
}
