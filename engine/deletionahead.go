package engine

import (
	"context"
	"sync"

	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// begunAhead holds the operations of deletions that were recorded as begun together with
// the end of the deletions before them: one sync of the disk serves both. None of them goes
// to its provider before those are done. What is begun and not deleted after all is ended
// by end.
type begunAhead struct {
	d *deployment

	mu sync.Mutex
	// left is how many deletions of the group under way have not come back from their
	// providers, and next the resources of the group after it.
	left int
	next []*state.Resource
	// begun has an element for each resource of next, once the group under way is deleted.
	begun map[*state.Resource]record.Operation
}

// group tells of the steps that are about to be taken, and of what follows.
func (a *begunAhead) group(steps []*step, next []*state.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.next = len(steps), next
	for _, s := range steps {
		s.ahead = a
	}
}

// deleted is called by a step whose provider has deleted its resource. For the last one of
// the group it returns operations that begin the next group, as much of it as can run at
// once, for the step to record with its own end.
func (a *begunAhead) deleted() (next []*state.Resource) {
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
		if a.d.deletes(res) && !a.d.isProtected(res) {
			next = append(next, res)
		}
	}
	return next
}

// began is told which of the operations are recorded. The steps of others, such as those
// for which there was no space, begin them themselves.
func (a *begunAhead) began(ops map[*state.Resource]record.Operation) {
	if len(ops) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = ops
}

// take returns the operation of a resource whose deletion was begun ahead.
func (a *begunAhead) take(res *state.Resource) (op record.Operation, ok bool) {
	if a == nil {
		return record.Operation{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	op, ok = a.begun[res]
	delete(a.begun, res)
	return op, ok
}

// end ends what was begun and not deleted.
func (a *begunAhead) end(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unused record.Change
	for _, op := range a.begun {
		unused = unused.Ending(op)
	}
	a.begun = nil
	return a.d.recorder.Record(ctx, unused)
}
