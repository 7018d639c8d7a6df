package nativewire

import (
	"context"
	"io"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// Imports are the functions of husk that a provider may use during a call. They are valid for that call.
type Imports struct {
	Log     abi.Log
	KV      abi.KV
	Monitor abi.Monitor
}

// Serve serves calls in the process of the provider until husk closes in. open makes the provider of a session, and within the
// context of a call. A panic of the provider ends the process, as a debugger expects.
func Serve(in io.Reader, out io.Writer, open func() (abi.Provider, error), within func(context.Context, Imports) context.Context) {
	s := &server{link: newLink(out), open: open, within: within, sessions: make(map[uint64]*session), running: make(map[uint64]context.CancelFunc)}
	s.link.read(in, s.handle)
}

type server struct {
	link   *link
	open   func() (abi.Provider, error)
	within func(context.Context, Imports) context.Context

	mu       sync.Mutex
	sessions map[uint64]*session
	running  map[uint64]context.CancelFunc
}

// session is a provider with a configuration.
type session struct {
	provider abi.Provider
	err      error
}

func (s *server) handle(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Kind == cancels {
		if cancel := s.running[m.ID]; cancel != nil {
			cancel()
		}
		return
	}
	of := s.sessions[m.Session]
	if of == nil {
		of = &session{}
		of.provider, of.err = s.open()
		s.sessions[m.Session] = of
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.running[m.ID] = cancel
	go func() {
		answer := s.serve(ctx, of, m)
		cancel()
		s.mu.Lock()
		delete(s.running, m.ID)
		s.mu.Unlock()
		_ = s.link.send(answer) // husk may have ended
	}()
}

func (s *server) serve(ctx context.Context, of *session, m message) message {
	answer := message{Kind: answers, ID: m.ID}
	if of.err != nil {
		answer.Failed = of.err.Error()
		return answer
	}
	husk := &caller{link: s.link, template: message{Kind: imports, Of: m.Of}}
	ctx = s.within(ctx, Imports{Log: canon.NewLog(husk), KV: canon.NewKV(husk), Monitor: canon.NewMonitor(husk)})
	mem := newMemory(m.Memory)
	address, err := new(canon.Server).ServeProviderFlat(ctx, of.provider, m.Function, mem, m.Args)
	if err != nil {
		answer.Failed = err.Error()
	}
	answer.Memory, answer.Result = mem.bytes, uint64(address)
	return answer
}
