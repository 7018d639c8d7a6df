package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// construct has a component made by its provider, which registers the
// component and its children with a monitor of its own.
func (m *monitor) construct(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	var gl *goal
	fail := func(err error) (abi.RegisterResourceResponse, error) { return m.failedRegistration(gl, req, err) }
	if err := checkNames(req.Type, req.Name); err != nil {
		return fail(err)
	}
	parent := m.parentOf(req.Type, req.Parent)
	gl = &goal{
		urn: urn.New(m.d.Stack, m.d.Project, parent, req.Type, req.Name),
		typ: req.Type, name: req.Name, parent: parent, options: req.Options,
	}
	_, _, gl.deps = providers.FoldInputs(req.Inputs, req.PropertyDependencies, req.Options.Dependencies)
	if u := m.d.registrations.FailedDependency(gl.needs); u != "" {
		return fail(&skippedError{of: u})
	}
	if left, err := m.d.gen.leaveUnselectedComponent(gl); err != nil {
		return fail(err)
	} else if left {
		return abi.RegisterResourceResponse{URN: gl.urn, Result: abi.RegistrationResultSkipped}, nil
	}
	by, err := m.chooseProvider(ctx, providerRequest{req.Type, req.Options.Version, req.Options.PackageRef, req.Options.Provider, parent})
	if err != nil {
		return fail(err)
	}
	provider, err := m.d.resolveProvider(ctx, by)
	if err != nil {
		return fail(err)
	}
	m.d.Secrets.LearnComputed(req.Inputs)
	options := req.Options
	options.Provider = by.provider
	child := newCallerMonitor(m)
	defer child.drain()
	resp, err := provider.Construct(abi.WithMonitor(ctx, child), abi.ConstructRequest{
		Type: req.Type, Name: req.Name, Parent: parent,
		Inputs: req.Inputs, InputDependencies: req.PropertyDependencies,
		Options: options, Context: m.d.packageContext(providers.PackageOf(req.Type)),
	})
	switch {
	case err != nil && m.d.isStopError(err):
		return fail(ErrStopped)
	case err != nil:
		return fail(fmt.Errorf("%s: %w", subject("construct", "construct", req.Type, req.Name, err), err))
	}
	return abi.RegisterResourceResponse{
		URN: resp.URN, State: resp.State, StateDependencies: resp.StateDependencies,
		Result: abi.RegistrationResultSuccess,
	}, nil
}

// Call calls a method of a component.
func (m *monitor) Call(ctx context.Context, req abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	provider, err := m.functionProvider(ctx, req.Token, req.Options)
	if err != nil {
		return abi.MonitorCallResponse{}, err
	}
	m.d.Secrets.LearnComputed(req.Args)
	child := newCallerMonitor(m)
	defer child.drain()
	resp, err := provider.Call(abi.WithMonitor(ctx, child), abi.CallRequest{
		Token: req.Token, Args: req.Args, ArgDependencies: req.ArgDependencies, Context: m.d.packageContext(providers.PackageOf(req.Token)),
	})
	switch {
	case err != nil && m.d.isStopError(err):
		return abi.MonitorCallResponse{}, ErrStopped
	case err != nil:
		return abi.MonitorCallResponse{}, fmt.Errorf("method %s: %w", req.Token, err)
	}
	return abi.MonitorCallResponse(resp), nil
}

// callerMonitor is the monitor of one caller: a program, or one call of
// Construct or Call. It adds the operations that run while the caller goes on.
type callerMonitor struct {
	*monitor
	// isProgram is set for a program, which may name files and URLs (see assets).
	isProgram bool

	running sync.WaitGroup

	mu    sync.Mutex
	next  abi.OperationHandle
	count int                 // started and not yet waited for
	done  chan *abi.Completed // nil before the first was started
}

// maxStarted bounds the operations that one caller may have under way or not
// yet waited for: far more than a component has children, and small enough
// that a runaway guest does not fill the host's memory.
const maxStarted = 10_000

func newCallerMonitor(m *monitor) *callerMonitor {
	return &callerMonitor{monitor: m}
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

// isStopError reports whether an error says nothing but that the deployment was
// stopped, by what was told already. Having come through a provider, it is no
// longer ErrStopped itself.
func (r *runState) isStopError(err error) bool {
	return r.failures.stopped() && errors.Is(err, abi.ErrCancelled)
}

// isAwaited reports whether one of the resources does not exist yet, and what
// depends on it cannot be computed. A component exists when its children do.
func (r *runState) isAwaited(deps map[urn.URN]struct{}) bool {
	missing := func(u urn.URN) bool {
		res := r.recorder.Lookup(u)
		return res == nil || res.Custom && providers.ShownID(res.ID) == ""
	}
	for u := range deps {
		if missing(u) || slices.ContainsFunc(r.registrations.Descendants(u), missing) {
			return true
		}
	}
	return false
}
