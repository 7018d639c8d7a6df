package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// served is what manages a resource or answers a function: a provider, by reference,
// and the extension of it that is used, by reference, empty for none.
type served struct{ provider, extension string }

// extending is an extension on its way to a provider; ready is closed once the rest is set.
type extending struct {
	ready    chan struct{}
	provider abi.Provider
	err      error
}

// serving returns the configured provider of what is served, which knows the extension.
func (d *deployment) serving(ctx context.Context, by served) (abi.Provider, error) {
	l, err := d.registry.lookup(ctx, by.provider)
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
	extension, err := d.recorder.extensions.get(by.extension)
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
	e.provider, e.err = d.extend(ctx, by.provider, l, s, by.extension, extension)
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
func (d *deployment) extend(ctx context.Context, ref string, l *live, s *session, extensionRef string, extension state.Extension) (abi.Provider, error) {
	u, id, err := splitReference(ref)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	info := StepInfo{
		Op: OpExtendParameterize, URN: u, Resource: u.Type(), Name: u.Name(), ID: shownID(id), Custom: true,
		DefaultProvider: isDefaultProvider(u), Reason: fmt.Sprintf("to serve the package %s %s", extension.Name, extension.Version),
	}
	d.emit(StepStarted{Step: info})
	if !l.claims(extension.Name, extensionRef) {
		s, err = d.registry.another(ctx, u, id, l)
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
		d.emit(StepFailed{Step: info, DurationMs: durationMs(start), Error: err.Error()})
		d.exec.fail(err)
		return nil, err
	}
	d.emit(StepDone{Step: info, DurationMs: durationMs(start)})
	return s, nil
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

// extensions holds the extensions of a deployment by reference: those that are
// recorded, and those that the program registered.
type extensions struct {
	mu       sync.Mutex
	damaged  error
	recorded map[string]jsontext.Value
	declared map[string]state.Extension
	// writing serializes what writes all that is recorded.
	writing sync.Mutex
}

func (e *extensions) read(value jsontext.Value) {
	e.recorded, e.damaged = state.DecodeExtensions(value)
	if e.recorded == nil {
		e.recorded = make(map[string]jsontext.Value)
	}
	e.declared = make(map[string]state.Extension)
}

// declare makes an extension of the program known.
func (e *extensions) declare(ref string, extension state.Extension) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.declared[ref] = extension
}

func (e *extensions) get(ref string) (state.Extension, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if extension, ok := e.declared[ref]; ok {
		return extension, nil
	}
	if e.damaged != nil {
		return state.Extension{}, e.damaged
	}
	value, ok := e.recorded[ref]
	if !ok {
		return state.Extension{}, fmt.Errorf("the extension %s of a provider is neither registered nor in the state", ref)
	}
	return state.DecodeExtension(value)
}

// with returns what is to be recorded so that the extension is, nil where it is already.
func (e *extensions) with(ref string) (jsontext.Value, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.recorded[ref]; ok {
		return nil, nil
	}
	extension, ok := e.declared[ref]
	if !ok {
		return nil, fmt.Errorf("the extension %s is not registered", ref)
	}
	value, err := extension.Encode()
	if err != nil {
		return nil, err
	}
	e.recorded[ref] = value
	return state.EncodeExtensions(e.recorded)
}

// keepExtension records the extension that a resource names, before the resource is.
func (r *recorder) keepExtension(ctx context.Context, res *state.Resource) error {
	if r.stack == nil || res == nil || res.ExtensionRef == "" {
		return nil
	}
	r.extensions.writing.Lock()
	defer r.extensions.writing.Unlock()
	value, err := r.extensions.with(res.ExtensionRef)
	if err != nil || value == nil {
		return err
	}
	return r.append(ctx, state.Entry{state.SetExtensions{Value: value}})
}

// unusedExtensions returns the change that forgets extensions which no resource names.
func (r *recorder) unusedExtensions() (state.Entry, error) {
	e := &r.extensions
	if len(e.recorded) == 0 {
		return nil, nil
	}
	used := make(map[string]bool)
	for _, res := range r.resources() {
		used[res.ExtensionRef] = true
	}
	for _, pending := range r.stack.Snapshot().Operations() {
		used[pending.Resource.ExtensionRef] = true
	}
	before := len(e.recorded)
	for ref := range e.recorded {
		if !used[ref] {
			delete(e.recorded, ref)
		}
	}
	if len(e.recorded) == before {
		return nil, nil
	}
	value, err := state.EncodeExtensions(e.recorded)
	return state.Entry{state.SetExtensions{Value: value}}, err
}
