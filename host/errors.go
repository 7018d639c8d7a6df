package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/answers"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/printable"
)

// QuarantineError is a provider or policy pack that crashed too often to be called. [Provider.Readmit] ends
// that, and so does making another one of its module.
type QuarantineError struct {
	// Crashes is how often it crashed within Window.
	Crashes int
	Window  time.Duration
	// Last is the last crash.
	Last string
	// Advice says how to have more crashes forgiven, see [Config.WithAdvice]; empty for the default.
	Advice string
}

func (e *QuarantineError) Error() string {
	advice := cmp.Or(e.Advice, "make it anew or Readmit it to try again")
	return fmt.Sprintf("it crashed %d times within %s and is in quarantine, so that it is not called any more; %s; the last crash: %s",
		e.Crashes, e.Window, advice, e.Last)
}

// fail makes an error of the host's about a call.
func (s *sandbox) fail(method abi.Method, kind abi.ErrorKind, message string) error {
	return s.failBy(method, kind, message, nil)
}

// failBy makes an error that has a cause, if that is not nil.
func (s *sandbox) failBy(method abi.Method, kind abi.ErrorKind, message string, cause error) *abi.Error {
	who := s.identity.Load()
	return &abi.Error{
		Kind: kind, Origin: abi.ErrorOriginHost, Message: printable.Text(message), Cause: cause,
		Provider: who.name, Version: who.version, Method: string(method),
	}
}

// refuse is the error of a call that the operator's rules keep from being made.
func (s *sandbox) refuse(method abi.Method, rule error) error {
	rule = s.advised(rule)
	e := s.failBy(method, abi.ErrorKindUnavailable, rule.Error(), rule)
	e.Origin = abi.ErrorOriginPolicy
	return e
}

// advised has an error of a limit say how to raise it.
func (s *sandbox) advised(err error) error {
	if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
		return s.config.advised(s.expected, exceeded)
	}
	if quarantine, ok := errors.AsType[*QuarantineError](err); ok {
		said := *quarantine
		said.Advice = s.config.advised(s.expected, &limit.ExceededError{Limit: limit.Crashes, Most: uint64(said.Crashes)}).Advice
		return &said
	}
	return err
}

// gone is the error of a call that came after Close.
func (s *sandbox) gone(method abi.Method) error {
	return s.fail(method, abi.ErrorKindUnavailable, "the "+s.module.World.String()+" is closed")
}

// cancelled returns the error of a call that was stopped. A call that exceeded a limit is not reported as
// cancelled: as with a crash, what became of its work is unknown.
func (s *sandbox) cancelled(method abi.Method, cause error) error {
	return s.stopped(method, cause, "")
}

// stopped is [sandbox.cancelled] with further details.
func (s *sandbox) stopped(method abi.Method, cause error, more string) error {
	cause = s.advised(cause)
	message := fmt.Sprintf("the call was stopped: %s%s", cause, more)
	if exceeded, ok := errors.AsType[*limit.ExceededError](cause); ok {
		e := s.failBy(method, abi.ErrorKindCrashed, message, exceeded)
		e.Origin = abi.ErrorOriginPolicy
		return e
	}
	return s.fail(method, abi.ErrorKindCancelled, message)
}

