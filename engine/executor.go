package engine

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/abi"
)

// ErrStopped answers registrations that come after the deployment was stopped,
// by a failure or by the user. It says nothing that was not said before.
var ErrStopped = abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped")

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
// what failed; a preview goes on to report all that would go wrong.
func (e *executor) fail(err error) {
	e.mu.Lock()
	e.failures = append(e.failures, err)
	e.mu.Unlock()
	if !e.d.dryRun {
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
		if e.stopped() {
			return ErrStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.d.perform(ctx, s); err != nil {
			e.fail(err)
			return err
		}
	}
	return nil
}

// runAll carries out chains in parallel and waits for all of them.
func (e *executor) runAll(ctx context.Context, chains [][]*step) {
	var wg sync.WaitGroup
	for _, c := range chains {
		wg.Go(func() { _ = e.run(ctx, c) }) // failures are recorded by run
	}
	wg.Wait()
}
