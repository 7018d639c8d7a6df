package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
)

// transforms are those that the program has registered.
type transforms struct {
	mu     sync.Mutex
	stack  []callback.ResourceTransform
	invoke []callback.InvokeTransform
	// below holds the transforms for what is registered below a resource: its own, then
	// its ancestors'. Resources with the same ones share a slice.
	below map[urn.URN][]callback.ResourceTransform
	// constructed holds components whose registration was transformed, and comes again
	// from the provider that makes them.
	constructed map[urn.URN]bool
}

// RegisterStackTransform has a transform run on all resources from now on.
func (m *monitor) RegisterStackTransform(t callback.ResourceTransform) {
	m.d.transforms.mu.Lock()
	defer m.d.transforms.mu.Unlock()
	m.d.transforms.stack = append(m.d.transforms.stack, t)
}

// RegisterStackInvokeTransform has a transform run on all calls of functions from now on.
func (m *monitor) RegisterStackInvokeTransform(t callback.InvokeTransform) {
	m.d.transforms.mu.Lock()
	defer m.d.transforms.mu.Unlock()
	m.d.transforms.invoke = append(m.d.transforms.invoke, t)
}

// forResource returns the transforms of a registration, in their order, and notes those
// that are for what is registered below it.
func (t *transforms) forResource(d *deployment, req abi.RegisterResourceRequest, parent urn.URN, own []callback.ResourceTransform) []callback.ResourceTransform {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(own) == 0 && len(t.stack) == 0 && len(t.below) == 0 {
		return nil
	}
	u := urn.New(d.Stack, d.Project, parent, req.Type, req.Name)
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
	if req.Remote {
		if t.constructed == nil {
			t.constructed = make(map[urn.URN]bool)
		}
		t.constructed[u] = true
	}
	return slices.Concat(own, t.stack)
}

func (t *transforms) forInvoke() []callback.InvokeTransform {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.invoke
}

// transformed is a registration after the transforms that are for it. What they add
// comes from the program, whoever registers the resource.
func (m *monitor) transformed(ctx context.Context, req abi.RegisterResourceRequest, own []callback.ResourceTransform) (abi.RegisterResourceRequest, error) {
	parent := m.parentOf(req.Type, req.Parent)
	all := m.d.transforms.forResource(m.d, req, parent, own)
	if len(all) == 0 {
		return req, nil
	}
	what := callback.Identity{Type: req.Type, Name: req.Name, Custom: req.Custom, Parent: parent}
	d := callback.Declaration{Inputs: carrying(req.Inputs, req.PropertyDependencies), Options: req.Options}
	for _, transform := range all {
		if err := transform(ctx, what, &d); err != nil {
			return req, fmt.Errorf("transform %s %q: %w", req.Type, req.Name, err)
		}
	}
	var err error
	req.Inputs, err = m.d.assets.admit(ctx, d.Inputs, true)
	req.PropertyDependencies, req.Options = nil, d.Options
	return req, err
}

// carrying returns inputs as outputs of the resources that they come from, so that what
// a transform makes of an input says itself what it comes from.
func carrying(inputs property.Map, named []abi.PropertyDependency) property.Map {
	for _, n := range named {
		v, ok := inputs.Lookup(n.Key)
		if !ok {
			continue
		}
		known := v.Dependencies()
		dependencies := make([]string, 0, len(n.URNs))
		for _, u := range n.URNs {
			if _, found := slices.BinarySearch(known, string(u)); !found {
				dependencies = append(dependencies, string(u))
			}
		}
		if len(dependencies) > 0 {
			inputs = inputs.With(n.Key, property.OutputOf(property.Output{Value: v, Dependencies: dependencies}))
		}
	}
	return inputs
}

// transformedCall is a call of a function after the transforms.
func (m *monitor) transformedCall(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeRequest, error) {
	all := m.d.transforms.forInvoke()
	if len(all) == 0 {
		return req, nil
	}
	call := callback.FunctionCall{Args: req.Args, Options: req.Options}
	for _, transform := range all {
		if err := transform(ctx, req.Token, &call); err != nil {
			return req, fmt.Errorf("transform: %w", err)
		}
	}
	var err error
	req.Args, err = m.d.assets.admit(ctx, call.Args, true)
	req.Options = call.Options
	return req, err
}
