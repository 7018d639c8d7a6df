package canon

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// Instance is an instantiated module, as a WebAssembly runtime offers it.
type Instance interface {
	// Call calls the export with that index in its world's [ExportTable]. stack holds the arguments
	// and then the result, and has room for both. Imports may be called during the call, and call
	// exports in turn.
	Call(ctx context.Context, export int, stack []uint64) error
	// Memory returns the module's current memory.
	Memory() LinearMemory
}

// LinearMemory is the exported memory of an instance. Both methods report whether the bytes are
// inside of it. Read returns a view.
type LinearMemory interface {
	Read(offset, n uint32) ([]byte, bool)
	Write(offset uint32, data []byte) bool
}

// Guest is an instance as a provider or, see [Guest.Policy] and [Guest.Program], as a policy pack or program. Like the instance, it
// serves one call at a time.
//
// Its methods return an *abi.Error of the guest, an *Error for a value that cannot cross, or an
// error of Instance.Call, such as a trap. After a trap or a breach of the ABI, see [Guest.Broken],
// the instance must be discarded.
type Guest struct {
	abi.Provider
	// Await calls do, the host's work for an import, which may take forever, and returns when do has
	// ended. It may panic before: do uses nothing of the instance. name is the import with its
	// module, as in husk:provider/http@0.2.0#send. Nil calls do.
	Await func(name string, do func())
	// Charge accounts for bytes of the module before they are copied, and fails if the module may
	// have no more. Nil means no bound. An import returns the error to the module, if its signature
	// has a result for errors.
	Charge func(bytes uint64) error

	// Version is the version of the contract that the module was built for, empty for the newest. A
	// function that is newer is an error of the kind unimplemented.
	Version string
	// Announced are the [abi.AnnouncedFeatures] that the module announces: all of them, unless a host sets it.
	Announced abi.Features

	instance Instance
	codec    Codec
	limit    uint64
	broken   error
	arena    arena
}

var _ abi.Provider = (*Guest)(nil)

// NewGuest returns the instance as a guest. Each crossing from the guest, a result or the arguments
// of an import, may take at most limit bytes.
func NewGuest(instance Instance, codec Codec, limit uint64) *Guest {
	g := &Guest{instance: instance, codec: codec, limit: limit, Announced: abi.AnnouncedFeatures}
	g.arena.instance, _ = instance.(ArenaInstance)
	g.Provider = NewProvider(g)
	return g
}

// Handshake passes the features that the module's version of the contract has, and that it announces.
func (g *Guest) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	if g.Version == versions[0] {
		request.Features = request.Features.Since010()
	}
	request.Features &^= abi.AnnouncedFeatures &^ g.Announced
	return g.Provider.Handshake(ctx, request)
}

// Policy returns the instance as a policy pack.
func (g *Guest) Policy() abi.Policy { return NewPolicy(g) }

// Program returns the instance as a program.
func (g *Guest) Program() abi.Program { return NewProgram(g) }

// Broken returns the trap or breach of the ABI after which the instance must not be used, or nil.
// The method may have succeeded, if only the release of its result failed.
func (g *Guest) Broken() error { return g.broken }

func (g *Guest) breakWith(err error) {
	if g.broken == nil {
		g.broken = err
	}
}

// Begin begins a call of an export.
func (g *Guest) Begin(ctx context.Context, f *Function) Frame {
	c := &exportCall{}
	c.frame = exportFrame{ctx: ctx, guest: g, function: f, budget: g.limit, crossing: &c.crossing, shared: c.shared[:0]}
	return &c.frame
}

// exportCall holds the data of a call of an export, in one allocation.
type exportCall struct {
	frame    exportFrame
	crossing crossing
	shared   [mostShared]sharedBytes
}

// mostShared is the most property maps and other long bytes that nearly all calls pass.
const mostShared = 4

// exportFrame is one crossing between a host and an instance.
type exportFrame struct {
	ctx      context.Context
	guest    *Guest
	function *Function
	budget   uint64 // bytes that may still be lifted
	stack    []uint64
	crossing *crossing
	// shared are bytes in the module's arena.
	shared []sharedBytes
	// refused is the error of the guest's Charge.
	refused error
	// memory and room belong to the module until it runs again.
	memory LinearMemory
	room   arenaRoom
}

func (e *exportFrame) linear() LinearMemory {
	if e.memory == nil {
		e.memory = e.guest.instance.Memory()
	}
	return e.memory
}

// run calls an export that the call needs beside its own.
func (e *exportFrame) run(export int, stack []uint64) error {
	return e.ran(e.guest.instance.Call(e.ctx, export, stack))
}

// ran takes the error of an export, which may have moved and changed the memory.
func (e *exportFrame) ran(err error) error {
	e.memory, e.room = nil, arenaRoom{}
	if err != nil {
		e.guest.breakWith(err)
	}
	return err
}

func (e *exportFrame) Imported() bool { return false }

func (e *exportFrame) Codec() Codec { return e.guest.codec }

func (e *exportFrame) View(ptr, n uint32) ([]byte, error) {
	data, ok := e.linear().Read(ptr, n)
	if !ok {
		return nil, ErrOutOfBounds
	}
	return data, nil
}

func (e *exportFrame) Take(ptr, n uint32) ([]byte, error) {
	data, err := e.View(ptr, n)
	if err != nil {
		return nil, err
	}
	taken := make([]byte, n)
	copy(taken, data)
	return taken, nil
}

func (e *exportFrame) Charge(n uint64) error {
	if n > e.budget {
		return &LimitError{Limit: e.guest.limit}
	}
	e.budget -= n
	if e.guest.Charge == nil {
		return nil
	}
	err := e.guest.Charge(n)
	if err != nil {
		e.refused = err
	}
	return err
}

func (e *exportFrame) Store(data []byte, align uint32) (uint32, error) {
	if !e.guest.arena.asked {
		if err := e.guest.findArena(e.ctx); err != nil {
			return 0, err
		}
	}
	if ptr, ok := e.place(data); ok {
		return ptr, nil
	}
	stack := []uint64{0, 0, uint64(align), uint64(len(data))}
	if err := e.run(exportRealloc, stack); err != nil {
		return 0, err
	}
	ptr := uint32(stack[0])
	return ptr, e.write(ptr, data, align)
}

func (e *exportFrame) write(ptr uint32, data []byte, align uint32) (err error) {
	if ptr%align != 0 {
		err = ErrMisaligned
	} else if !e.linear().Write(ptr, data) {
		err = ErrOutOfBounds
	} else {
		return nil
	}
	e.guest.breakWith(err)
	return err
}

func (e *exportFrame) Call(args []uint64) (uint64, error) {
	if v := e.guest.Version; v != "" && !hasFunction(versions, v, e.function.Since) {
		return 0, abi.NewError(abi.ErrorKindUnimplemented, "the module speaks version "+v+" of "+Package+", "+e.function.Name+" came with "+e.function.Since)
	}
	if err := e.guest.findArena(e.ctx); err != nil {
		return 0, err
	}
	e.stack = append(args, 0) // at least one for the result
	err := e.ran(e.guest.instance.Call(e.ctx, exportOf(e.function), e.stack))
	return e.stack[0], err
}

func (e *exportFrame) End(breach error) {
	if breach != nil {
		e.guest.breakWith(breach)
	}
	if !e.function.indirect() || e.guest.arena.offered {
		return
	}
	// stack[0] still is the result: the lifted result stays valid even if this fails, and a created resource must not get lost.
	_ = e.run(exportOf(e.function)+1, e.stack[:1])
}
