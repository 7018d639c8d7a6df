package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
)

// session is one open provider. Each call returns: a panic or a missing response is a *fault.
type session struct {
	abi.Provider
	opened  abi.Provider
	timeout time.Duration
	// abandon is how long a call may run after the end of its context.
	abandon time.Duration
	// gone is the error of all calls after one that did not return.
	gone error
}

func newSession(p abi.Provider, timeout, abandon time.Duration) *session {
	s := &session{opened: p, timeout: timeout, abandon: abandon}
	s.Provider = abi.ProviderOf(s.bounded)
	return s
}

// abandonAfter times the promptness is how long a cancelled call may run.
const abandonAfter = 4

// fault is an error that no request excuses: a crash, an invalid response, or no response.
type fault struct{ message string }

func (f *fault) Error() string { return f.message }

func (s *session) bounded(ctx context.Context, c *abi.Call) error {
	if s.gone != nil {
		return s.gone
	}
	call, end := context.WithTimeout(ctx, s.timeout)
	defer end()
	returned := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = &fault{fmt.Sprintf("the provider panicked: %v", p)}
			}
			returned <- err
		}()
		err = c.DoWith(call, s.opened)
	}()
	var late <-chan time.Time
	ended := call.Done()
	for {
		select {
		case err := <-returned:
			return judged(ctx, call, s.timeout, err)
		case <-ended:
			timer := time.NewTimer(s.abandon)
			defer timer.Stop()
			late, ended = timer.C, nil
		case <-late:
			s.gone = unseen("an earlier call did not return")
			return &fault{fmt.Sprintf("the call did not return, not even %s after its end", s.abandon)}
		}
	}
}

// judged returns the *fault of an error that is a fault, and other errors unchanged.
func judged(ctx, call context.Context, timeout time.Duration, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault](err); ok {
		return err
	}
	if ctx.Err() == nil && errors.Is(call.Err(), context.DeadlineExceeded) {
		return &fault{fmt.Sprintf("the call was not done after %s", timeout)}
	}
	e := abi.AsError(err)
	// These errors of the host itself mean that a response was invalid.
	fromHost := e.Origin == abi.ErrorOriginHost && (e.Kind == abi.ErrorKindInternal || e.Kind == abi.ErrorKindInitFailed)
	if fromHost || e.Kind == abi.ErrorKindCrashed {
		return &fault{reason(e)}
	}
	return err
}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault](err)
	return ok
}

// refusal returns the outcome of a failed call that the provider may refuse. A fault is a failure, any
// other error is a refusal.
func refusal(err error, what string) error {
	if isFault(err) {
		return fmt.Errorf("%s: %w", what, err)
	}
	if isSkip(err) {
		return follows(err)
	}
	if errors.Is(err, abi.ErrUnimplemented) {
		return inapplicable(what + ": not implemented by the provider")
	}
	return refused("%s: %s", what, reason(err))
}

// promised returns the outcome of a failed call of a method that the schema promises: as [refusal], but a
// missing method is a failure.
func promised(err error, what string) error {
	if errors.Is(err, abi.ErrUnimplemented) {
		return fmt.Errorf("%s is not implemented by the provider, although the schema has types that need it", what)
	}
	return refusal(err, what)
}

// mistake returns the outcome of a failed call that must succeed: a failure, unless the method is missing
// or the provider cannot reach its world.
func mistake(err error, what string) error {
	if err == nil {
		return nil
	}
	if isSkip(err) {
		return follows(err)
	}
	e := abi.AsError(err)
	switch {
	case isFault(err):
		return fmt.Errorf("%s: %w", what, err)
	case e.Kind == abi.ErrorKindUnimplemented:
		return inapplicable(what + ": not implemented by the provider")
	case e.Kind == abi.ErrorKindUnavailable, e.Kind == abi.ErrorKindDenied,
		e.Origin == abi.ErrorOriginRemote, e.Origin == abi.ErrorOriginPolicy:
		return refused("%s: %s", what, reason(err))
	}
	return fmt.Errorf("%s: %s", what, reason(err))
}

// reason returns the text of an error without the names of provider and method, which are in reports.
func reason(err error) string {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err.Error()
	}
	short := *e
	short.Provider, short.Version, short.Method = "", "", ""
	text := strings.ReplaceAll(short.Error(), "\n  - ", "; ")
	text = regexp.MustCompile(`\n\s*`).ReplaceAllString(text, " ")
	if e.Kind != abi.ErrorKindInternal && e.Origin != abi.ErrorOriginHost {
		text += " (" + e.Kind.String() + ")"
	}
	return text
}

// Two seeds for defaults that a provider draws at random.
var (
	seed      = bytes.Repeat([]byte{7}, 32)
	otherSeed = bytes.Repeat([]byte{201}, 32)
)
