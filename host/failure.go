package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// fail makes an error of the host's about a call.
func (s *sandbox) fail(method string, kind abi.ErrorKind, message string) error {
	who := s.identity.Load()
	return &abi.Error{
		Kind: kind, Origin: abi.ErrorOriginHost, Message: printable(message),
		Provider: who.name, Version: who.version, Method: method,
	}
}

// gone is the error of a call that came after Close.
func (s *sandbox) gone(method string) error {
	return s.fail(method, abi.ErrorKindUnavailable, "the "+s.module.World.String()+" is closed")
}

// cancelled is the error of a call that was stopped. One that took more than it may was
// not cancelled by its caller, so that it must not pass for such; as with a crash, what
// became of its work is not known.
func (s *sandbox) cancelled(method string, cause error) error {
	message := fmt.Sprintf("the call was stopped: %s", cause)
	if _, ok := errors.AsType[*overrun](cause); ok {
		e := s.fail(method, abi.ErrorKindCrashed, message).(*abi.Error)
		e.Origin = abi.ErrorOriginPolicy
		return e
	}
	return s.fail(method, abi.ErrorKindCancelled, message)
}

// failure makes the error that a caller sees of what a call ended with.
func (i *instance) failure(r *running, err error) error {
	s := i.sandbox
	if err == nil {
		return nil
	}
	if answered, ok := errors.AsType[*abi.Error](err); ok {
		return s.answered(r.method, answered)
	}
	if r.hard.Err() != nil {
		return s.cancelled(r.method, context.Cause(r.soft))
	}
	broken := i.guest.Broken() != nil || i.exports == nil || r.method == methodStart
	if breach, ok := errors.AsType[*canon.Error](err); ok && !isTrap(err) {
		if !broken {
			return s.fail(r.method, abi.ErrorKindInvalidArgument, "the request cannot be passed to the "+s.module.World.String()+": "+breach.Error())
		}
		return s.fail(r.method, abi.ErrorKindInternal, "the "+s.module.World.String()+"'s answer is not what the contract asks for: "+breach.Error())
	}
	i.spoiled = true
	return s.fail(r.method, abi.ErrorKindCrashed, i.describeTrap(err))
}

// answered completes an error that the guest answered, and makes its text safe.
func (s *sandbox) answered(method string, answered *abi.Error) error {
	e := *answered
	who := s.identity.Load()
	e.Provider, e.Version, e.Method = who.name, who.version, method
	e.Message, e.Path = printable(e.Message), printable(e.Path)
	if e.InitFailure != nil {
		failure := *e.InitFailure
		failure.Reasons = make([]string, len(failure.Reasons))
		for i, reason := range e.InitFailure.Reasons {
			failure.Reasons[i] = printable(reason)
		}
		e.InitFailure = &failure
	}
	e.MissingKeys = make([]abi.MissingKey, len(answered.MissingKeys))
	for i, key := range answered.MissingKeys {
		e.MissingKeys[i] = abi.MissingKey{Name: printable(key.Name), Description: printable(key.Description)}
	}
	return &e
}
