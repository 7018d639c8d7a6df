package callbacks

import (
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// Hooks are those that the program has registered, by name. The zero Hooks are none.
type Hooks struct {
	Steps  locked.Map[string, callback.Hook]
	Errors locked.Map[string, callback.ErrorHook]
	// Awaiting holds the steps of components whose hooks wait for their outputs.
	Awaiting locked.Map[urn.URN, ComponentStep]
}

// ComponentStep is a creation or update of a component: Old became New.
type ComponentStep struct {
	After    abi.HookKind
	Old, New *state.Resource
}

// Add makes a hook known under its name.
func (h *Hooks) Add(hook callback.Hook) error {
	return add(&h.Steps, "hook", hook.Name, hook, hook.Run != nil)
}

// AddError makes an error hook known under its name.
func (h *Hooks) AddError(hook callback.ErrorHook) error {
	return add(&h.Errors, "error hook", hook.Name, hook, hook.Run != nil)
}

func add[H any](to *locked.Map[string, H], what, name string, hook H, runs bool) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", what)
	case !runs:
		return fmt.Errorf("the %s %q has nothing to run", what, name)
	case !to.Add(name, hook):
		return fmt.Errorf("the %s %q is registered twice: give one of the two another name", what, name)
	}
	return nil
}

// Check refuses bindings of hooks that the program has not registered.
func (h *Hooks) Check(bindings []abi.HookBinding) error {
	for _, b := range bindings {
		for _, name := range b.Names {
			ok := h.Steps.Has(name)
			if b.Kind == abi.HookKindOnError {
				ok = h.Errors.Has(name)
			}
			if !ok {
				return fmt.Errorf("the %s hook %q is not registered: register it before the resource that names it", b.Kind, name)
			}
		}
	}
	return nil
}
