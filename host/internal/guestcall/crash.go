package guestcall

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/wasm/meter"
)

// The texts that wazero puts before a trap's reason, and between it and the guest's stack.
const (
	trapMarker  = "wasm error: "
	stackMarker = "\nwasm stack trace:\n"
)

// trapError is a call of the guest that did not come to its end.
type trapError struct{ error }

func (e *trapError) Unwrap() error { return e.error }

// Trapped marks an error as a trap: the call did not reach its end.
func Trapped(err error) error {
	if err == nil {
		return nil
	}
	return &trapError{err}
}

// IsTrap reports whether an error is a trap: the call did not reach its end.
func IsTrap(err error) bool {
	_, ok := errors.AsType[*trapError](err)
	return ok
}

// firstTrap returns the first error, if nested calls of the guest failed together.
func firstTrap(err error) error {
	for {
		inner, ok := errors.AsType[*trapError](err)
		if !ok {
			return err
		}
		err = inner.error
	}
}

// Crash describes for people how a guest ended, by its error and its last words, which may be empty.
func Crash(err error, words string) string {
	reason, stack, _ := strings.Cut(firstTrap(err).Error(), stackMarker)
	if _, trap, ok := strings.Cut(reason, trapMarker); ok {
		reason = trap
	}
	reason = strings.TrimSuffix(reason, " (recovered by wazero)")
	trace := wasmTrace(stack)
	where := trace.frames()
	if exit, exited := errors.AsType[*wasi.ExitError](err); words != "" {
		reason = crashReason(words)
		if frames := goFrames(words); len(frames) > 0 {
			where = frames
		} else if strings.HasPrefix(words, "thread '") { // which names its place, and the frames are those of Rust's library
			where = nil
		}
	} else if exited {
		reason = fmt.Sprintf("it exited with code %d", exit.Code)
	}
	return abi.Cite(reason) + lines(where)
}

// Frames returns the provider's own frames in the last words of a Go guest, each on a line of its own; empty for none.
func Frames(words string) string {
	trace := goTrace(words)
	return lines(trace.own[:min(len(trace.own), maxFrames)])
}

func lines(frames []string) string {
	var text strings.Builder
	for _, frame := range frames {
		text.WriteString("\n  at " + printable.Line(frame))
	}
	return text.String()
}

// stackTrap is wazero's message for an exhausted stack.
const stackTrap = "stack overflow"

// UsedUpStack reports whether a guest crashed because its functions called each other too deep.
func UsedUpStack(err error) bool {
	reason, _, _ := strings.Cut(firstTrap(err).Error(), stackMarker)
	return strings.TrimPrefix(reason, trapMarker) == stackTrap
}

const (
	// maxFrames is how much of a guest's stack is told, innermost first.
	maxFrames = 8
	// maxFrameName bounds the name of a function; instantiated ones of Go are long.
	maxFrameName = 80
	// maxReasonLines bounds the text of a panic.
	maxReasonLines = 10
)

// plumbing are prefixes of functions that explain no crash: of Go's runtime and the SDK. In a name section,
// Go writes / and - as _.
var plumbing = []string{
	"runtime.", "runtime/debug.", "wasm_", "_rt0_wasm", "husk:provider/", "husk_provider_", "husk:policy/", "husk_policy_", "husk:program/", "husk_program_", meter.Module, wasi.ModuleName + ".", "syscall.Exit", "os.Exit", "internal/runtime/",
	"github.com/husk-dev/husk/guest-sdk/", "github.com/husk-dev/husk/abi/",
	"github.com_husk_dev_husk_guest_sdk", "github.com_husk_dev_husk_abi_",
}

// trace collects the frames of a stack.
type trace struct{ own, all []string }

func (t *trace) add(function, place string) {
	frame := function
	if len(frame) > maxFrameName {
		frame = strings.ToValidUTF8(frame[:maxFrameName], "") + "…"
	}
	if place != "" {
		frame += " (" + place + ")"
	}
	if n := len(t.all); n > 0 && t.all[n-1] == frame {
		return // recursion
	}
	t.all = append(t.all, frame)
	if function == "panic" {
		return
	}
	for _, prefix := range plumbing {
		if strings.HasPrefix(function, prefix) {
			return
		}
	}
	t.own = append(t.own, frame)
}

