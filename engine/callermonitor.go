package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// Foreign returns an asset or archive of a path or URL that the program has from somebody else.
func (c *callerMonitor) Foreign(ctx context.Context, v property.Value, named string) (property.Value, error) {
	return c.d.assets.AdmitForeign(ctx, v, named)
}

// OpenForeign begins to read a file whose path the program has from somebody else.
func (c *callerMonitor) OpenForeign(_ context.Context, path string) (io.ReadCloser, error) {
	return c.d.assets.OpenForeign(path)
}

// RegisterResource drives a resource to the state that the caller wants. Here and in
// what follows, the assets that a caller passes get their hashes, and the files and URLs
// that it learns of are those that the program has named.
func (c *callerMonitor) RegisterResource(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return c.RegisterTransformed(ctx, req)
}

// RegisterTransformed registers a resource with transforms of its own.
func (c *callerMonitor) RegisterTransformed(ctx context.Context, req abi.RegisterResourceRequest, transforms ...callback.ResourceTransform) (
	abi.RegisterResourceResponse, error,
) {
	inputs, err := c.d.assets.Admit(ctx, req.Inputs, c.isProgram)
	if err == nil {
		req.Inputs = inputs
		req, err = c.transformed(ctx, req, transforms)
	}
	if err != nil {
		return abi.RegisterResourceResponse{}, c.d.reportRefused(nil, req, err)
	}
	resp, err := c.monitor.RegisterResource(ctx, req)
	resp.State = c.d.assets.Withhold(resp.State)
	return resp, err
}

// RegisterOutputs sets the outputs of a component or of the stack.
func (c *callerMonitor) RegisterOutputs(ctx context.Context, req abi.RegisterOutputsRequest) error {
	outputs, err := c.d.assets.Admit(ctx, req.Outputs, c.isProgram)
	if err != nil {
		return fmt.Errorf("outputs of %s: %w", req.URN, err)
	}
	req.Outputs = outputs
	return c.monitor.RegisterOutputs(ctx, req)
}

// ReadResource looks up a resource that the stack does not manage.
func (c *callerMonitor) ReadResource(ctx context.Context, req abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	properties, err := c.d.assets.Admit(ctx, req.Properties, c.isProgram)
	if err != nil {
		return abi.ReadResourceResponse{}, fmt.Errorf("read %s %q: %w", req.Type, req.Name, err)
	}
	req.Properties = properties
	resp, err := c.monitor.ReadResource(ctx, req)
	resp.State = c.d.assets.Withhold(resp.State)
	return resp, err
}

// Invoke calls a function of a provider.
func (c *callerMonitor) Invoke(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	req, err := c.admitCall(ctx, req)
	if err != nil {
		return abi.MonitorInvokeResponse{}, fmt.Errorf("function %s: %w", req.Token, err)
	}
	resp, err := c.monitor.Invoke(ctx, req)
	resp.Result = c.d.assets.Withhold(resp.Result)
	return resp, err
}

// admitCall returns a call of a function with the hashes of its assets, after the transforms.
func (c *callerMonitor) admitCall(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeRequest, error) {
	args, err := c.d.assets.Admit(ctx, req.Args, c.isProgram)
	if err != nil {
		return req, err
	}
	req.Args = args
	return c.transformedCall(ctx, req)
}

// Call calls a method of a component.
func (c *callerMonitor) Call(ctx context.Context, req abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	args, err := c.d.assets.Admit(ctx, req.Args, c.isProgram)
	if err != nil {
		return abi.MonitorCallResponse{}, fmt.Errorf("method %s: %w", req.Token, err)
	}
	req.Args = args
	resp, err := c.monitor.Call(ctx, req)
	resp.Result = c.d.assets.Withhold(resp.Result)
	return resp, err
}

// RegisterStackTransform has a transform run on all resources from now on.
func (m *monitor) RegisterStackTransform(t callback.ResourceTransform) { m.d.transforms.AddStack(t) }

