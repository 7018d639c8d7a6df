package host

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/pool"
	"github.com/husk-dev/husk/host/limit"
)

// guestMemory is the linear memory of an instance, whose size is part of the host's budget.
type guestMemory struct {
	image.Memory
	// instance is nil while the memory belongs to none.
	instance *instance
	// taken is its part of the budget.
	taken uint64
}

// Reallocate returns the memory at its new size, nil if it cannot be that large: memory.grow returns -1.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if i := m.instance; i != nil && size > m.taken {
		s := i.sandbox
		if exceeded := m.fits(size, i.ledger.held()); exceeded != nil {
			i.refuse(exceeded)
			return nil
		}
		if err := s.takeMemory(i.ctx, size-m.taken); err != nil {
			if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
				i.refuse(exceeded)
			}
			return nil
		}
		m.taken = size
	}
	return m.Memory.Reallocate(size)
}

// fits returns the limit that a memory of that size would exceed, together with the memory that the host holds for the instance;
// nil for none.
func (m *guestMemory) fits(size, held uint64) *limit.ExceededError {
	if held <= ledgerStep {
		held = 0
	}
	most := m.instance.sandbox.config.memoryBytes()
	if size+held <= most {
		return nil
	}
	return &limit.ExceededError{Limit: limit.Memory, Most: most, Needed: size + held}
}

// Free does nothing: a call may still run in the memory when wazero closes it. The owner frees it.
func (m *guestMemory) Free() {}

// takeMemory waits for memory of the host's budget. The error is an *[limit.ExceededError], or the context's.
func (s *sandbox) takeMemory(ctx context.Context, bytes uint64) error {
	err := s.budget.Take(ctx, s.instances, bytes)
	if errors.Is(err, pool.ErrNoMemory) {
		return &limit.ExceededError{Limit: limit.TotalMemory, Most: s.module.host.config.limits.TotalMemory}
	}
	return err
}

// newEmptyImage makes the image of memories that wazero lays out.
func newEmptyImage() (*image.Image, error) {
	return image.Make(0, func([]byte) error { return nil })
}

// ledger counts the memory and files that the host holds for one instance beside its linear memory: bodies of requests, data read
// for it, connections, files, and the arguments of its last call. The bytes count as memory of the instance and the host, and the
// files count as open files. One goroutine uses it at a time.
type ledger struct {
	instance *instance
	// lasting bytes stay until released, passing bytes until the guest calls the host, or its call ends.
	lasting, passing uint64
	// reserved is their part of the host's budget.
	reserved uint64
	files    int
}

const (
	// ledgerStep is the unit in which the budget is asked, in bytes. The first step is free, and enough for most calls.
	ledgerStep = 256 << 10

	// fileBytes is the least memory that the host holds for an open file: buffers, windows of listings, goroutines.
	fileBytes = 32 << 10
)

// hold counts bytes until they are released. Those that the guest has just passed no longer count as passing.
func (l *ledger) hold(bytes uint64) error {
	passed := min(bytes, l.passing)
	l.passing -= passed
	l.lasting += bytes
	err := l.settle()
	if err != nil {
		l.lasting -= bytes
		l.passing += passed
	}
	return err
}

// Release ends what hold has begun.
func (l *ledger) Release(bytes uint64) {
	l.lasting -= bytes
	_ = l.settle() // it asks for no more
}

// pass counts bytes until the guest calls the host again, or its call ends.
func (l *ledger) pass(bytes uint64) error {
	l.passing += bytes
	if l.lasting+l.passing <= l.reserved+ledgerStep {
		return nil
	}
	err := l.settle()
	if err != nil {
		l.passing -= bytes
	}
	return err
}

// passed ends the count of pass.
func (l *ledger) passed() {
	if l.passing > 0 {
		l.passing = 0
		_ = l.settle() // it asks for no more
	}
}

// settle takes the held memory from the budget, or gives back the rest.
func (l *ledger) settle() error {
	held := l.held()
	var want uint64
	if held > ledgerStep {
		want = (held - 1) / ledgerStep * ledgerStep
	}
	s := l.instance.sandbox
	switch {
	case want < l.reserved:
		s.budget.Free(s.instances, l.reserved-want)
	case want > l.reserved:
		if exceeded := l.instance.memory.fits(l.instance.memory.taken, held); exceeded != nil {
			return l.refuse(exceeded)
		}
		if err := s.takeMemory(l.instance.ctx, want-l.reserved); err != nil {
			if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
				return l.refuse(exceeded)
			}
			return err
		}
	}
	l.reserved = want
	return nil
}

func (l *ledger) held() uint64 { return l.lasting + l.passing }

