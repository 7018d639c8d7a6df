package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// An extension is a package that a configured provider serves beside its own. It
// travels like this: the program registers it, which asks a provider of that package
// for the value that stands for it; before the first resource or function that uses it
// with a configured provider, that provider is told the value; and before the first
// resource of it is recorded, the value is, under the reference that the resource
// keeps. So the state alone is enough to manage what was made.

// providerRef is what manages a resource or answers a function: a provider, by reference,
// and the extension of it that is used, by reference, empty for none.
type providerRef struct{ provider, extension string }

// extending is an extension on its way to a provider; ready is closed once the rest is set.
type extending struct {
	ready    chan struct{}
	provider abi.Provider
	err      error
}

// serving returns the configured provider of what is served, which knows the extension.
func (r *runState) serving(ctx context.Context, by providerRef) (abi.Provider, error) {
	l, err := r.registry.lookup(ctx, by.provider)
	if err != nil {
		return nil, err
	}
	if l.err != nil || by.extension == "" {
		return l.session, l.err
	}
	s, ok := l.session.(*session)
	if !ok {
		return l.session, nil // it is not configured in this preview, and answers for all packages
	}
	extension, err := r.recorder.Extensions.Get(by.extension)
	if err != nil {
		return nil, err
	}
	e, first := l.extend(by.extension)
	if !first {
		select {
		case <-e.ready:
			return e.provider, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer close(e.ready)
	e.provider, e.err = r.extend(ctx, by.provider, l, s, by.extension, extension)
	return e.provider, e.err
}

// extend returns what is known of an extension's way to the provider, and whether the
// caller is the first to ask, who must bring it there.
func (l *live) extend(ref string) (e *extending, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e = l.extensions[ref]; e != nil {
		return e, false
	}
	if l.extensions == nil {
		l.extensions, l.names = make(map[string]*extending), make(map[string]string)
	}
	e = &extending{ready: make(chan struct{})}
	l.extensions[ref] = e
	return e, true
}

// claims reserves the name of an extension, by which the provider tells its resources.
func (l *live) claims(name, ref string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.names[name]; taken {
		return false
	}
	l.names[name] = ref
	return true
}

// extend tells a provider of an extension, as a step. Another extension of that name,
// which is an earlier version of the package whose resources are on their way out, has
// a provider of its own with the same configuration.
func (r *runState) extend(ctx context.Context, ref string, l *live, s *session, extensionRef string, extension state.Extension) (abi.Provider, error) {
	u, id, err := splitReference(ref)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	info := StepInfo{
		Op: OpExtendParameterize, URN: u, Resource: u.Type(), Name: u.Name(), ID: shownID(id), Custom: true,
		DefaultProvider: isDefaultProvider(u), Reason: fmt.Sprintf("to serve the package %s %s", extension.Name, extension.Version),
	}
	r.emit(StepStarted{Step: info})
	if !l.claims(extension.Name, extensionRef) {
		s, err = r.registry.another(ctx, u, id, l)
	}
	if err == nil {
		_, err = s.parameterize(ctx, extension.Name, true, abi.Parameters{
			Case:  abi.ParametersCaseValue,
			Value: abi.ParameterValue{Name: extension.Name, Version: extension.Version, Value: extension.Value},
		})
	}
	if err != nil {
		err = &StepError{Op: OpExtendParameterize, Resource: &state.Resource{URN: u, Type: u.Type(), ID: id, Custom: true},
			Err: fmt.Errorf("with the package %s %s: %w", extension.Name, extension.Version, err)}
	}
	r.emitStepEnd(info, start, nil, err)
	if err != nil {
		r.failures.add(err)
	}
	return s, err
}

// another loads and configures the provider of a live reference once more.
func (r *registry) another(ctx context.Context, u urn.URN, id string, l *live) (*session, error) {
	spec, err := recordedSpec(u.Type(), l.inputs)
	if err != nil {
		return nil, err
	}
	s, err := r.load(ctx, spec)
	if err != nil {
		return nil, err
	}
	_, err = r.configure(ctx, s, u, id, l.inputs)
	return s, err
}
