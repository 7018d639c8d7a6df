package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// executor runs the steps of a chain one after the other, and chains in parallel, one for each slot.
type executor struct {
	slots    chan struct{}
	failures *failures
	execute  func(context.Context, *step) error
}

func newExecutor(parallel int, failures *failures, execute func(context.Context, *step) error) *executor {
	return &executor{slots: make(chan struct{}, parallel), failures: failures, execute: execute}
}

// run carries out a chain and returns its failure.
func (e *executor) run(ctx context.Context, chain []*step) error {
	if len(chain) == 0 {
		return nil
	}
	if done := chain[0].finished; done != nil {
		defer done()
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-e.failures.stop:
		return ErrStopped
	case <-e.failures.asked:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range chain {
		if s.op == "" {
			continue
		}
		if e.failures.stopped() {
			return ErrStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for next := s; next != nil; next = next.next {
			if err := e.execute(ctx, next); err != nil {
				e.failures.add(err)
				return err
			}
			s.new = next.new
		}
	}
	return nil
}

// runAll runs chains in parallel and waits for them. There are no more goroutines than slots, and the
// caller's is one of them, so that a single slot needs no other threads.
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

// ErrStopped is the error of registrations after a failure or the user stopped the deployment. Reporting it adds nothing.
var ErrStopped = abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped")

// errProtected is why a resource is not deleted.
var errProtected = errors.New("the resource is protected: set its protect option to false, run husk up, and then delete it")

// skippedError is the error of a registration that needs a resource which failed, in a run that continues.
type skippedError struct{ dependency urn.URN }

func (e *skippedError) Error() string {
	return fmt.Sprintf("skipped, since %s %q failed", e.dependency.Type(), e.dependency.Name())
}

// failures holds the failures of a run, and whether the run goes on.
type failures struct {
	asked <-chan struct{} // closed by the user
	stop  chan struct{}   // closed by a failure
	once  sync.Once
	// tolerant has the run continue after a failure: a preview reports all that would go wrong, and the
	// user may want to continue without what failed.
	tolerant bool

	mu   sync.Mutex
	errs []error
}

func newFailures(asked <-chan struct{}, tolerant bool) *failures {
	return &failures{asked: asked, stop: make(chan struct{}), tolerant: tolerant}
}

// add records a failure. Unless the run is tolerant, running steps finish and no others start. A protected
// resource that is not deleted stops nothing.
func (f *failures) add(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
	if !f.tolerant && !errors.Is(err, errProtected) {
		f.halt()
	}
}

// halt has no more steps start.
func (f *failures) halt() { f.once.Do(func() { close(f.stop) }) }

// all returns the failures so far.
func (f *failures) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs
}

// stopped reports whether no more steps start, because of a failure or the user.
func (f *failures) stopped() bool {
	select {
	case <-f.stop:
		return true
	case <-f.asked:
		return true
	default:
		return false
	}
}

// begunDeletions holds the operations of deletions that were recorded as begun in one entry with the end of earlier deletions, so
// that one sync of the disk serves both. None goes to its provider before the earlier ones are done.
type begunDeletions struct {
	d *deployment

	mu sync.Mutex
	// left is how many deletions of the group under way have not come back from their
	// providers, and next the resources of the group after it.
	left int
	next []*state.Resource
	// begun has an element for each resource of next, once the group under way is deleted.
	begun map[*state.Resource]record.Operation
}

// group notes the steps that are about to be taken, and the deletions that follow.
func (a *begunDeletions) group(steps []*step, next []*state.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.next = len(steps), next
	for _, s := range steps {
		s.begunDeletions = a
	}
}

// deleted notes that a provider has deleted a step's resource. For the last one of the group it returns
// the next resources, as many as can be deleted at once: their operations begin with the record of this
// step.
func (a *begunDeletions) deleted() (next []*state.Resource) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left--
	if a.left > 0 || a.d.failures.stopped() {
		return nil
	}
	for _, res := range a.next[:min(len(a.next), a.d.Parallel)] {
		if a.d.evidenceFor(res) == ofDeletion && !a.d.isProtected(res) {
			next = append(next, res)
		}
	}
	return next
}

// began notes which operations are recorded. Other steps begin their own.
func (a *begunDeletions) began(ops map[*state.Resource]record.Operation) {
	if len(ops) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = ops
}

// take returns the operation of a resource whose deletion was begun ahead.
func (a *begunDeletions) take(res *state.Resource) (op record.Operation, ok bool) {
	if a == nil {
		return record.Operation{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	op, ok = a.begun[res]
	delete(a.begun, res)
	return op, ok
}

// end ends the deletions that were begun and did not happen.
func (a *begunDeletions) end(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unused record.Change
	for _, op := range a.begun {
		unused = unused.Ending(op)
	}
	a.begun = nil
	return a.d.recorder.Record(ctx, unused)
}