// refuse notes what the guest is refused, and returns the error for the guest.
func (l *ledger) refuse(exceeded *limit.ExceededError) error {
	l.instance.refuse(exceeded)
	return heldError{exceeded}
}

// heldError is an exceeded limit in words for the guest. The error of the call has the limit itself.
type heldError struct{ exceeded *limit.ExceededError }

func (r heldError) Error() string {
	if r.exceeded.Limit == limit.OpenFiles || r.exceeded.Limit == limit.TotalFiles {
		return "too many files and connections are open: close some"
	}
	return "the host holds no more memory for it"
}

func (r heldError) Unwrap() error { return r.exceeded }

// open counts files that are opened, and reports whether there may be as many.
func (l *ledger) open(files int) bool { return l.opening(files) == nil }

// opening is open with the reason why there may not be as many.
func (l *ledger) opening(files int) error {
	s := l.instance.sandbox
	if most := s.config.limits.OpenFiles; l.files+files > most {
		return l.refuse(&limit.ExceededError{Limit: limit.OpenFiles, Most: uint64(most)})
	}
	if err := l.hold(uint64(files) * fileBytes); err != nil {
		return err
	}
	all, most := &s.module.host.files, s.config.limits.TotalOpenFiles
	if all.Add(int64(files)) > int64(most) {
		all.Add(-int64(files))
		l.Release(uint64(files) * fileBytes)
		return l.refuse(&limit.ExceededError{Limit: limit.TotalFiles, Most: uint64(most)})
	}
	l.files += files
	return nil
}

// closed ends what open has begun.
func (l *ledger) closed(files int) {
	l.files -= files
	l.instance.sandbox.module.host.files.Add(-int64(files))
	l.Release(uint64(files) * fileBytes)
}

// end gives back all that the instance has.
func (l *ledger) end() {
	l.closed(l.files)
	l.lasting, l.passing = 0, 0
	_ = l.settle() // it asks for no more
}

// Acquire opens and holds, and Abandon reverses it. All of this is the [capability.Ledger].
func (l *ledger) Acquire(what string, files int, bytes uint64) error {
	if err := l.opening(files); err != nil {
		return tooMuchHeld(what, err)
	}
	if err := l.hold(bytes); err != nil {
		l.closed(files)
		return tooMuchHeld(what, err)
	}
	return nil
}

func (l *ledger) Abandon(files int, bytes uint64) {
	l.closed(files)
	l.Release(bytes)
}

func (l *ledger) Hold(what string, bytes uint64) error { return tooMuchHeld(what, l.hold(bytes)) }

func (l *ledger) Passing() uint64 { return l.passing }

func (l *ledger) Pass(what string, bytes uint64) error { return tooMuchHeld(what, l.pass(bytes)) }

// tooMuchHeld returns the error for a guest. Errors of a context stay as they are.
func tooMuchHeld(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, &heldError{}):
		return capability.Failure(abi.ErrorKindUnavailable, what+": "+err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return capability.Failure(abi.ErrorKindCancelled, what+": the call was cancelled")
	}
	return err
}

// A compilation takes memory in steps, the machine code some 14 times the module's size. Go's collector would let
// each step double what the one before it has left. For
// large modules it keeps within a limit, so that one of 64 MB compiles in 2 GB.
const (
	// largeModule is the size in bytes from which memory is saved. Smaller modules need less than 1 GB.
	largeModule = 32 << 20
	// largeShare is how much memory of Go's a compilation has, in sizes of its module. The machine code is
	// beside that.
	largeShare = 20
)

// collector is the setting of Go's collector, which all of the process share, while large modules are compiled.
var collector struct {
	mu sync.Mutex
	// sizes are of the modules that are being compiled, in bytes. The rest was read before the first of them:
	// the limit, and how much memory there was.
	sizes, before, used int64
}

// limitMemory limits the memory of Go while a module of that size is compiled, until the caller calls over.
func limitMemory(size int) (over func()) {
	if size < largeModule {
		return func() {}
	}
	c := &collector
	change := func(by int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sizes == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			c.before, c.used = debug.SetMemoryLimit(-1), int64(m.Sys-m.HeapReleased)
		}
		c.sizes += by
		if c.sizes == 0 {
			debug.SetMemoryLimit(c.before)
		} else {
			debug.SetMemoryLimit(min(c.before, c.used+largeShare*c.sizes))
		}
	}
	change(int64(size))
	return func() { change(-int64(size)) }
}

// releaseMemory gives the system back what a step in the compilation of a module of that size has left.
func releaseMemory(size int) {
	if size >= largeModule {
		debug.FreeOSMemory()
	}
}
