package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/ephemeral"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/internal/providers"
)

// monitor completes a registration (parent, provider, dependencies), hands it to the generator, and responds
// when its steps are done.
type monitor struct {
	d        *deployment
	packages packages

	// defaults holds the references of the default providers.
	defaults locked.Once[PackageSpec, string]

	mu   sync.Mutex
	root urn.URN
}

// failedRegistration responds to a registration that failed: with the result if the deployment continues after
// failures, else with an error.
func (m *monitor) failedRegistration(gl *goal, req abi.RegisterResourceRequest, err error) (abi.RegisterResourceResponse, error) {
	resp := abi.RegisterResourceResponse{Result: abi.RegistrationResultFailed}
	if gl != nil {
		resp.URN = gl.urn
		m.d.registrations.Fail(gl.urn, gl.parent, m.d.gen.aliases(gl))
	}
	if s, ok := errors.AsType[*skippedError](err); ok {
		resp.Result = abi.RegistrationResultSkipped
		m.d.warn(resp.URN, "%v", s)
	} else {
		err = m.d.reportRefused(gl, req, err)
	}
	if (m.d.ContinueOnError || m.d.continuesAfter(err)) && gl != nil && !m.d.failures.stopped() {
		return resp, nil
	}
	return abi.RegisterResourceResponse{}, err
}

// goal completes a registration.
func (m *monitor) goal(ctx context.Context, req abi.RegisterResourceRequest) (*goal, error) {
	if err := checkNames(req.Type, req.Name, req.Custom); err != nil {
		return nil, err
	}
	parent := m.parentOf(req.Type, req.Parent)
	gl := &goal{
		urn: urn.New(m.d.Stack, m.d.Project, parent, req.Type, req.Name),
		typ: req.Type, name: req.Name, parent: parent, custom: req.Custom,
		options: req.Options, position: req.SourcePosition,
	}
	var err error
	if gl.options.Hooks, err = m.d.hooks.Bind(gl.urn, req.Options.Hooks); err != nil {
		return nil, err
	}
	if m.d.hooks.Bound.Has(gl.urn) && providers.IsType(gl.typ) {
		return nil, fmt.Errorf("a provider has no actions, but %q names some", gl.name)
	}
	if t := gl.options.ReplacementTrigger; t != nil {
		if err := refuseEphemeral("the option", property.NewMap(property.Entry{Key: "replacementTrigger", Value: *t})); err != nil {
			return gl, err
		}
	}
	gl.ephemeral = ephemeral.Places(req.Inputs)
	gl.inputs, gl.propDep, gl.deps = providers.FoldInputs(req.Inputs, req.PropertyDependencies, req.Options.Dependencies)
	m.inherit(gl)
	if gl.custom && !providers.IsType(gl.typ) {
		o := gl.options
		by, err := m.chooseProvider(ctx, providerRequest{gl.typ, o.Version, o.PackageRef, o.Provider, parent})
		if err != nil {
			return gl, err
		}
		gl.by = by
	}
	if providers.IsType(gl.typ) {
		spec, err := m.packages.spec(strings.TrimPrefix(gl.typ, providers.TypePrefix), gl.options.Version, gl.options.PackageRef)
		if err != nil {
			return gl, err
		}
		if spec.Extension != (Parameter{}) {
			return gl, fmt.Errorf("the package %q has no provider of its own: it extends %q, whose providers serve it: use the type %s%[2]s",
				spec.Package(), spec.provided(), providers.TypePrefix)
		}
		gl.inputs = spec.put(gl.inputs)
	}
	if gl.typ == urn.RootType {
		m.mu.Lock()
		m.root = gl.urn
		m.mu.Unlock()
	}
	return gl, nil
}

