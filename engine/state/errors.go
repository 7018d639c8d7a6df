package state

import (
	"errors"
	"fmt"
	"time"

	"github.com/husk-dev/husk/internal/base/printable"
)

// Errors of stores, for errors.Is.
var (
	ErrStackName     = errors.New("invalid stack name")
	ErrStackNotFound = errors.New("stack not found")
	ErrStackExists   = errors.New("stack exists")
	ErrLocked        = errors.New("stack is locked")
	ErrFenced        = errors.New("lease was lost")
	ErrSequence      = errors.New("unexpected sequence number")
	ErrCorrupt       = errors.New("state is damaged")
	ErrNoSpace       = errors.New("no space left")
)

// ErrUnsupported says that a state is of another version, or uses an unknown feature.
var ErrUnsupported = errors.New("unsupported state")

type kindError struct {
	kind    error
	message string
}

func (e *kindError) Error() string { return e.message }
func (e *kindError) Unwrap() error { return e.kind }

func errorOf(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Sprintf(format, args...)}
}

// StackNotFound returns the error of a store, in a place, that lacks the stack.
func StackNotFound(stack StackName, place string) error {
	return errorOf(ErrStackNotFound, "there is no stack %s in %s", stack, place)
}

// StackExists returns the error of a store that has the stack already.
func StackExists(stack StackName, place string) error {
	return errorOf(ErrStackExists, "the stack %s exists already in %s", stack, place)
}

// Fenced returns the error of a write under a lease that was lost.
func Fenced(stack StackName) error {
	return errorOf(ErrFenced, "this run no longer holds the lock of the stack %s: it was taken away while the run was going on; "+
		"nothing more is written, refresh the stack before the next update", stack)
}

// OutOfSequence returns the error of a record or checkpoint that does not follow on the last one.
func OutOfSequence(stack StackName, got, want uint64) error {
	return errorOf(ErrSequence, "the journal of the stack %s is at sequence number %d, not %d", stack, want, got)
}

// A LockedError says who holds the lease of a stack. It is ErrLocked.
type LockedError struct {
	Stack StackName
	// Holder is zero if it is not known.
	Holder Holder
}

func (e *LockedError) Error() string {
	msg := fmt.Sprintf("the stack %s is locked by another run", e.Stack)
	if h := e.Holder; h.PID != 0 {
		msg += fmt.Sprintf(": process %d (%s) of %s on %s, since %s",
			h.PID, printable.Line(h.Command), printable.Line(h.User), printable.Line(h.Host), h.Since.Format(time.DateTime))
	}
	return msg + "; wait until it ends, or stop that process, and the lock ends with it; husk cancel takes it from a run that hangs"
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// A CorruptError says that what a store holds of a stack is damaged, and nothing
// was guessed. It is ErrCorrupt.
type CorruptError struct {
	// File is the damaged file, or the stack's name if there is none.
	File string
	// Offset is where the damage is, in bytes; -1 where it has no place.
	Offset int64
	// Reason describes the fault.
	Reason string
	// Journal is set if the journal is damaged, and not the checkpoint.
	Journal bool
	// Remedy says what to do.
	Remedy string
	// Cause is the error beneath, if any.
	Cause error
}

func (e *CorruptError) Error() string {
	msg := e.File + " is damaged"
	if e.Offset >= 0 {
		msg += fmt.Sprintf(" at byte %d", e.Offset)
	}
	msg += ": " + e.Reason
	if e.Cause != nil {
		msg += ": " + e.Cause.Error()
	}
	if e.Remedy != "" {
		msg += "; " + e.Remedy
	}
	return msg
}

func (e *CorruptError) Unwrap() []error {
	if e.Cause != nil {
		return []error{ErrCorrupt, e.Cause}
	}
	return []error{ErrCorrupt}
}

// A NoSpaceError says that the disk, or the user's quota, is full. It is ErrNoSpace.
type NoSpaceError struct {
	// File is the file that could not be written.
	File string
	// Saved says that it was written after all, in the space that the store had set aside.
	Saved bool
	// Cause is the operating system's error.
	Cause error
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("no space left to write %s: what was saved before is intact; free some space and run again (%v)", e.File, e.Cause)
}

func (e *NoSpaceError) Unwrap() []error { return []error{ErrNoSpace, e.Cause} }
