package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// What components are given differs from what resources are: their inputs keep the
// dependencies of each part, where the provider understands outputs, since they become
// inputs of other resources. For the same reason secrets are never unwrapped: nobody
// could mark what a component makes of them. References are as the provider
// understands them, in what it is asked and in what its monitor answers.

// Construct calls the provider.
func (s *session) Construct(ctx context.Context, req abi.ConstructRequest) (abi.ConstructResponse, error) {
	req.Inputs, req.InputDependencies = s.lowerDependent(req.Inputs, req.InputDependencies)
	return s.Provider.Construct(s.withMonitor(ctx), req)
}

// Call calls the provider.
func (s *session) Call(ctx context.Context, req abi.CallRequest) (abi.CallResponse, error) {
	req.Args, req.ArgDependencies = s.lowerDependent(req.Args, req.ArgDependencies)
	return s.Provider.Call(s.withMonitor(ctx), req)
}

// lowerDependent turns inputs that may hold outputs into what the provider
// understands. Without outputs, the dependencies are those of each input as a whole.
func (s *session) lowerDependent(m property.Map, named []abi.PropertyDependency) (property.Map, []abi.PropertyDependency) {
	m = lowerMap(m, true, s.understands(abi.FeaturesResourceReferences))
	if s.understands(abi.FeaturesOutputs) {
		return m, named
	}
	folded, byKey, _ := foldInputs(m, named, nil)
	dependencies := make([]abi.PropertyDependency, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		dependencies = append(dependencies, abi.PropertyDependency{Key: key, URNs: byKey[key]})
	}
	return folded, dependencies
}

// withMonitor makes the monitor of the call answer what the provider understands.
func (s *session) withMonitor(ctx context.Context) context.Context {
	m := abi.MonitorFrom(ctx)
	if m == nil || s.understands(abi.FeaturesResourceReferences) {
		return ctx
	}
	return abi.WithMonitor(ctx, plainMonitor{m})
}

// plainMonitor is a monitor for callers that do not understand references.
type plainMonitor struct{ abi.Monitor }

func plain(m property.Map) property.Map { return lowerMap(m, true, false) }

// RegisterResource registers a resource.
func (p plainMonitor) RegisterResource(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	resp, err := p.Monitor.RegisterResource(ctx, req)
	resp.State = plain(resp.State)
	return resp, err
}

// ReadResource reads a resource.
func (p plainMonitor) ReadResource(ctx context.Context, req abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	resp, err := p.Monitor.ReadResource(ctx, req)
	resp.State = plain(resp.State)
	return resp, err
}

// Invoke calls a function.
func (p plainMonitor) Invoke(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	resp, err := p.Monitor.Invoke(ctx, req)
	resp.Result = plain(resp.Result)
	return resp, err
}

// Call calls a method of a component.
func (p plainMonitor) Call(ctx context.Context, req abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	resp, err := p.Monitor.Call(ctx, req)
	resp.Result = plain(resp.Result)
	return resp, err
}

// Wait returns the next operation that ended.
func (p plainMonitor) Wait(ctx context.Context) (abi.Completed, error) {
	done, err := p.Monitor.Wait(ctx)
	out := &done.Outcome
	out.Registered.State = plain(out.Registered.State)
	out.ResourceRead.State = plain(out.ResourceRead.State)
	out.Invoked.Result = plain(out.Invoked.Result)
	out.Called.Result = plain(out.Called.Result)
	return done, err
}
