package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// executor executes chains of steps. The steps of a chain run one after the
// other, chains in parallel, at most so many as there are slots.
type executor struct {
	slots    chan struct{}
	failures *failures
	perform  func(context.Context, *step) error
}

func newExecutor(parallel int, failures *failures, perform func(context.Context, *step) error) *executor {
	return &executor{slots: make(chan struct{}, parallel), failures: failures, perform: perform}
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
			if err := e.perform(ctx, next); err != nil {
				e.failures.add(err)
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
