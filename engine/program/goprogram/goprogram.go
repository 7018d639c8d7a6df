// Package goprogram makes Go functions into programs of a host that embeds the engine:
//
//	engine.Run(ctx, engine.Deployment{…}, engine.Up{Program: goprogram.Func(shop)})
//
// A registration returns when the resource is there; goroutines make independent ones in parallel.
// Pass what a resource gives to another as an output, see [Resource.Output].
//
// An asset or archive in an output of a resource is foreign, because a provider may have chosen its
// path or URL. To make one of a plain string of a provider, use [Stack.Foreign].
package goprogram

import (
	"context"
	"fmt"
	"iter"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
)

// Func is a program. The stack's root is registered before it runs, and it returns the stack's outputs. It must wait for its
// goroutines.
type Func func(ctx context.Context, s *Stack) (outputs property.Map, err error)

// Run registers the stack with the monitor and runs the function.
func (f Func) Run(ctx context.Context, run abi.RunContext, monitor abi.Monitor) error {
	m, ok := monitor.(callback.Monitor)
	if !ok {
		return fmt.Errorf("run the program: the monitor %T takes no callbacks", monitor)
	}
	s := &Stack{RunContext: run, monitor: m}
	root, err := s.register(ctx, Declaration{Type: urn.RootType, Name: run.Project + "-" + run.Stack}, false, false)
	if err != nil {
		return fmt.Errorf("register the stack: %w", err)
	}
	outputs, err := f(ctx, s)
	if err != nil {
		return err
	}
	if err := root.RegisterOutputs(ctx, outputs); err != nil {
		return fmt.Errorf("register the stack's outputs: %w", err)
	}
	return nil
}

// Stack registers a program's resources. It is safe for concurrent use.
type Stack struct {
	abi.RunContext
	monitor callback.Monitor
}

// Declaration is a resource that a program wants to have.
type Declaration struct {
	Type string
	// Name is unique among the resources of the type that have the same parent.
	Name   string
	Inputs property.Map
	// Parent is nil for resources directly below the stack.
	Parent  *Resource
	Options abi.ResourceOptions
	// Transforms change the resource and all below it before they count.
	Transforms []callback.ResourceTransform
}

// Resource registers a resource of a provider.
func (s *Stack) Resource(ctx context.Context, d Declaration) (*Resource, error) {
	return s.register(ctx, d, true, false)
}

// Component registers a component that the program makes. Call its [Resource.RegisterOutputs] at
// the end.
func (s *Stack) Component(ctx context.Context, d Declaration) (*Resource, error) {
	return s.register(ctx, d, false, false)
}

// RemoteComponent registers a component that its provider makes.
func (s *Stack) RemoteComponent(ctx context.Context, d Declaration) (*Resource, error) {
	return s.register(ctx, d, false, true)
}

func (s *Stack) register(ctx context.Context, d Declaration, custom, remote bool) (*Resource, error) {
	resp, err := s.monitor.RegisterTransformed(ctx, abi.RegisterResourceRequest{
		Type: d.Type, Name: d.Name, Parent: d.Parent.urn(), Custom: custom, Remote: remote,
		Inputs: d.Inputs, Options: d.Options,
	}, d.Transforms...)
	if err != nil {
		return nil, err
	}
	return &Resource{URN: resp.URN, ID: resp.ID, State: resp.State, s: s, custom: custom, resp: resp}, nil
}

// Read looks up a resource that the stack does not manage, by its ID and perhaps inputs.
func (s *Stack) Read(ctx context.Context, d Declaration, id string) (*Resource, error) {
	resp, err := s.monitor.ReadResource(ctx, abi.ReadResourceRequest{
		ID: id, Type: d.Type, Name: d.Name, Parent: d.Parent.urn(), Properties: d.Inputs, Options: d.Options,
	})
	if err != nil {
		return nil, err
	}
	return &Resource{URN: resp.URN, ID: id, State: resp.State, s: s, custom: true}, nil
}

// Invoke calls a function of a package. The result is unknown if a preview cannot know it.
func (s *Stack) Invoke(ctx context.Context, token string, args property.Map, o abi.FunctionOptions) (property.Value, error) {
	resp, err := s.monitor.Invoke(ctx, abi.MonitorInvokeRequest{Token: token, Args: args, Options: o})
	return result(token, resp, err)
}

