package call

import (
	"context"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
)

// pollInterval is how often a module that waits asks the host whether the call was cancelled.
const pollInterval = 20 * time.Millisecond

// Context is the context of one call in a module, which has one thread and cannot be interrupted. It
// asks the host for its end in Err, and regularly while somebody waits.
type Context struct {
	context.Context // for its values
	cancelled       func(context.Context) bool
	deadline        time.Time // zero for none
	urn             urn.URN   // as of WithURN, empty for none

	mu   sync.Mutex
	done chan struct{} // made when somebody waits
	err  error
}

// Contexts makes contexts some at a time, as each call of a module needs one.
type Contexts struct {
	spare []Context
}

// chunk is how many are made at a time: a context that is kept keeps so many.
const chunk = 8

// New returns the context of a call that begins. u is the resource of the call, empty for none; a
// timeout of 0 is none.
func (s *Contexts) New(values context.Context, cancelled func(context.Context) bool, u urn.URN, timeout time.Duration) *Context {
	if len(s.spare) == 0 {
		s.spare = make([]Context, chunk)
	}
	c := &s.spare[0]
	s.spare = s.spare[1:]
	c.Context, c.cancelled, c.urn = values, cancelled, u
	if timeout > 0 {
		c.deadline = time.Now().Add(timeout)
	}
	return c
}

func (c *Context) Value(key any) any {
	if _, ok := key.(urnKey); ok && c.urn != "" {
		return c.urn
	}
	return c.Context.Value(key)
}

func (c *Context) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
	case c.cancelled(c.Context):
		c.finish(context.Canceled)
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		c.finish(context.DeadlineExceeded)
	}
	return c.err
}

func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			go c.watch()
		}
	}
	return c.done
}

// End ends the context with its call.
func (c *Context) End() {
	c.mu.Lock()
	if c.err == nil {
		c.finish(context.Canceled)
	}
	c.mu.Unlock()
}

// finish is called once, with the lock held.
func (c *Context) finish(err error) {
	c.err = err
	if c.done != nil {
		close(c.done)
	}
}

// watch runs while the module does, which is only during calls, until the context ends.
func (c *Context) watch() {
	for c.Err() == nil {
		time.Sleep(pollInterval)
	}
}
