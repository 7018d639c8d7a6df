// Package nativewire connects husk with a provider that runs as a native process, for husk provider dev --native. Calls cross
// in the canonical ABI, as they do for a module: a message has the arguments, and the memory in which they and the result lie.
//
// Both ends are built from one version of Husk and trust each other, so that neither bounds what the other sends.
package nativewire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/canon"
)

// Variable names the environment variable that is set for a native provider. It has calls on its standard input, and answers on
// its standard output.
const Variable = "HUSK_NATIVE_PROVIDER"

type kind uint8

const (
	calls kind = iota
	imports
	answers
	cancels
)

// message is a call, its answer, or its end.
type message struct {
	Kind kind
	// ID is the ID of the call, or of the one that is answered or cancelled. Each side counts its own.
	ID uint64
	// Session is the session of a call, and Of the call in which the provider calls an import.
	Session, Of uint64
	// Interface, Name, and Function name the function.
	Interface, Name string
	Function        int
	// Args are flat arguments, and Memory is the memory that they point to.
	Args   []uint64
	Memory []byte
	Result uint64
	// Failed is set in an answer if the call broke the ABI.
	Failed string
}

// ErrEnded is the error of calls of a provider whose process has ended.
var ErrEnded = errors.New("the native process of the provider has ended: what it printed says why")

// link is one end.
type link struct {
	sending sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	last    uint64
	pending map[uint64]chan message
	ended   chan struct{}
}

func newLink(out io.Writer) *link {
	return &link{out: out, pending: make(map[uint64]chan message), ended: make(chan struct{})}
}

func (l *link) send(m message) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	_, err := l.out.Write(m.encode())
	return err
}

// read passes what comes to handle, but for answers, until the other end closes.
func (l *link) read(in io.Reader, handle func(message)) {
	defer close(l.ended)
	for in := bufio.NewReader(in); ; {
		m, err := readMessage(in)
		if err != nil {
			return
		}
		if m.Kind != answers {
			handle(m)
			continue
		}
		l.mu.Lock()
		waiting := l.pending[m.ID]
		delete(l.pending, m.ID)
		l.mu.Unlock()
		if waiting != nil { // else the caller has gone
			waiting <- m
		}
	}
}

// call sends a call and returns the answer.
func (l *link) call(ctx context.Context, m message) (message, error) {
	answer := make(chan message, 1)
	l.mu.Lock()
	l.last++
	m.ID = l.last
	l.pending[m.ID] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.pending, m.ID)
	}()
	if err := l.send(m); err != nil {
		return message{}, ErrEnded
	}
	select {
	case got := <-answer:
		if got.Failed != "" {
			return got, errors.New(got.Failed)
		}
		return got, nil
	case <-l.ended:
		return message{}, ErrEnded
	case <-ctx.Done():
		_ = l.send(message{Kind: cancels, ID: m.ID}) // the process may have ended
		return message{}, context.Cause(ctx)
	}
}

// caller calls functions of the other end.
type caller struct {
	link *link
	// template is the message of each call, but for its function.
	template message
}

func (c *caller) Begin(ctx context.Context, f *canon.Function) canon.Frame {
	return &frame{memory: newMemory(nil), ctx: ctx, caller: c, function: f}
}

// frame is one call.
type frame struct {
	*memory
	ctx      context.Context
	caller   *caller
	function *canon.Function
}

func (f *frame) Imported() bool { return f.caller.template.Kind == imports }

func (f *frame) End(error) {}

func (f *frame) Call(args []uint64) (uint64, error) {
	m := f.caller.template
	m.Interface, m.Name, m.Function = f.function.Interface, f.function.Name, f.function.Index
	m.Args, m.Memory = slices.Clone(args), f.bytes
	answer, err := f.caller.link.call(f.ctx, m)
	if err != nil {
		return 0, err
	}
	f.bytes = answer.Memory
	return answer.Result, nil
}
