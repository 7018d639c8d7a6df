package providers

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// plainMonitor is a monitor for callers that do not understand references.
type plainMonitor struct{ abi.Monitor }

func plain(m property.Map) property.Map { return m.Lower(property.KindResourceReference) }

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
