package capability

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// handles are the objects that a guest has open by a capability. A handle is never used again.
type handles[H ~uint64, T interface{ close() }] struct {
	// descriptors numbers them, if the guest can wait for them.
	descriptors *Descriptors
	last        H
	open        map[H]T
}

func (h *handles[H, T]) add(opened T) H {
	if h.open == nil {
		h.open = make(map[H]T)
	}
	if h.last++; h.descriptors != nil {
		h.last = H(h.descriptors.next())
	}
	h.open[h.last] = opened
	return h.last
}

// get returns the object of a handle. The message is for a guest that has no such handle.
func (h *handles[H, T]) get(handle H, missing string) (T, error) {
	opened, ok := h.open[handle]
	if !ok {
		return opened, Failure(abi.ErrorKindNotFound, missing)
	}
	return opened, nil
}

// Close gives up what a handle stands for.
func (h *handles[H, T]) Close(_ context.Context, handle H) {
	if opened, ok := h.open[handle]; ok {
		delete(h.open, handle)
		opened.close()
	}
}

// Count implements [Held].
func (h *handles[H, T]) Count() int { return len(h.open) }

// CloseAll implements [Held].
func (h *handles[H, T]) CloseAll() {
	for handle := range h.open {
		h.Close(context.Background(), handle)
	}
}
