package abi

import (
	"context"
	"errors"
	"strings"
)

// Error is a failure that a caller can act on: [Error.Kind] says how. It crosses
// the boundary between guest and host as data; Cause, Provider, Version,
// and Method are not part of the contract, the host fills them in.
type Error struct {
	Kind   ErrorKind
	Origin ErrorOrigin
	// Message is one or more lines for people: what happened, and what to do next.
	Message string
	// Path is the property the error is about, in text form; empty where it is about none.
	Path string
	// InitFailure is present exactly when Kind is ErrorKindInitFailed.
	InitFailure *InitFailure
	// MissingKeys are the configuration keys that Configure needs.
	MissingKeys []MissingKey

	// Cause is what the host knows of the reason, for errors.As and errors.Is: the limit
	// that a call exceeded, for example. It does not cross the boundary.
	Cause error

	// Provider is the package's name, for example random.
	Provider string
	// Version is the package's version, for example 4.16.0.
	Version string
	// Method is the WIT name of the method that failed, for example check-config.
	Method string
}

// NewError returns an error that arose in the provider's own code.
func NewError(kind ErrorKind, message string) *Error {
	return &Error{Kind: kind, Message: message}
}

// Error returns the error as people read it:
//
//	random 4.16.0: check: length: must be at least 1
//	random 4.16.0: create (host): the guest trapped
//
// An origin that is not named is the guest.
// Reasons of a failed initialization and missing configuration keys follow on
// lines of their own. Further lines of what a module has said are marked, see [Cite].
func (e *Error) Error() string {
	if e == nil {
		return "an error without a description" // a provider's mistake, but not worth a crash
	}
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider)
		if e.Version != "" {
			b.WriteString(" " + e.Version)
		}
		b.WriteString(": ")
	}
	if e.Method != "" {
		b.WriteString(e.Method)
		if e.Origin != ErrorOriginGuest {
			b.WriteString(" (" + e.Origin.String() + ")")
		}
		b.WriteString(": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	switch {
	case e.Message == "":
		b.WriteString(sentinel(e.Kind).Error())
	case e.Method != "" && (e.Origin == ErrorOriginGuest || e.Origin == ErrorOriginRemote):
		b.WriteString(Cite(e.Message))
	default:
		b.WriteString(e.Message)
	}
	if e.Cause != nil && (e.Origin == ErrorOriginGuest || e.Origin == ErrorOriginRemote) {
		b.WriteString("\n" + e.Cause.Error()) // the host's words, which the message has for other origins
	}
	if e.InitFailure != nil {
		for _, reason := range e.InitFailure.Reasons {
			b.WriteString("\n  - " + Cite(reason))
		}
	}
	for _, key := range e.MissingKeys {
		b.WriteString("\n  - " + key.Name)
		if key.Description != "" {
			b.WriteString(": " + Cite(key.Description))
		}
	}
	return b.String()
}

// Citation begins each line but the first of what somebody else says, in a text of the host or of
// the engine.
const Citation = "| "

// Cite marks the lines of a module's text, so that none passes for the host's where it becomes a
// part of the host's text. The first line follows that, and needs no mark.
func Cite(text string) string { return strings.ReplaceAll(text, "\n", "\n"+Citation) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Is reports whether target is the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	s, ok := target.(sentinel)
	return ok && e != nil && e.Kind == ErrorKind(s)
}

// sentinel is what errors.Is compares an Error's kind with.
type sentinel ErrorKind

// Sentinels for the kinds of errors: errors.Is(err, abi.ErrNotFound).
const (
	ErrInvalidArgument = sentinel(ErrorKindInvalidArgument)
	ErrNotFound        = sentinel(ErrorKindNotFound)
	ErrUnimplemented   = sentinel(ErrorKindUnimplemented)
	ErrUnavailable     = sentinel(ErrorKindUnavailable)
	ErrCancelled       = sentinel(ErrorKindCancelled)
	ErrInitFailed      = sentinel(ErrorKindInitFailed)
	ErrDenied          = sentinel(ErrorKindDenied)
	ErrInternal        = sentinel(ErrorKindInternal)
	ErrCrashed         = sentinel(ErrorKindCrashed)
)

// Error returns the name of the kind in words, such as "not found".
func (s sentinel) Error() string {
	return strings.ReplaceAll(ErrorKind(s).String(), "-", " ")
}

// AsError returns err as an *Error, nil for nil. An Error that err wraps gives
// its kind and data, with the message of the whole; cancelled and expired
// contexts are of kind cancelled, a sentinel is of its own kind, anything else is
// internal.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		wrapped := *e
		// The wrapping text joins the message; what Error() adds around the message
		// stays in the fields it comes from.
		wrapped.Message = strings.Replace(err.Error(), e.Error(), e.Message, 1)
		return &wrapped
	}
	kind := ErrorKindInternal
	if s, ok := errors.AsType[sentinel](err); ok {
		kind = ErrorKind(s)
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = ErrorKindCancelled
	}
	return &Error{Kind: kind, Message: err.Error()}
}

// unimplemented is the answer to a method that a provider does not have.
func unimplemented(method string) *Error {
	return &Error{Kind: ErrorKindUnimplemented, Message: "not implemented by the provider", Method: method}
}

// caseName is the String of the contract's enumerations.
func caseName(names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "invalid"
}
