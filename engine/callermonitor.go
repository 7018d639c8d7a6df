package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// Foreign returns an asset or archive of a path or URL that the program has from somebody else.
func (c *callerMonitor) Foreign(ctx context.Context, v property.Value, named string) (property.Value, error) {
	return c.d.assets.AdmitForeign(ctx, v, named)
}

// OpenForeign begins to read a file whose path the program has from somebody else.
func (c *callerMonitor) OpenForeign(_ context.Context, path string) (io.ReadCloser, error) {
	return c.d.assets.OpenForeign(path)
}

// callerMonitor is the monitor of one caller: a program, or one call of Construct or Call.
type callerMonitor struct {
	*monitor
	// isProgram is set for a program, which may name files and URLs (see assets).
	isProgram bool
	// plain marks a provider that does not understand references to resources.
	plain bool

	running sync.WaitGroup

	mu    sync.Mutex
	next  abi.OperationHandle
	count int                 // started and not yet waited for
	done  chan *abi.Completed // nil before the first was started
}

// maxStarted bounds the operations of one caller that are not waited for: far more than a component has
// children, and few enough that a runaway guest does not fill the memory.
const maxStarted = 10_000

// newCallerMonitor returns the monitor of a provider, or of a program if that is nil.
func newCallerMonitor(m *monitor, caller abi.Provider) *callerMonitor {
	s, ok := caller.(*providers.Session)
	return &callerMonitor{monitor: m, isProgram: caller == nil, plain: ok && !s.Understands(abi.FeaturesResourceReferences)}
}

// response returns properties as the caller gets them.
func (c *callerMonitor) response(m property.Map) property.Map {
	m = c.d.assets.Withhold(m)
	if c.plain {
		m = m.Lower(property.KindResourceReference)
	}
	return m
}

// drain waits for operations that the caller left behind.
func (c *callerMonitor) drain() { c.running.Wait() }

// Start begins an operation.
func (c *callerMonitor) Start(ctx context.Context, op abi.Operation) (abi.OperationHandle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == maxStarted {
		return 0, fmt.Errorf("more than %d operations started and not waited for", maxStarted)
	}
	c.count++
	c.next++
	handle := c.next
	if c.done == nil {
		c.done = make(chan *abi.Completed, maxStarted)
	}
	done := c.done
	c.running.Go(func() { done <- &abi.Completed{Handle: handle, Outcome: abi.Perform(ctx, c, op)} })
	return handle, nil
}

// Wait returns the next operation that ended.
func (c *callerMonitor) Wait(ctx context.Context) (abi.Completed, error) {
	c.mu.Lock()
	none, ended := c.count == 0, c.done
	c.mu.Unlock()
	if none {
		return abi.Completed{}, fmt.Errorf("no operation was started that is not waited for yet")
	}
	select {
	case done := <-ended:
		c.mu.Lock()
		c.count--
		c.mu.Unlock()
		return *done, nil
	case <-ctx.Done():
		return abi.Completed{}, ctx.Err()
	}
}

// RegisterResource drives a resource to the state that the caller wants. This method and the ones
// below add hashes to the caller's assets, and show the caller only files and URLs that the program
// has named.
func (c *callerMonitor) RegisterResource(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return c.register(ctx, req, nil)
}

// RegisterTransformed registers a resource with transforms of its own.
func (c *callerMonitor) RegisterTransformed(ctx context.Context, req abi.RegisterResourceRequest, transforms ...callback.ResourceTransform) (
	abi.RegisterResourceResponse, error,
) {
	return c.register(ctx, req, transforms)
}

// register drives a resource to the state that the caller wants, after its transforms.
func (c *callerMonitor) register(ctx context.Context, req abi.RegisterResourceRequest, transforms []callback.ResourceTransform) (
	resp abi.RegisterResourceResponse, err error,
) {
	inputs, err := c.d.assets.Admit(ctx, req.Inputs, c.isProgram)
	if err == nil {
		req.Inputs = inputs
		req, err = c.transformed(ctx, req, transforms)
	}
	if err != nil {
		return resp, c.d.reportRefused(nil, req, err)
	}
	if req.Remote {
		resp, err = c.construct(ctx, req)
		resp.State = c.response(resp.State)
		return resp, err
	}
	var res *state.Resource
	gl, err := c.goal(ctx, req)
	if err == nil {
		res, err = c.d.register(ctx, gl)
	}
	if err != nil {
		return c.failedRegistration(gl, req, err)
	}
	resp = abi.RegisterResourceResponse{URN: res.URN, ID: providers.ShownID(res.ID)}
	if res.Custom { // what a component has, its children are about to tell
		resp.State = c.response(res.Outputs)
	}
	if c.d.selection.IsAbsent(res.URN) {
		resp.Result = abi.RegistrationResultSkipped
	}
	return resp, nil
}

