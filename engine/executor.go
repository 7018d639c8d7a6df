package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

// ErrStopped answers registrations that come after the deployment was stopped,
// by a failure or by the user. It says nothing that was not said before.
var ErrStopped = abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped")

// errProtected is why a resource is not deleted.
var errProtected = errors.New("the resource is protected: set its protect option to false, run husk up, and then delete it")

// skipped answers a registration that needs a resource that failed, in a run that
// goes on without it.
type skipped struct{ of urn.URN }

func (e *skipped) Error() string {
	return fmt.Sprintf("skipped, since %s %q failed", e.of.Type(), e.of.Name())
}

// executor carries out chains of steps. The steps of a chain run one after the
// other, chains in parallel, at most so many as there are slots.
type executor struct {
	d     *deployment
	slots chan struct{}
	asked <-chan struct{} // closed by the user
	stop  chan struct{}   // closed by a failure
	once  sync.Once

	mu       sync.Mutex
	failures []error
}

func newExecutor(d *deployment, parallel int) *executor {
	return &executor{d: d, slots: make(chan struct{}, parallel), asked: d.Stop, stop: make(chan struct{})}
}

// halt lets running steps finish and starts no others.
func (e *executor) halt() { e.once.Do(func() { close(e.stop) }) }

func (e *executor) stopped() bool {
	select {
	case <-e.stop:
		return true
	case <-e.asked:
		return true
	default:
		return false
	}
}

// fail records a failure. It halts an update, whose later steps may depend on
// what failed, unless the user wants to go on without it; a preview goes on to
// report all that would go wrong. A protected resource that is not deleted stops
// nothing: that is what its protection is for.
func (e *executor) fail(err error) {
	e.mu.Lock()
	e.failures = append(e.failures, err)
	e.mu.Unlock()
	if !e.d.dryRun && !e.d.ContinueOnError && !errors.Is(err, errProtected) {
		e.halt()
	}
}

func (e *executor) failed() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failures
}

// run carries out a chain and returns its failure.
func (e *executor) run(ctx context.Context, chain []*step) error {
	if len(chain) == 0 {
		return nil
	}
	if done := chain[0].finished; done != nil {
		defer close(done)
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-e.stop:
		return ErrStopped
	case <-e.asked:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range chain {
		if s.op == "" {
			continue
		}
		if e.stopped() {
			return ErrStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for next := s; next != nil; next = next.next {
			if err := e.d.perform(ctx, next); err != nil {
				e.fail(err)
				return err
			}
			s.new = next.new
		}
	}
	return nil
}

// runAll carries out chains in parallel and waits for all of them. There are no more
// goroutines than slots, however many chains. One of them is the caller's, so that one
// chain after another is carried out without handing them to other threads.
func (e *executor) runAll(ctx context.Context, chains [][]*step) {
	var wg sync.WaitGroup
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(chains)); i = next.Add(1) - 1 {
			_ = e.run(ctx, chains[i]) // failures are recorded by run
		}
	}
	for range min(len(chains), cap(e.slots)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