// failure makes the error that a caller sees from the outcome of a call, and says why it failed.
func (i *instance) failure(r *guestcall.Call, err error) (why Failure, _ error) {
	s := i.sandbox
	if err == nil {
		return "", nil
	}
	if r.Refused == nil && i.tank.Refused() {
		i.refuse(&limit.ExceededError{Limit: limit.TableElements, Most: uint64(s.config.limits.TableElements)})
	}
	if s.imageBuilder != nil {
		s.imageBuilder.failed(i, err)
	}
	if answered, ok := errors.AsType[*abi.Error](err); ok {
		why = FailureError
		e := s.answered(r.Method, answered)
		if r.Soft().Err() != nil && e.Kind != abi.ErrorKindInitFailed && e.Kind != abi.ErrorKindCrashed {
			// Whatever the guest makes of the end of its call, its work was cut off at a place that nobody knows.
			e.Kind = abi.ErrorKindCancelled
		}
		if e.Kind == abi.ErrorKindCrashed && len(i.output.lastWords) > 0 {
			e.Message += guestcall.Frames(i.output.crash())
		}
		if late, ok := errors.AsType[*limit.ExceededError](context.Cause(r.Soft())); ok && r.Refused == nil {
			i.refuse(late) // the guest ended when it was told to
		}
		if r.Refused != nil {
			wants(e, s.advised(r.Refused))
		} else if denial := s.fileDenial(r.DeniedFiles, e); denial != nil {
			e.Cause = denial
		}
		return why, e
	}
	if r.Hard().Err() != nil {
		why = FailureCancelled
		if exceeded, ok := errors.AsType[*limit.ExceededError](context.Cause(r.Soft())); ok {
			why = Failure(exceeded.Limit)
		}
		return why, s.stopped(r.Method, context.Cause(r.Soft()), r.Abandonment())
	}
	broken := i.guest.Broken() != nil || i.exports == nil || r.Method == limit.MethodStart
	if breach, ok := errors.AsType[*canon.Error](err); ok && !guestcall.IsTrap(err) {
		why = FailureBreach
		cause := s.advised(exceededBy(err))
		said := printable.Line(breach.Error())
		if cause != nil {
			said = cause.Error() // which also says how to raise the limit
		}
		if !broken {
			return why, s.failBy(r.Method, abi.ErrorKindInvalidArgument, "the request cannot be passed to the "+s.module.World.String()+": "+said, cause)
		}
		e := s.failBy(r.Method, abi.ErrorKindInternal, "the "+s.module.World.String()+"'s answer is not what the contract asks for: "+said, cause)
		if breach.Made != nil {
			e.Kind, e.InitFailure = abi.ErrorKindInitFailed, &abi.InitFailure{ID: breach.Made.ID, Reasons: []string{e.Message}, RefreshBeforeUpdate: true}
		}
		return why, e
	}
	i.spoiled = true
	why = FailureTrap
	if _, exited := errors.AsType[*wasi.ExitError](err); exited {
		why = FailureExit
	}
	description, described := "the "+s.module.World.String()+" crashed", ""
	if i.finish("the log", func() { described = i.describeCrash(err) }) {
		description = described
	}
	e := s.failBy(r.Method, abi.ErrorKindCrashed, description, nil)
	if exceeded := i.exceededBy(r, err); exceeded != nil {
		if begins := r.Method == limit.MethodStart || r.Method == abi.MethodHandshake; begins && exceeded.Limit == limit.Memory {
			e.Message = "the " + s.module.World.String() + " crashed" // where its runtime was by then helps nobody
		}
		wants(e, s.advised(exceeded))
		why = Failure(exceeded.Limit)
	}
	return why, e
}

// describeCrash describes for people how the guest ended.
func (i *instance) describeCrash(err error) string {
	return "the " + i.sandbox.module.World.String() + " crashed: " + guestcall.Crash(err, i.output.crash())
}

// exceededBy returns the limit that a guest likely crashed for, nil for none.
func (i *instance) exceededBy(r *guestcall.Call, err error) *limit.ExceededError {
	switch {
	case r.Refused != nil:
		return r.Refused
	case !guestcall.UsedUpStack(err):
		return nil
	case i.sandbox.config.interpreter:
		return &limit.ExceededError{Limit: limit.StackDepth, Most: limit.StackFunctions}
	}
	return &limit.ExceededError{Limit: limit.Stack, Most: limit.StackBytes}
}

// wants adds to an error of the guest the limit for which it was refused something before.
func wants(e *abi.Error, exceeded error) {
	e.Cause = exceeded
	if e.Origin == abi.ErrorOriginHost { // else the message is the guest's
		e.Message += "\n" + exceeded.Error()
	}
}

// exceededBy finds the limit on passed values that was exceeded, nil for none.
func exceededBy(err error) error {
	if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
		return exceeded
	}
	if exceeded, ok := errors.AsType[*canon.LimitError](err); ok {
		return &limit.ExceededError{Limit: limit.Answer, Most: exceeded.Limit}
	}
	return nil
}

// answered completes an error that the guest answered, and makes its text safe.
func (s *sandbox) answered(method abi.Method, answered *abi.Error) *abi.Error {
	e, who := answers.Printable(answered), s.identity.Load()
	e.Provider, e.Version, e.Method = who.name, who.version, string(method)
	return e
}

// breach makes an error of a violation of the contract, which is nil if there is none.
func (s *sandbox) breach(method abi.Method, violation error) error {
	switch v := violation.(type) {
	case nil:
		return nil
	case *abi.Error:
		return s.answered(method, v)
	}
	return s.fail(method, abi.ErrorKindInternal, "the "+s.module.World.String()+" broke the contract: "+printable.Line(violation.Error()))
}

// Readmit ends a quarantine (see [QuarantineError]), and forgets the crashes that led to it.
func (s *sandbox) Readmit() { s.health.Readmit() }