// RegisterStackInvokeTransform has a transform run on all calls of functions from now on.
func (m *monitor) RegisterStackInvokeTransform(t callback.InvokeTransform) {
	m.d.transforms.AddInvoke(t)
}

// transformed returns a registration after the transforms that are for it. What they add
// comes from the program, whoever registers the resource.
func (m *monitor) transformed(ctx context.Context, req abi.RegisterResourceRequest, own []callback.ResourceTransform) (abi.RegisterResourceRequest, error) {
	parent := m.parentOf(req.Type, req.Parent)
	all := m.d.transforms.ForResource(urn.New(m.d.Stack, m.d.Project, parent, req.Type, req.Name), parent, req.Remote, own)
	if len(all) == 0 {
		return req, nil
	}
	what := callback.Identity{Type: req.Type, Name: req.Name, Custom: req.Custom, Parent: parent}
	d := callback.Declaration{Inputs: withDependencies(req.Inputs, req.PropertyDependencies), Options: req.Options}
	for _, transform := range all {
		if err := transform(ctx, what, &d); err != nil {
			return req, fmt.Errorf("transform %s %q: %w", req.Type, req.Name, err)
		}
	}
	var err error
	req.Inputs, err = m.d.assets.Admit(ctx, d.Inputs, true)
	req.PropertyDependencies, req.Options = nil, d.Options
	return req, err
}

// withDependencies returns inputs as outputs of the resources that they come from, so that what
// a transform makes of an input says itself what it comes from.
func withDependencies(inputs property.Map, named []abi.PropertyDependency) property.Map {
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

// transformedCall returns a call of a function after the transforms.
func (m *monitor) transformedCall(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeRequest, error) {
	all := m.d.transforms.ForInvoke()
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
	req.Args, err = m.d.assets.Admit(ctx, call.Args, true)
	req.Options = call.Options
	return req, err
}

// StreamInvoke calls a function whose results come one by one.
func (c *callerMonitor) StreamInvoke(ctx context.Context, req abi.MonitorInvokeRequest) iter.Seq2[property.Value, error] {
	return func(yield func(property.Value, error) bool) {
		wanted := true
		admitted, err := c.admitCall(ctx, req)
		if err != nil {
			err = fmt.Errorf("function %s: %w", req.Token, err)
		} else {
			err = c.stream(ctx, admitted, func(v property.Value) bool {
				if m, ok := v.AsObject(); ok {
					v = property.Object(c.d.assets.Withhold(m))
				}
				wanted = yield(v, nil)
				return wanted
			})
		}
		if err != nil && wanted {
			yield(property.Null, err)
		}
	}
}

// stream calls yield with each result of a function, until it returns false, and closes the stream.
func (m *monitor) stream(ctx context.Context, req abi.MonitorInvokeRequest, yield func(property.Value) bool) error {
	provider, call, err := m.functionCall(ctx, req)
	if err != nil {
		return err
	}
	if provider == nil {
		yield(property.Unknown)
		return nil
	}
	handle, err := provider.StreamInvoke(ctx, call)
	if errors.Is(err, providers.ErrUnconfigured) {
		yield(property.Unknown)
		return nil
	}
	session, _ := provider.(*providers.Session) // nil for the engine's own package
	wanted := true
	for wanted && err == nil {
		var item abi.StreamItem
		item, err = provider.StreamNext(ctx, handle)
		switch {
		case err != nil:
		case item.Result == nil:
			return nil
		case item.Result.ContainsUnknowns() && !m.d.dryRun:
			err, wanted = errUnknownResult, false
		default:
			result := *item.Result
			if session != nil {
				result = session.MarkStreamed(call.Args, result)
			}
			wanted = yield(property.Object(result))
		}
	}
	if !wanted {
		err = errors.Join(err, provider.StreamClose(context.WithoutCancel(ctx), handle))
	}
	if err != nil {
		err = fmt.Errorf("function %s: %w", req.Token, err)
	}
	return err
}