// frames returns the provider's own frames, or all if there are none.
func (t *trace) frames() []string {
	list := t.own
	if len(list) == 0 {
		list = t.all
	}
	return list[:min(len(list), maxFrames)]
}

// wazero writes a frame as module.function(parameters) results, here without a module name.
var frameSyntax = lazyregexp.Regexp{Syntax: `^\.?(.+?)\([a-z0-9, ]*\)(?: [a-z0-9(), ]+)?$`}

// wazero writes the places of a frame below it, the innermost of inlined ones first, if the module has DWARF.
var placeSyntax = lazyregexp.Regexp{Syntax: `^0x[0-9a-f]+: (.+?:[0-9]+)(?::[0-9]+)?(?: \(inlined\))?$`}

// wasmTrace reads a stack trace of wazero.
func wasmTrace(stack string) (t trace) {
	function, place := "", ""
	for line := range strings.SplitSeq(stack, "\n") {
		line = strings.TrimSpace(line)
		if at := placeSyntax.Get().FindStringSubmatch(line); at != nil && place == "" {
			place = base(at[1])
		} else if m := frameSyntax.Get().FindStringSubmatch(line); m != nil {
			if function != "" {
				t.add(function, place)
			}
			function, place = m[1], ""
		}
	}
	if function != "" {
		t.add(function, place)
	}
	return t
}

// base returns a place without the directory of its file.
func base(place string) string { return place[strings.LastIndexAny(place, `/\`)+1:] }

// crashReason returns the text that a program in Go prints before the stacks of its goroutines, or one in Rust before its advice.
func crashReason(words string) string {
	var reason []string
	for line := range strings.SplitSeq(words, "\n") {
		if line == "" || isStackHeader(line) || strings.HasPrefix(line, "note: run with ") || len(reason) == maxReasonLines {
			break
		}
		reason = append(reason, line)
	}
	return strings.Join(reason, "\n")
}

func isStackHeader(line string) bool {
	return strings.HasPrefix(line, "goroutine ") || line == "runtime stack:"
}

func goFrames(words string) []string {
	trace := goTrace(words)
	return trace.frames()
}

// goTrace reads the first stack with functions of the provider from the output of a crashed Go program: a function on a line, its
// place on the next behind a tab.
func goTrace(words string) (t trace) {
	lines := strings.Split(words, "\n")
	for n, line := range lines {
		if isStackHeader(line) && len(t.own) > 0 {
			break
		}
		if n+1 == len(lines) || !strings.HasPrefix(lines[n+1], "\t") || strings.HasPrefix(line, "\t") {
			continue
		}
		function, _, _ := strings.Cut(strings.TrimPrefix(line, "created by "), " in goroutine ")
		if at := strings.LastIndexByte(function, '('); at > 0 && strings.HasSuffix(function, ")") {
			function = function[:at]
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[n+1]), " ")
		t.add(function, base(place))
	}
	return t
}

// handsOn are prefixes of functions of Go's library that pass on the clock or random numbers.
var handsOn = []string{
	"context.", "crypto_", "hash_maphash.", "internal_", "io.", "log.", "log_slog.", "math_rand", "net.", "net_", "os.", "os_",
	"sync.", "syscall.", "text_", "time.",
}

// Initiator returns the function that read the clock or random numbers, by the stack of a trap: the innermost
// one of the program, or else the outermost of Go's library.
func Initiator(err error) (function string) {
	_, stack, _ := strings.Cut(firstTrap(err).Error(), stackMarker)
	for _, frame := range wasmTrace(stack).own {
		if strings.HasPrefix(frame, "$") { // it has no name
			continue
		}
		function = frame
		if !slices.ContainsFunc(handsOn, func(prefix string) bool { return strings.HasPrefix(frame, prefix) }) {
			break
		}
	}
	return function
}
