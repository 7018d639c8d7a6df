package enginetest

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Program is a program written as a function. The stack's root is registered
// before it runs.
type Program func(p *Run) error

// Run registers the resources of a Program.
type Run struct {
	Ctx     context.Context
	Context abi.RunContext
	Monitor abi.Monitor
	Root    urn.URN
}

// Run implements engine.Program.
func (f Program) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) error {
	root, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: urn.RootType, Name: run.Project + "-" + run.Stack,
	})
	if err != nil {
		return err
	}
	return f(&Run{Ctx: ctx, Context: run, Monitor: m, Root: root.URN})
}

// Pure is a program that does not ask whether it is previewed.
type Pure struct{ Program }

// Pure implements engine.Pure.
func (Pure) Pure() {}

// Resource is a registered resource.
type Resource struct {
	abi.RegisterResourceResponse
}

// Out returns a property of the resource as an output with its dependency. It is unknown if a preview
// does not know it, or if the resource failed.
func (r Resource) Out(key string) property.Value {
	v := r.State.Get(key)
	if r.Result != abi.RegistrationResultSuccess {
		v = property.Unknown
	}
	if key == "id" {
		v = property.String(r.ID)
		if r.ID == "" {
			v = property.Unknown
		}
	}
	secret := v.IsSecret()
	return property.OutputOf(property.Output{
		Value: v.Plain(), Secret: secret, Dependencies: []string{string(r.URN)},
	})
}

// Reference returns the resource, a provider, as a provider reference.
func (r Resource) Reference() string {
	id := r.ID
	if id == "" {
		id = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
	}
	return string(r.URN) + "::" + id
}

// Props makes properties from pairs of keys and values: strings, numbers, bools, and property.Values.
func Props(pairs ...any) property.Map {
	var entries []property.Entry
	for i := 0; i < len(pairs); i += 2 {
		var v property.Value
		switch x := pairs[i+1].(type) {
		case property.Value:
			v = x
		case string:
			v = property.String(x)
		case int:
			v = property.Number(float64(x))
		case bool:
			v = property.Bool(x)
		default:
			panic("enginetest.Props: unsupported value")
		}
		entries = append(entries, property.Entry{Key: pairs[i].(string), Value: v})
	}
	return property.NewMap(entries...)
}

// OptionsOf sets options of a resource.
type OptionsOf = func(*abi.ResourceOptions)

// Custom registers a custom resource.
func (p *Run) Custom(typ, name string, inputs property.Map, options ...OptionsOf) (Resource, error) {
	return p.register(abi.RegisterResourceRequest{Type: typ, Name: name, Custom: true, Inputs: inputs}, options)
}

// Component registers a component.
func (p *Run) Component(typ, name string, inputs property.Map, options ...OptionsOf) (Resource, error) {
	return p.register(abi.RegisterResourceRequest{Type: typ, Name: name, Inputs: inputs}, options)
}

// Child registers a custom resource under a parent.
func (p *Run) Child(parent urn.URN, typ, name string, inputs property.Map, options ...OptionsOf) (Resource, error) {
	return p.register(abi.RegisterResourceRequest{Type: typ, Name: name, Parent: parent, Custom: true, Inputs: inputs}, options)
}

func (p *Run) register(req abi.RegisterResourceRequest, options []OptionsOf) (Resource, error) {
	for _, o := range options {
		o(&req.Options)
	}
	resp, err := p.Monitor.RegisterResource(p.Ctx, req)
	return Resource{resp}, err
}

// Outputs sets the stack's outputs.
func (p *Run) Outputs(outputs property.Map) error {
	return p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: p.Root, Outputs: outputs})
}