// OpenEphemeral calls a function that opens an ephemeral value, see [callback.Monitor]. The result is
// unknown if a preview cannot know it.
func (s *Stack) OpenEphemeral(ctx context.Context, token string, args property.Map, o abi.FunctionOptions) (property.Value, error) {
	resp, err := s.monitor.OpenEphemeral(ctx, abi.MonitorInvokeRequest{Token: token, Args: args, Options: o})
	return result(token, resp, err)
}

func result(token string, resp abi.MonitorInvokeResponse, err error) (property.Value, error) {
	switch {
	case err != nil:
		return property.Null, err
	case resp.Unknown:
		return property.Unknown, nil
	case len(resp.Failures) > 0:
		f := abi.NewError(abi.ErrorKindInvalidArgument, resp.Failures[0].Reason)
		f.Path = resp.Failures[0].Path
		return property.Null, fmt.Errorf("function %s: %w", token, f)
	}
	return property.Object(resp.Result), nil
}

// InvokeStream calls a function whose results come one by one, when they are asked for. If a
// preview cannot know them, there is one unknown value. An error ends them.
func (s *Stack) InvokeStream(ctx context.Context, token string, args property.Map, o abi.FunctionOptions) iter.Seq2[property.Value, error] {
	return s.monitor.StreamInvoke(ctx, abi.MonitorInvokeRequest{Token: token, Args: args, Options: o})
}

// Foreign returns an asset or archive whose path or URL comes from a provider, another stack, or a
// file, see [callback.Monitor]. named is the part of a URL that the program itself wrote: its
// scheme and host may be in a private network.
func (s *Stack) Foreign(ctx context.Context, v property.Value, named string) (property.Value, error) {
	return s.monitor.Foreign(ctx, v, named)
}

// Hook makes a hook known, for the options of later registrations.
func (s *Stack) Hook(h callback.Hook) error { return s.monitor.RegisterHook(h) }

// ErrorHook makes an error hook known, for the options of later registrations.
func (s *Stack) ErrorHook(h callback.ErrorHook) error { return s.monitor.RegisterErrorHook(h) }

// Action makes an action known, for the hooks in the options of later registrations.
func (s *Stack) Action(a callback.Action) error { return s.monitor.RegisterAction(a) }

// Transform runs a transform on every resource that is registered after it, also in components.
func (s *Stack) Transform(t callback.ResourceTransform) { s.monitor.RegisterStackTransform(t) }

// TransformInvokes has a transform run on every call of a function after it.
func (s *Stack) TransformInvokes(t callback.InvokeTransform) {
	s.monitor.RegisterStackInvokeTransform(t)
}

// Resource is a resource that was registered or read.
type Resource struct {
	URN urn.URN
	// ID is empty for components, and in a preview for objects that do not exist.
	ID string
	// State holds its outputs.
	State property.Map

	s      *Stack
	custom bool
	resp   abi.RegisterResourceResponse
}

func (r *Resource) urn() urn.URN {
	if r == nil {
		return ""
	}
	return r.URN
}

// Output returns a property of the resource as an output; "id" is its ID. It is unknown if a
// preview does not know it, or if the resource failed and the deployment goes on.
func (r *Resource) Output(name string) property.Value {
	v, ok := r.State.Lookup(name)
	switch {
	case r.resp.Result != abi.RegistrationResultSuccess, name == "id" && r.custom && r.ID == "":
		v = property.Unknown
	case name == "id" && r.custom:
		v = property.String(r.ID)
	case !ok && r.s.DryRun:
		v = property.Unknown
	}
	return property.OutputOf(property.Output{Value: v, Dependencies: r.dependencies(name)})
}

// dependencies are the resource and, for a remote component, what the output comes from.
func (r *Resource) dependencies(name string) []string {
	urns := []string{string(r.URN)}
	for _, d := range r.resp.StateDependencies {
		if d.Key != name {
			continue
		}
		for _, u := range d.URNs {
			urns = append(urns, string(u))
		}
	}
	return urns
}

// Reference names the resource, a provider, in the options of others.
func (r *Resource) Reference() string { return string(r.URN) + "::" + r.ID }

// RegisterOutputs sets the outputs of a component, once its children are registered.
func (r *Resource) RegisterOutputs(ctx context.Context, outputs property.Map) error {
	return r.s.monitor.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: r.URN, Outputs: outputs})
}
