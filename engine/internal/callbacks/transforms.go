// Package callbacks holds the functions that a program has registered to be called: transforms of registrations, and hooks around
// steps.
package callbacks

import (
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
)

// Transforms holds the transforms that the program has registered. The zero Transforms are none.
type Transforms struct {
	mu     sync.Mutex
	stack  []callback.ResourceTransform
	invoke []callback.InvokeTransform
	// below holds the transforms for the children of a resource: its own, then its ancestors'.
	below map[urn.URN][]callback.ResourceTransform
	// constructed holds components that were transformed, whose provider registers them once more.
	constructed map[urn.URN]bool
}

// AddStack has a transform run on all resources from now on.
func (t *Transforms) AddStack(transform callback.ResourceTransform) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stack = append(t.stack, transform)
}

// AddInvoke has a transform run on all calls of functions from now on.
func (t *Transforms) AddInvoke(transform callback.InvokeTransform) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.invoke = append(t.invoke, transform)
}

// ForResource returns the transforms of a registration in their order, and notes the ones for its children.
func (t *Transforms) ForResource(u, parent urn.URN, remote bool, own []callback.ResourceTransform) []callback.ResourceTransform {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(own) == 0 && len(t.stack) == 0 && len(t.below) == 0 {
		return nil
	}
	if t.constructed[u] {
		delete(t.constructed, u)
		return nil
	}
	if inherited := t.below[parent]; len(own) > 0 || len(inherited) > 0 {
		if len(own) == 0 {
			own = inherited
		} else {
			own = slices.Concat(own, inherited)
		}
		if t.below == nil {
			t.below = make(map[urn.URN][]callback.ResourceTransform)
		}
		t.below[u] = own
	}
	if remote {
		if t.constructed == nil {
			t.constructed = make(map[urn.URN]bool)
		}
		t.constructed[u] = true
	}
	return slices.Concat(own, t.stack)
}

// ForInvoke returns the transforms of calls of functions.
func (t *Transforms) ForInvoke() []callback.InvokeTransform {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.invoke
}
