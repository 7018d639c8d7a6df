package canon

import (
	"errors"
	"strconv"

	"github.com/husk-dev/husk/abi"
)

// Error is a value that cannot cross the boundary.
type Error struct {
	// Path is the field in the words of the WIT, for example check-response.failures[3].reason.
	Path string
	// Err is the reason: one of the errors below, a *LimitError, or an error of the memory or the
	// property codec.
	Err error
	// Made is the object that an answer reported as created before the answer became unreadable, nil if it reported none.
	Made *abi.InitFailure
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Reasons for an Error.
var (
	ErrOutOfBounds = errors.New("the pointer and length lie outside of the memory")
	ErrMisaligned  = errors.New("the pointer is not aligned")
	ErrUTF8        = errors.New("invalid UTF-8")
	ErrBool        = errors.New("a bool is neither 0 nor 1")
	ErrCase        = errors.New("there is no such case")
	ErrFlags       = errors.New("an unknown flag is set")
	ErrLength      = errors.New("the list is longer than a memory can hold")
	ErrRange       = errors.New("the value does not fit its type")
	ErrInitFailure = errors.New("it must be present exactly when the kind is init-failed")
)

// LimitError reports that the values of one crossing are larger than the host allows.
type LimitError struct {
	Limit uint64 // bytes
}

func (e *LimitError) Error() string {
	return "the values of the call exceed the limit of " + strconv.FormatUint(e.Limit, 10) + " bytes"
}

// path is the place of the lifter or lowerer in a value, for error messages.
type path struct {
	root     root
	segments []segment
	first    [3]segment // as many as most calls need
}

// root is the begin of a path. Few paths are ever read.
type root struct {
	function *Function // nil for an error
	response bool
}

func callRoot(f *Function) root     { return root{function: f} }
func responseRoot(f *Function) root { return root{function: f, response: true} }

var errorRoot root

func (r root) String() string {
	switch f := r.function; {
	case f == nil:
		return "error"
	case r.response:
		return f.Name + "-response"
	default:
		return f.Interface + "." + f.Name
	}
}

type segment struct {
	name  string
	index int // of the list element, -1 where the segment is not a list
}

func (p *path) enter(name string) {
	if p.segments == nil {
		p.segments = p.first[:0]
	}
	p.segments = append(p.segments, segment{name, -1})
}

func (p *path) leave() { p.segments = p.segments[:len(p.segments)-1] }

// at sets the list element that the innermost segment is at.
func (p *path) at(index int) { p.segments[len(p.segments)-1].index = index }

// to returns the path to a field, or the path itself for an empty name.
func (p *path) to(field string) string {
	text := p.root.String()
	for _, s := range p.segments {
		text += "." + s.name
		if s.index >= 0 {
			text += "[" + strconv.Itoa(s.index) + "]"
		}
	}
	if field != "" {
		text += "." + field
	}
	return text
}
