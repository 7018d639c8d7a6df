package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// construct has a provider make a component, which registers itself and its children with a monitor of its own.
func (m *monitor) construct(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	var gl *goal
	fail := func(err error) (abi.RegisterResourceResponse, error) { return m.failedRegistration(gl, req, err) }
	err := checkNames(req.Type, req.Name)
	if err == nil {
		err = refuseEphemeral("the input", req.Inputs)
	}
	if err != nil {
		return fail(err)
	}
	parent := m.parentOf(req.Type, req.Parent)
	gl = &goal{
		urn: urn.New(m.d.Stack, m.d.Project, parent, req.Type, req.Name),
		typ: req.Type, name: req.Name, parent: parent, options: req.Options,
	}
	_, _, gl.deps = providers.FoldInputs(req.Inputs, req.PropertyDependencies, req.Options.Dependencies)
	if u := m.d.registrations.FailedDependency(gl.needs); u != "" {
		return fail(&skippedError{dependency: u})
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
	child := newCallerMonitor(m, provider)
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

// isStopError reports whether an error says only that the deployment was stopped. One that came through a
// provider is no longer ErrStopped itself.
func (r *runState) isStopError(err error) bool {
	return r.failures.stopped() && errors.Is(err, abi.ErrCancelled)
}

// isAwaited reports whether one of the resources does not exist yet, so that what depends on it is unknown. A
// component exists when its children do.
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
