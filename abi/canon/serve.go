package canon

import (
	"context"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/husk-dev/husk/abi"
)

// server serves one call: a generated function lifts the parameters with it, and then lowers the
// result.
type server struct {
	lifter
	function *Function
	params   []byte // the parameters as one record
	out      []byte // the result as it is to lie in memory
	// calling is set while the provider serves the call of an export.
	calling bool
	// await calls work that may take forever. It is nil for an ordinary call, see [Imports].
	await func(name string, do func())

	// The rest saves allocations.
	writer              lowerer
	paramsRoom, outRoom room
}

func newServer(f *Function, mem Memory, args []uint64) *server {
	s := &server{}
	s.begin(f, mem)
	if f.spilled() {
		s.params = s.area(uint32(args[0]), f.params)
	} else {
		s.params = s.paramsRoom.zeroed(f.params.size)
		if !f.params.unflatten(s.params, args) {
			s.fail("", ErrRange)
		}
	}
	if s.err != nil {
		s.params = make([]byte, f.params.size) // nothing that is read of it counts
	}
	return s
}

// begin starts a call on a server with zeroed rooms.
func (s *server) begin(f *Function, mem Memory) {
	s.function = f
	s.out = s.outRoom.zeroed(f.result.size)
	s.mem, s.root = mem, callRoot(f)
}

// beginCall reports whether the parameters could be lifted, so that the provider is called.
func (s *server) beginCall() bool {
	s.calling = s.err == nil
	return s.calling
}

// returned takes the error of a call. It returns the lowerer of the result and the result's place, nil if the call failed.
func (s *server) returned(err error) (*lowerer, []byte) {
	s.calling = false
	if err == nil {
		return s.lowerer(responseRoot(s.function)), s.out[s.function.payload:]
	}
	if s.function.fails {
		s.answerError(abi.AsError(err))
	}
	return nil, nil
}

// lowered takes what has lowered the result. A result that cannot be lowered becomes an error of the
// call.
func (s *server) lowered(w *lowerer) {
	if w.refused && s.function.fails {
		e := *abi.AsError(w.err)
		if s.function == &providerUpdate {
			e.Kind = abi.ErrorKindCrashed // it was done, and nobody knows what came of it
		}
		s.answerError(&e)
		return
	}
	s.err = w.err
}

// created is lowered for a creation. The object exists by then, so its ID is kept, whatever else cannot be lowered.
func (s *server) created(w *lowerer, id string) {
	if !w.refused || id == "" {
		s.lowered(w)
		return
	}
	s.answerError(&abi.Error{
		Kind: abi.ErrorKindInitFailed, Message: w.err.Error(),
		InitFailure: &abi.InitFailure{ID: id, Reasons: []string{w.err.Error()}, RefreshBeforeUpdate: true},
	})
}

// do calls a function of the host and lowers the result, unless the parameters could not be lifted.
func (s *server) do(call func() error, lower func(*lowerer, []byte)) {
	if s.err != nil {
		return
	}
	var err error
	if s.await == nil {
		err = call()
	} else {
		s.await(moduleName(s.function.Interface, Version)+"#"+s.function.Name, func() { err = call() })
	}
	if w, b := s.returned(err); w != nil && lower != nil {
		lower(w, b)
		s.lowered(w)
	}
}

// answerError lowers an error, without its details if these cannot be lowered. The error of a resource that exists keeps the ID. If the ID
// is not valid text, the error says that the resource exists: a changed ID would name something else.
func (s *server) answerError(e *abi.Error) {
	if e != nil && e.InitFailure != nil && !utf8.ValidString(e.InitFailure.ID) {
		left, failure := *e, *e.InitFailure
		failure.ID, failure.Reasons = "", append(slices.Clip(failure.Reasons), "its ID is lost: "+ErrUTF8.Error())
		left.InitFailure, e = &failure, &left
	}
	w := s.lowerError(e)
	if w.refused && e != nil && e.Kind == abi.ErrorKindInitFailed && e.InitFailure != nil {
		left := *e
		left.InitFailure = &abi.InitFailure{ID: e.InitFailure.ID, Reasons: []string{"its details are lost: " + w.err.Error()}, RefreshBeforeUpdate: true}
		w = s.lowerError(&left)
	}
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
	w := &s.writer
	w.mem, w.root, w.segments = s.mem, root, nil
	w.err, w.refused, w.lossy = nil, false, false
	if w.own = s.own; w.own != nil {
		w.room = w.own.room()
	}
	return w
}

// Server serves a guest's calls one by one. It holds a result until the next call begins.
type Server struct {
	// Recovered makes an error of a panic in the provider. Nil lets panics through.
	Recovered func(any) error
	// Own is the memory of the parameters and the result, nil if it belongs to another program.
	Own *Own

	server server
}

// ServeProvider serves, inside a guest, a call of the function of interface provider with that
// index. params are the parameters as one record in memory. It returns the address of the result. An
// error is a breach of the ABI by the host.
func (s *Server) ServeProvider(ctx context.Context, p abi.Provider, function int, mem Memory, params []byte) (address uint32, err error) {
	defer s.endPanicked(&address, &err)
	providerServers[function](ctx, p, s.begin(providerFunctions[function], mem, params))
	return s.end()
}

// ServeProviderFlat is ServeProvider for the arguments of the core function, as [Frame] has them. An index that no function has is
// [ErrRange].
func (s *Server) ServeProviderFlat(ctx context.Context, p abi.Provider, function int, mem Memory, args []uint64) (address uint32, err error) {
	if function < 0 || function >= len(providerFunctions) {
		return 0, ErrRange
	}
	f := providerFunctions[function]
	if wanted := len(f.signature()); len(args) != wanted {
		return 0, ErrRange
	}
	lifted := newServer(f, mem, args)
	if lifted.err != nil {
		return 0, lifted.err
	}
	return s.ServeProvider(ctx, p, function, mem, lifted.params)
}

// ServePolicy is ServeProvider for the functions of interface policy.
func (s *Server) ServePolicy(ctx context.Context, p abi.Policy, function int, mem Memory, params []byte) (address uint32, err error) {
	defer s.endPanicked(&address, &err)
	policyServers[function](ctx, p, s.begin(policyFunctions[function], mem, params))
	return s.end()
}

// ServeProgram is ServeProvider for the functions of interface program.
func (s *Server) ServeProgram(ctx context.Context, p abi.Program, function int, mem Memory, params []byte) (address uint32, err error) {
	defer s.endPanicked(&address, &err)
	programServers[function](ctx, p, s.begin(programFunctions[function], mem, params))
	return s.end()
}

// begin prepares the server for a call.
func (s *Server) begin(f *Function, mem Memory, params []byte) *server {
	served := &s.server
	served.outRoom = room{}
	served.params, served.calling = params, false
	served.err, served.segments, served.own = nil, nil, s.Own
	served.begin(f, mem)
	return served
}

// endPanicked ends a call in which the provider panicked. It is deferred, and does nothing after other calls.
func (s *Server) endPanicked(address *uint32, err *error) {
	if !s.server.calling || s.Recovered == nil {
		return
	}
	if p := recover(); p != nil && s.server.function.fails {
		s.server.answerError(abi.AsError(s.Recovered(p)))
	}
	*address, *err = s.end()
}

// end stores the result of the call.
func (s *Server) end() (uint32, error) {
	served := &s.server
	served.params = nil
	switch {
	case served.err != nil:
		return 0, served.err
	case served.own != nil:
		return served.own.keep(unsafe.Pointer(unsafe.SliceData(served.out))), nil
	}
	return served.mem.Store(served.out, served.function.result.align)
}
