package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/husk-dev/husk/abi"
)

func (s *subject) testCancelled(ctx context.Context, f *findings, c Case) {
	l := &life{subject: s, f: f}
	var outcome error
	if l.c, l.checked, outcome = s.prepare(ctx, c); outcome != nil {
		f.report(ruleCheckAnswers, outcome)
		f.rest(outcome, rulesOf(groupCancel)...)
		return
	}
	switch {
	case f.failed(ruleCreate):
		f.rest(errors.New("create does not return what it must"), rulesOf(groupCancel)...)
	case s.run.options.ReadOnly:
		f.rest(errors.New("nothing is to be created"), rulesOf(groupCancel)...)
	default:
		f.try(ruleCancelledBefore, func() error { return l.cancelledBefore(ctx) })
		f.try(ruleCancelledCreate, func() error { return l.cancelledCreate(ctx) })
	}
}

// cancelledBefore checks a call whose context has ended before it.
func (l *life) cancelledBefore(ctx context.Context) error {
	ended, end := context.WithCancel(ctx)
	end()
	response, err := l.main.Create(ended, l.createRequest(l.checked, false))
	switch {
	case err == nil:
		l.id, l.state = response.ID, response.State
		l.cleanUp(ctx)
		return errors.New("a create that was cancelled before it began succeeds")
	case isFault(err):
		return fmt.Errorf("a create that was cancelled before it began: %w", err)
	case !errors.Is(err, abi.ErrCancelled) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("a create that was cancelled before it began returns no error of kind cancelled: %s", reason(err))
	}
	if _, err := l.check(ctx, l.main, l.c.Inputs, nil, seed); err != nil {
		return mistake(err, "check after a call that was cancelled")
	}
	return nil
}

// cancelAfter is how long a create runs before its cancellation. Most creates have begun by then.
const cancelAfter = 10 * time.Millisecond

// sleep waits until a create has run for [cancelAfter], or is done.
func sleep(create context.Context) {
	timer := time.NewTimer(cancelAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-create.Done():
	}
}

// cancelledCreate cancels a running create, which must end promptly, with or without success.
func (l *life) cancelledCreate(ctx context.Context) error {
	running, end := context.WithCancel(ctx)
	defer end()
	cancelled := make(chan time.Time, 1)
	begun := l.run.options.begun
	if begun == nil {
		begun = sleep
	}
	go func() {
		begun(running)
		cancelled <- time.Now()
		end()
	}()
	response, err := l.main.Create(running, l.createRequest(l.checked, false))
	returned := time.Now()
	end()
	late := returned.Sub(<-cancelled)
	l.created(response, err)
	l.cleanUp(ctx)
	if isFault(err) {
		return fmt.Errorf("a create that was cancelled: %w", err)
	}
	if late > l.run.options.Promptness {
		return fmt.Errorf("create was cancelled, and did not return within %s: %s", l.run.options.Promptness, ended(err))
	}
	if _, err := l.check(ctx, l.main, l.c.Inputs, nil, seed); err != nil {
		return mistake(err, "check after a create that was cancelled")
	}
	return nil
}

func ended(err error) string {
	if err == nil {
		return "it succeeded in the end"
	}
	return "in the end it said: " + reason(err)
}

// cancelOutcome cancels a provider after its last use.
func (r *run) cancelOutcome(ctx context.Context) (outcome, err error) {
	s, outcome, err := r.ready(ctx)
	if err != nil || outcome != nil {
		return outcome, err
	}
	outcome = s.Cancel(ctx)
	if outcome == nil || errors.Is(outcome, abi.ErrUnimplemented) {
		return nil, nil
	}
	return fmt.Errorf("cancel: %s", reason(outcome)), nil
}