// checkNames refuses names that would make a URN that cannot be read back. The type of a provider's resource names its package,
// so it has three parts. A program's own components have types of any form, as in Pulumi.
func checkNames(typ, name string, provided bool) error {
	switch read := urn.New("s", "p", "", typ, name); {
	case name == "":
		return fmt.Errorf("a resource of type %s has no name", typ)
	case provided && (strings.Count(typ, ":") != 2 || strings.ContainsAny(typ, "$ ") || strings.Contains(typ, "::")):
		return fmt.Errorf("invalid resource type %q: it must have the form <package>:<module>:<name>", typ)
	case typ == "" || read.Type() != typ || read.Name() != name:
		return fmt.Errorf(`invalid type %q of the component %q: it is empty, contains "$" or "::", or ends with ":"`, typ, name)
	}
	return nil
}

// parentOf gives resources without a parent the stack's root.
func (m *monitor) parentOf(typ string, parent urn.URN) urn.URN {
	if parent != "" || typ == urn.RootType {
		return parent
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.root
}

// inherit takes over the options that a parent hands down.
func (m *monitor) inherit(gl *goal) {
	p := m.d.registrations.Declaration(gl.parent)
	if p == nil || gl.parent == "" {
		return
	}
	if gl.options.Protect == nil && p.Protect {
		gl.options.Protect = &p.Protect
	}
	if gl.options.RetainOnDelete == nil && p.RetainOnDelete {
		gl.options.RetainOnDelete = &p.RetainOnDelete
	}
	if gl.options.DeletedWith == "" {
		gl.options.DeletedWith = p.DeletedWith
	}
}

// errUnknownResult is the error of a function that returned unknown values where its result is needed.
var errUnknownResult = errors.New("the provider returned unknown values")

// functionCall returns the provider of a function and its request. The provider is nil if the result cannot be
// known yet.
func (m *monitor) functionCall(ctx context.Context, req abi.MonitorInvokeRequest) (provider abi.Provider, call abi.InvokeRequest, err error) {
	deps := make(map[urn.URN]struct{})
	args := providers.Fold(req.Args, deps)
	maps.DeleteFunc(deps, func(u urn.URN, _ struct{}) bool { return ephemeral.IsMark(string(u)) })
	if args.ContainsUnknowns() {
		if m.d.mayLackResources() || m.d.ContinueOnError { // they may come from a failed resource
			return nil, call, nil
		}
		return nil, call, fmt.Errorf("function %s: its arguments hold unknown values", req.Token)
	}
	for _, u := range ephemeral.WithoutMarks(req.Options.DependsOn) {
		deps[u] = struct{}{}
	}
	if m.d.mayLackResources() && m.d.isAwaited(deps) {
		return nil, call, nil
	}
	provider, err = m.functionProvider(ctx, req.Token, req.Options)
	return provider, abi.InvokeRequest{Token: req.Token, Args: args, Preview: m.d.previews()}, err
}

// construct has a provider make a component, which registers itself and its children with a monitor of its own.
func (m *monitor) construct(ctx context.Context, req abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	var gl *goal
	fail := func(err error) (abi.RegisterResourceResponse, error) { return m.failedRegistration(gl, req, err) }
	err := checkNames(req.Type, req.Name, true)
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
	if u := cmp.Or(m.d.registrations.FailedDependency(gl.needs), m.d.registrations.IncompleteDependency(gl.named(), parent)); u != "" {
		return fail(&skippedError{dependency: u})
	}
	if left, err := m.d.gen.leaveUnselectedComponent(ctx, gl); err != nil {
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
func (d *deployment) isStopError(err error) bool {
	return d.failures.stopped() && errors.Is(err, abi.ErrCancelled)
}

// isAwaited reports whether one of the resources does not exist yet, so that what depends on it is unknown. A
// component exists when its children do.
func (d *deployment) isAwaited(deps map[urn.URN]struct{}) bool {
	missing := func(u urn.URN) bool {
		res := d.recorder.Lookup(u)
		return res == nil || res.Custom && providers.ShownID(res.ID) == ""
	}
	for u := range deps {
		if missing(u) || slices.ContainsFunc(d.registrations.Descendants(u), missing) {
			return true
		}
	}
	return false
}