// RegisterOutputs sets the outputs of a component or of the stack.
func (c *callerMonitor) RegisterOutputs(ctx context.Context, req abi.RegisterOutputsRequest) error {
	outputs, err := c.d.assets.Admit(ctx, req.Outputs, c.isProgram)
	if err == nil {
		err = refuseEphemeral("the output", outputs)
	}
	if err != nil {
		return fmt.Errorf("outputs of %s: %w", req.URN, err)
	}
	if err := c.d.setOutputs(ctx, req.URN, outputs.Lower(property.KindOutput)); err != nil {
		return err
	}
	return c.d.applier.finishComponent(ctx, req.URN)
}

// ReadResource looks up a resource that the stack does not manage.
func (c *callerMonitor) ReadResource(ctx context.Context, req abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	resp, err := c.Read(ctx, req)
	return abi.ReadResourceResponse{URN: resp.URN, State: resp.State}, err
}

// Read looks up a resource that the stack does not manage, and says what became of that.
func (c *callerMonitor) Read(ctx context.Context, req abi.ReadResourceRequest) (resp abi.RegisterResourceResponse, err error) {
	properties, err := c.admitRead(ctx, req)
	if err != nil {
		return resp, fmt.Errorf("read %s %q: %w", req.Type, req.Name, err)
	}
	reg := abi.RegisterResourceRequest{
		Type: req.Type, Name: req.Name, Parent: req.Parent, Custom: true, Inputs: properties,
		Options: req.Options, SourcePosition: req.SourcePosition,
	}
	var res *state.Resource
	gl, err := c.goal(ctx, reg)
	if err == nil {
		res, err = c.d.read(ctx, gl, req.ID)
	}
	if err != nil {
		if resp, err = c.failedRegistration(gl, reg, err); err != nil {
			return resp, err
		}
		resp.State = c.response(c.d.unknownState(ctx, gl).Outputs)
		return resp, nil
	}
	resp = abi.RegisterResourceResponse{URN: res.URN, ID: providers.ShownID(res.ID), State: c.response(res.Outputs)}
	if c.d.selection.IsAbsent(res.URN) {
		resp.Result = abi.RegistrationResultSkipped
	}
	return resp, nil
}

// admitRead returns the properties by which an object is looked up, with the hashes of their assets.
func (c *callerMonitor) admitRead(ctx context.Context, req abi.ReadResourceRequest) (property.Map, error) {
	properties, err := c.d.assets.Admit(ctx, req.Properties, c.isProgram)
	if err == nil {
		err = refuseEphemeral("the property", properties)
	}
	return properties, err
}

// Exists reports whether an object exists.
func (c *callerMonitor) Exists(ctx context.Context, req abi.ReadResourceRequest) (exists, known bool, err error) {
	properties, err := c.admitRead(ctx, req)
	if err == nil {
		exists, known, err = c.exists(ctx, req, properties)
	}
	if err != nil {
		err = fmt.Errorf("existence of %s %q: %w", req.Type, req.ID, err)
	}
	return exists, known, err
}

// Invoke calls a function of a provider.
func (c *callerMonitor) Invoke(ctx context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return c.invoke(ctx, req, func(provider abi.Provider, call abi.InvokeRequest) (property.Map, []abi.CheckFailure, error) {
		result, err := provider.Invoke(ctx, call)
		return result.Result, result.Failures, err
	})
}

