package abi

import (
	"context"
	"errors"
	"strings"
)

// Error is a failure of a [Error.Kind], by which a caller can act. It crosses the boundary between
// guest and host as data, except for Cause, Provider, Version, and Method, which the host fills in.
type Error struct {
	Kind   ErrorKind
	Origin ErrorOrigin
	// Message is one or more lines for people: what happened, and what to do.
	Message string
	// Path is the property that the error is about, or "".
	Path string
	// InitFailure is present exactly when Kind is ErrorKindInitFailed.
	InitFailure *InitFailure
	// MissingKeys are the configuration keys that Configure needs.
	MissingKeys []MissingKey

	// Cause is the host's cause, such as an exceeded limit, for errors.As and errors.Is.
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

// NewRefusal returns the error that says why inputs or arguments are refused.
func NewRefusal(failures []CheckFailure) *Error {
	if len(failures) == 1 {
		return &Error{Kind: ErrorKindInvalidArgument, Path: failures[0].Path, Message: failures[0].Reason}
	}
	reasons := make([]string, len(failures))
	for i, f := range failures {
		reasons[i] = f.Path + ": " + f.Reason
	}
	return NewError(ErrorKindInvalidArgument, strings.Join(reasons, "\n"))
}

// Error returns the error as people read it:
//
//	random 4.16.0: check: length: must be at least 1
//	random 4.16.0: create (host): the guest trapped
//
// The default origin is the guest. Reasons of a failed initialization and missing configuration keys
// follow on lines of their own. [Cite] marks further lines of a module's text.
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

// Citation begins each line but the first of foreign text in a text of the host or the engine.
const Citation = "| "

// Cite marks the lines of a module's text, so that none looks like the host's inside of the host's
// text. The first line needs no mark.
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

// sentinel is the error that errors.Is compares an Error's kind with.
type sentinel ErrorKind

// Sentinels for the kinds of errors: errors.Is(err, abi.ErrNotFound).
var (
	ErrInvalidArgument error = sentinel(ErrorKindInvalidArgument)
	ErrNotFound        error = sentinel(ErrorKindNotFound)
	ErrUnimplemented   error = sentinel(ErrorKindUnimplemented)
	ErrUnavailable     error = sentinel(ErrorKindUnavailable)
	ErrCancelled       error = sentinel(ErrorKindCancelled)
	ErrInitFailed      error = sentinel(ErrorKindInitFailed)
	ErrDenied          error = sentinel(ErrorKindDenied)
	ErrInternal        error = sentinel(ErrorKindInternal)
	ErrCrashed         error = sentinel(ErrorKindCrashed)
)

// Error returns the name of the kind in words, such as "not found".
func (s sentinel) Error() string {
	return strings.ReplaceAll(ErrorKind(s).String(), "-", " ")
}

// AsError returns err as an *Error, nil for nil. A wrapped Error gives its kind and data, with the
// message of the whole. Cancelled and expired contexts are of kind cancelled, a sentinel of its own
// kind, and anything else is internal.
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
