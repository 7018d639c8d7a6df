package host

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/pool"
	"github.com/husk-dev/husk/host/limit"
)

// guestMemory is the linear memory of an instance, whose size is part of the host's budget.
type guestMemory struct {
	image.Memory
	// instance is nil while the memory belongs to none.
	instance *instance
	// taken is what of the budget it has.
	taken uint64
}

// Reallocate answers the memory at its new size, nil if it cannot be that large. A guest
// then gets the answer -1 to its memory.grow.
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

// fits returns what is exceeded by a memory of that size with what the host holds for the
// instance, nil for nothing.
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

// Free does nothing: wazero must not free a memory, as a call may still run in it when the
// runtime is closed. Who has the memory does.
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