// invoke calls a function of a provider by one of the provider's methods. The result is unknown if the provider
// or an argument is.
func (c *callerMonitor) invoke(ctx context.Context, req abi.MonitorInvokeRequest,
	by func(abi.Provider, abi.InvokeRequest) (property.Map, []abi.CheckFailure, error),
) (resp abi.MonitorInvokeResponse, err error) {
	var call abi.InvokeRequest
	var provider abi.Provider
	if req, err = c.admitCall(ctx, req); err != nil {
		return resp, fmt.Errorf("function %s: %w", req.Token, err)
	}
	if provider, call, err = c.functionCall(ctx, req); provider == nil || err != nil {
		return abi.MonitorInvokeResponse{Unknown: err == nil}, err
	}
	result, failures, err := by(provider, call)
	switch {
	case errors.Is(err, providers.ErrUnconfigured):
		return abi.MonitorInvokeResponse{Unknown: true}, nil
	case err == nil && result.ContainsUnknowns() && !c.d.previews():
		err = errUnknownResult
	}
	if err != nil {
		return resp, fmt.Errorf("function %s: %w", req.Token, err)
	}
	return abi.MonitorInvokeResponse{Result: c.response(result), Failures: failures}, nil
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
func (c *callerMonitor) Call(ctx context.Context, req abi.MonitorCallRequest) (resp abi.MonitorCallResponse, err error) {
	args, err := c.d.assets.Admit(ctx, req.Args, c.isProgram)
	if err == nil {
		err = refuseEphemeral("the argument", args)
	}
	if err != nil {
		return resp, fmt.Errorf("method %s: %w", req.Token, err)
	}
	provider, pkg, err := c.methodProvider(ctx, req)
	if err != nil {
		return resp, fmt.Errorf("method %s: %w", req.Token, err)
	}
	c.d.Secrets.LearnComputed(args)
	child := newCallerMonitor(c.monitor, provider)
	defer child.drain()
	result, err := provider.Call(abi.WithMonitor(ctx, child), abi.CallRequest{
		Token: req.Token, Args: args, ArgDependencies: req.ArgDependencies, Context: c.d.packageContext(pkg),
	})
	switch {
	case err != nil && c.d.isStopError(err):
		return resp, ErrStopped
	case err != nil:
		return resp, fmt.Errorf("method %s: %w", req.Token, err)
	}
	result.Result = c.response(result.Result)
	return abi.MonitorCallResponse(result), nil
}

// methodProvider returns the provider that carries out a method, and its package. A method of a provider, PREFIX:NAME/method, belongs
// to the very provider that it is called on, and one of another resource to that of the resource, unless the call names one.
func (c *callerMonitor) methodProvider(ctx context.Context, req abi.MonitorCallRequest) (p abi.Provider, pkg string, err error) {
	self, _ := req.Args.Get("__self__").Plain().AsReference()
	options, pkg := req.Options, providers.PackageOf(req.Token)
	method, ofProvider := strings.CutPrefix(req.Token, providers.TypePrefix)
	switch u := urn.URN(self.URN); {
	case ofProvider:
		pkg, _, _ = strings.Cut(method, "/")
		if parsed, err := urn.Parse(self.URN); err != nil || parsed.Type() != providers.TypePrefix+pkg {
			return nil, "", fmt.Errorf("__self__ must be a resource of type %s", providers.TypePrefix+pkg)
		}
		p, err = c.d.resolveProvider(ctx, providerRef{provider: providers.Reference(u, cmp.Or(self.ID, providers.UnknownID))})
		return p, pkg, err
	case options.Provider == "" && options.PackageRef == "" && c.d.registrations.Goals.Get(u) != nil:
		if res := c.d.recorder.Lookup(u); res != nil {
			options.Provider = res.Provider
		}
	}
	p, err = c.functionProvider(ctx, req.Token, options)
	return p, pkg, err
}

// LeftOut reports whether the targets leave out a resource that does not exist.
func (m *monitor) LeftOut(u urn.URN) bool { return m.d.selection.IsAbsent(u) }

// RegisterStackTransform has a transform run on all resources from now on.
func (m *monitor) RegisterStackTransform(t callback.ResourceTransform) { m.d.transforms.AddStack(t) }

// RegisterStackInvokeTransform has a transform run on all calls of functions from now on.
func (m *monitor) RegisterStackInvokeTransform(t callback.InvokeTransform) {
	m.d.transforms.AddInvoke(t)
}

// transformed returns a registration after its transforms. Their files and URLs count as the program's, whoever
// registers the resource.
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

// withDependencies returns inputs as outputs of their resources, because transforms keep dependencies.
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
					v = property.Object(c.response(m))
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
		case item.Result.ContainsUnknowns() && !m.d.previews():
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
