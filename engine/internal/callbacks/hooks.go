package callbacks

import (
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// Hooks holds the hooks that the program has registered, by name, and its actions. The zero Hooks are none.
type Hooks struct {
	Steps   locked.Map[string, callback.Hook]
	Errors  locked.Map[string, callback.ErrorHook]
	Actions locked.Map[string, callback.Action]
	// Bound holds the bindings of the resources that name actions, which the state does not have.
	Bound locked.Map[urn.URN, []abi.HookBinding]
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
	if h.Actions.Has(hook.Name) {
		return twice("hook", hook.Name)
	}
	return add(&h.Steps, "hook", hook.Name, hook, hook.Run != nil)
}

// AddError makes an error hook known under its name.
func (h *Hooks) AddError(hook callback.ErrorHook) error {
	return add(&h.Errors, "error hook", hook.Name, hook, hook.Run != nil)
}

// AddAction makes an action known under its name.
func (h *Hooks) AddAction(a callback.Action) error {
	switch {
	case a.Function == "":
		return fmt.Errorf("the action %q names no function", a.Name)
	case h.Steps.Has(a.Name):
		return twice("action", a.Name)
	}
	return add(&h.Actions, "action", a.Name, a, a.Call != nil)
}

func twice(what, name string) error {
	return fmt.Errorf("the %s %q is registered twice: give one of the two another name", what, name)
}

func add[H any](to *locked.Map[string, H], what, name string, hook H, runs bool) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", what)
	case !runs:
		return fmt.Errorf("the %s %q has nothing to run", what, name)
	case !to.Add(name, hook):
		return twice(what, name)
	}
	return nil
}

// Bind returns the bindings of a resource that the state records: only the ones of hooks. It keeps all of them if
// some are of actions. A binding of a name that the program has not registered is an error.
func (h *Hooks) Bind(u urn.URN, bindings []abi.HookBinding) ([]abi.HookBinding, error) {
	recorded, acts := bindings[:0:0], false
	for _, b := range bindings {
		hooks := abi.HookBinding{Kind: b.Kind}
		for _, name := range b.Names {
			switch {
			case b.Kind == abi.HookKindOnError && h.Errors.Has(name), b.Kind != abi.HookKindOnError && h.Steps.Has(name):
				hooks.Names = append(hooks.Names, name)
			case !h.Actions.Has(name):
				return nil, fmt.Errorf("the %s hook %q is not registered: register it before the resource that names it", b.Kind, name)
			case !slices.Contains(actionKinds, b.Kind):
				return nil, fmt.Errorf("the %s hook %q is an action: actions run before and after creations and updates", b.Kind, name)
			default:
				acts = true
			}
		}
		recorded = append(recorded, hooks)
	}
	if acts {
		h.Bound.Set(u, bindings)
	}
	return recorded, nil
}

// actionKinds are the hooks that can be actions.
var actionKinds = []abi.HookKind{abi.HookKindBeforeCreate, abi.HookKindAfterCreate, abi.HookKindBeforeUpdate, abi.HookKindAfterUpdate}

// ActionKind returns the kind of that name, if it can be an action's.
func ActionKind(name string) (abi.HookKind, bool) {
	for _, kind := range actionKinds {
		if kind.String() == name {
			return kind, true
		}
	}
	return 0, false
}

// BoundActions returns the actions of a resource for a kind, in their order.
func (h *Hooks) BoundActions(u urn.URN, kind abi.HookKind) (actions []callback.Action) {
	for _, b := range h.Bound.Get(u) {
		for _, name := range b.Names {
			if a, ok := h.Actions.Lookup(name); ok && b.Kind == kind {
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// Names returns the hooks and actions of a resource for a kind, in their order.
func (h *Hooks) Names(res *state.Resource, kind abi.HookKind, recorded string) []string {
	if !slices.Contains(actionKinds, kind) || !h.Bound.Has(res.URN) {
		return res.ResourceHooks[recorded]
	}
	var names []string
	for _, b := range h.Bound.Get(res.URN) {
		if b.Kind == kind {
			names = append(names, b.Names...)
		}
	}
	return names
}
