package canon

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// server answers one call: a generated function lifts the parameters with it, and
// hands it what to do and how to lower the result.
type server struct {
	lifter
	function *Function
	params   []byte // the parameters as one record
	out      []byte // the result as it is to lie in memory
	// recovered makes an error of a panic; nil lets panics through.
	recovered func(any) error

	// What follows is part of the server, so that there is one allocation for all.
	writer              lowerer
	paramsRoom, outRoom room
}

func newServer(f *Function, mem Memory, args []uint64) *server {
	s := &server{}
	s.begin(f, mem, args)
	return s
}

// begin makes the zero server that of a call.
func (s *server) begin(f *Function, mem Memory, args []uint64) {
	s.function = f
	s.out = s.outRoom.of(f.result.size)
	s.mem, s.root = mem, callRoot(f)
	if f.spilled() {
		s.params = s.area(uint32(args[0]), f.params)
	} else {
		s.params = s.paramsRoom.of(f.params.size)
		if !f.params.unflatten(s.params, args) {
			s.fail("", ErrRange)
		}
	}
	if s.err != nil {
		s.params = make([]byte, f.params.size) // nothing that is read of it counts
	}
}

// do calls and lowers the result, unless the parameters could not be lifted. A
// result that cannot be lowered becomes an error that is answered.
func (s *server) do(call func() error, lower func(*lowerer, []byte)) {
	if s.err != nil {
		return
	}
	err := s.guarded(call)
	if err == nil && lower != nil {
		w := s.lowerer(responseRoot(s.function))
		lower(w, s.out[s.function.payload:])
		if !w.refused || !s.function.fails {
			s.err = w.err
			return
		}
		err = w.err
	}
	if err != nil && s.function.fails {
		s.answerError(abi.AsError(err))
	}
}

func (s *server) guarded(call func() error) (err error) {
	if s.recovered != nil {
		defer func() {
			if p := recover(); p != nil {
				err = s.recovered(p)
			}
		}()
	}
	return call()
}

// answerError lowers an error, without its data where that cannot be lowered.
func (s *server) answerError(e *abi.Error) {
	w := s.lowerError(e)
	if w.refused {
		w = s.lowerError(abi.NewError(abi.ErrorKindInternal, e.Message+" (its details are lost: "+w.err.Error()+")"))
	}
	s.err = w.err
}

func (s *server) lowerError(e *abi.Error) *lowerer {
	clear(s.out)
	s.out[0] = 1
	w := s.lowerer(errorRoot)
	w.failure(s.out[s.function.payload:], e)
	return w
}

func (s *server) lowerer(root root) *lowerer {
	s.writer = lowerer{mem: s.mem, path: path{root: root}}
	return &s.writer
}

// Server is what a guest serves its calls with, one after the other. The result of a call is
// stored in it, until the next one begins.
type Server struct {
	// Recovered makes the error to answer of a panic in what is served; nil lets panics
	// through.
	Recovered func(any) error

	server server
}

// ServeProvider answers, inside a guest, a call of the function of interface
// provider with that index. It returns the address of the result. An error is a breach of the
// ABI by the host.
func (s *Server) ServeProvider(ctx context.Context, p abi.Provider, function int, mem Memory, args []uint64) (uint32, error) {
	return serve(ctx, s, p, providerFunctions[function], providerServers[function], mem, args)
}

// ServePolicy is ServeProvider for the functions of interface policy.
func (s *Server) ServePolicy(ctx context.Context, p abi.Policy, function int, mem Memory, args []uint64) (uint32, error) {
	return serve(ctx, s, p, policyFunctions[function], policyServers[function], mem, args)
}

func serve[P any](ctx context.Context, with *Server, p P, f *Function, answer func(context.Context, P, *server),
	mem Memory, args []uint64,
) (uint32, error) {
	s := &with.server
	*s = server{recovered: with.Recovered}
	s.begin(f, mem, args)
	answer(ctx, p, s)
	if s.err != nil {
		return 0, s.err
	}
	return mem.Store(s.out, f.result.align)
}
