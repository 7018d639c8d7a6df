package callbacks

import (
	"fmt"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/state"
)

// Hooks are those that the program has registered. The zero Hooks are none.
type Hooks struct {
	mu     sync.Mutex
	steps  map[string]callback.Hook
	errors map[string]callback.ErrorHook
	// awaiting holds the steps of components whose hooks wait for their outputs.
	awaiting map[urn.URN]ComponentStep
}

// ComponentStep is a creation or update of a component: Old became New.
type ComponentStep struct {
	After    abi.HookKind
	Old, New *state.Resource
}

// Add makes a hook known under its name.
func (h *Hooks) Add(hook callback.Hook) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return add(&h.steps, "hook", hook.Name, hook, hook.Run != nil)
}

// AddError makes an error hook known under its name.
func (h *Hooks) AddError(hook callback.ErrorHook) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return add(&h.errors, "error hook", hook.Name, hook, hook.Run != nil)
}

func add[H any](to *map[string]H, what, name string, hook H, runs bool) error {
	_, taken := (*to)[name]
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", what)
	case !runs:
		return fmt.Errorf("the %s %q has nothing to run", what, name)
	case taken:
		return fmt.Errorf("the %s %q is registered twice: give one of the two another name", what, name)
	}
	if *to == nil {
		*to = make(map[string]H)
	}
	(*to)[name] = hook
	return nil
}

// Step returns the hook of a name.
func (h *Hooks) Step(name string) (callback.Hook, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hook, ok := h.steps[name]
	return hook, ok
}

// Error returns the error hook of a name.
func (h *Hooks) Error(name string) (callback.ErrorHook, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hook, ok := h.errors[name]
	return hook, ok
}

// Check refuses bindings of hooks that the program has not registered.
func (h *Hooks) Check(bindings []abi.HookBinding) error {
	for _, b := range bindings {
		for _, name := range b.Names {
			_, ok := h.Step(name)
			if b.Kind == abi.HookKindOnError {
				_, ok = h.Error(name)
			}
			if !ok {
				return fmt.Errorf("the %s hook %q is not registered: register it before the resource that names it", b.Kind, name)
			}
		}
	}
	return nil
}

// Await keeps the hooks after a component's step until its outputs are registered.
func (h *Hooks) Await(s ComponentStep) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.awaiting == nil {
		h.awaiting = make(map[urn.URN]ComponentStep)
	}
	h.awaiting[s.New.URN] = s
}

// Awaiting returns the step of a component whose hooks wait for its outputs, and forgets it.
func (h *Hooks) Awaiting(u urn.URN) (ComponentStep, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.awaiting[u]
	delete(h.awaiting, u)
	return s, ok
}
