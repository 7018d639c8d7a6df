package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// providerChoice finds the provider of a resource: a configured one by its reference, or an inherited one.
type providerChoice struct {
	*events
	registry      *providerRegistry
	recorder      *record.Recorder
	registrations *registration.Registrations
	failures      *failures
}

// providerFor returns the provider of a type's resources: the registry for provider resources, else the configured provider.
func (c *providerChoice) providerFor(ctx context.Context, typ string, by providerRef) (abi.Provider, error) {
	if providers.IsType(typ) {
		return c.registry, nil
	}
	return c.resolveProvider(ctx, by)
}

// providerOf returns the provider of a recorded resource.
func (c *providerChoice) providerOf(ctx context.Context, res *state.Resource) (abi.Provider, error) {
	return c.providerFor(ctx, res.Type, providerRef{res.Provider, res.ExtensionRef})
}

// inheritedProvider returns the provider that an ancestor has for the package.
func (c *providerChoice) inheritedProvider(pkg string, parent urn.URN) string {
	for parent != "" {
		p := c.registrations.Declaration(parent)
		if p == nil {
			return ""
		}
		if ref := c.registrations.Providers.Get(parent)[pkg]; ref != "" {
			return ref
		}
		if p.Custom && providers.PackageOfReference(p.Provider) == pkg {
			return p.Provider
		}
		parent = p.Parent
	}
	return ""
}

// load makes an unconfigured provider whose calls are counted and can read their assets: the engine's
// own, or one of the user's loader.
func (d *deployment) load(ctx context.Context, spec PackageSpec) (p abi.Provider, err error) {
	if spec.Name == builtin.Package {
		stacks := d.Stacks
		stacks.Organization, stacks.Project = d.Organization, d.Project
		stacks.Sealed = func(stack state.StackName, outputs []string, cause error) {
			if e, ok := errors.AsType[*secrets.Error](cause); ok {
				cause = e
			}
			d.warn("", "the stack %s is read without its secret outputs (%s): %v", stack, strings.Join(outputs, ", "), cause)
		}
		p = builtin.New(stacks, d.lookupRegistered)
	} else if p, err = d.Providers.Load(ctx, spec); err != nil {
		return nil, err
	}
	return abi.Intercept(d.counted.count(spec.Package(), p), d.assets.Intercept), nil
}

// lookupRegistered finds a resource that this run has registered or read.
func (d *deployment) lookupRegistered(u urn.URN) (builtin.Registered, bool) {
	if d.registrations.Goals.Get(u) == nil {
		return builtin.Registered{}, false
	}
	res := d.recorder.Lookup(u)
	if res == nil {
		return builtin.Registered{}, false
	}
	id := property.String(providers.ShownID(res.ID))
	if res.Custom && providers.ShownID(res.ID) == "" {
		id = property.Unknown
	}
	return builtin.Registered{ID: id, State: res.Outputs, Provider: res.Provider}, true
}

// providerRequest is a resource's or function's choice of provider.
type providerRequest struct {
	token      string
	version    string
	packageRef string
	reference  string // of the provider itself
	parent     urn.URN
}

func (m *monitor) functionProvider(ctx context.Context, token string, o abi.FunctionOptions) (abi.Provider, error) {
	by, err := m.chooseProvider(ctx, providerRequest{token, o.Version, o.PackageRef, o.Provider, m.parentOf("", o.Parent)})
	if err != nil {
		return nil, err
	}
	return m.d.resolveProvider(ctx, by)
}

// chooseProvider returns the provider of a resource or function: the one named, an ancestor's, or the default
// one. The providers of a package also serve its extensions.
func (m *monitor) chooseProvider(ctx context.Context, w providerRequest) (by providerRef, err error) {
	spec, err := m.packages.spec(providers.PackageOf(w.token), w.version, w.packageRef)
	if err != nil {
		return by, err
	}
	if spec.Extension != (Parameter{}) {
		by.extension = w.packageRef
	}
	pkg := spec.provided()
	if w.reference != "" {
		u, id, err := providers.SplitReference(w.reference)
		if err != nil {
			return by, err
		}
		if got := strings.TrimPrefix(u.Type(), providers.TypePrefix); got != pkg {
			return by, fmt.Errorf("provider %s is for package %q, but the resource belongs to package %q", u, got, pkg)
		}
		by.provider = providers.Reference(u, cmp.Or(id, providers.UnknownID)) // only a preview knows no ID
		return by, nil
	}
	if by.provider = m.d.inheritedProvider(pkg, w.parent); by.provider == "" {
		by.provider, err = m.defaults.Get(ctx, spec.extended(), func() (string, error) { return m.registerDefault(ctx, spec.extended()) })
	}
	return by, err
}

func (m *monitor) registerDefault(ctx context.Context, spec PackageSpec) (string, error) {
	pkg := spec.Package()
	if err := m.d.defaultsAllowed(pkg); err != nil {
		return "", err
	}
	name := "default"
	if version := cmp.Or(spec.Parameter.Version, spec.Version); version != "" {
		name += "_" + strings.NewReplacer(".", "_", "-", "_", "+", "_").Replace(version)
	}
	inputs := spec.put(m.d.packageConfig(pkg))
	typ := providers.TypePrefix + pkg
	gl := &goal{
		urn: urn.New(m.d.Stack, m.d.Project, "", typ, name), typ: typ, name: name, custom: true, inputs: inputs,
	}
	res, err := m.d.register(ctx, gl)
	if err != nil {
		return "", m.d.aboutConfig(ctx, gl.urn, pkg, err)
	}
	return providers.Reference(res.URN, res.ID), nil
}

// aboutConfig returns the errors of a default provider with their places in the configuration, because no resource of the program
// caused them. An error that has a place already stays as it is.
func (d *deployment) aboutConfig(ctx context.Context, u urn.URN, pkg string, err error) error {
	if _, placed := err.(interface{ Render(io.Writer) error }); placed || d.AtConfig == nil {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, d.aboutConfig(ctx, u, pkg, e))
		}
		return errors.Join(all...)
	}
	e, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err
	}
	path, pathErr := property.ParsePath(e.Path)
	switch {
	case len(e.MissingKeys) > 0:
		path = property.Path{property.Key(e.MissingKeys[0].Name)}
	case pathErr != nil || len(path) == 0:
		return err
	}
	key, ok := path[0].Key()
	if !ok {
		return err
	}
	at := ConfigValue{Key: pkg + ":" + key, Path: path[1:]}
	if s, ok := d.registry.pending.Lookup(u); ok {
		p := s.ConfigSchema(ctx).Property(key)
		at.Secret = p != nil && p.Secret
	}
	if e, ok := err.(*abi.Error); ok && e.Path != "" {
		named := *e
		named.Path = pkg + ":" + e.Path
		err = &named
	}
	return d.AtConfig(at, err)
}

// WithContents returns a provider that gets assets as in a deployment: new assets in a request get their hashes and can be read
// from the source during the call; old ones keep only the hash. It is for callers without a deployment, such as tests. A file in
// a request is read, unless a response of the provider named it first.
//
// The provider is an [io.Closer], which closes p if that can be closed.
func WithContents(p abi.Provider, source contents.Source) abi.Provider {
	s := asset.New(source)
	return abi.Intercept(abi.Intercept(p, s.Intercept), func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		for _, p := range c.RequestProperties() {
			if p.Role.IsNew() {
				m, err := s.Admit(ctx, p.Get(), true)
				if err != nil {
					return ctx, nil, err
				}
				p.Set(m)
			}
		}
		return ctx, func(err error) error {
			response, err := c.AnswerProperties(err)
			for _, p := range response {
				p.Set(s.Withhold(p.Get()))
			}
			return err
		}, nil
	})
}

// An extension is a package that a configured provider serves beside its own. The program registers it,
// and a provider of the package returns the value that stands for it. A configured provider gets that
// value before the first resource or function that uses the extension. The value is recorded before the
// first resource of it, under the reference that the resource keeps, so the state alone is enough to
// manage the resource.

// providerRef names the provider that manages a resource or runs a function: its reference, and the reference of its extension,
// empty for none.
type providerRef struct{ provider, extension string }

// resolveProvider returns the configured provider, which knows the extension.
func (c *providerChoice) resolveProvider(ctx context.Context, by providerRef) (abi.Provider, error) {
	l, err := c.registry.lookup(ctx, by.provider)
	if err != nil {
		return nil, err
	}
	s, ok := l.session.(*providers.Session)
	if !ok || by.extension == "" {
		return l.session, nil // one that a preview does not configure answers for all packages
	}
	extension, err := c.recorder.Extensions.Get(by.extension)
	if err != nil {
		return nil, err
	}
	return l.extensions.Get(ctx, by.extension, func() (abi.Provider, error) {
		return c.extend(ctx, by.provider, l, s, extension)
	})
}

// extend gives a provider an extension, as a step. A second extension of that name is an earlier version of the
// package, and gets a provider of its own with the same configuration.
func (c *providerChoice) extend(ctx context.Context, ref string, l *configuredProvider, s *providers.Session, extension state.Extension) (abi.Provider, error) {
	u, id, err := providers.SplitReference(ref)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	info := StepInfo{
		Op: OpExtendParameterize, URN: u, Resource: u.Type(), Name: u.Name(), ID: providers.ShownID(id), Custom: true,
		DefaultProvider: providers.IsDefault(u), Reason: fmt.Sprintf("to serve the package %s %s", extension.Name, extension.Version),
	}
	c.emit(StepStarted{Step: info})
	if !l.names.Add(extension.Name, true) {
		s, err = c.registry.another(ctx, u, id, l)
	}
	if err == nil {
		_, err = parameterize(ctx, s, extension.Name, true, abi.Parameters{
			Case:  abi.ParametersCaseValue,
			Value: abi.ParameterValue{Name: extension.Name, Version: extension.Version, Value: extension.Value},
		})
	}
	if err != nil {
		err = &StepError{Op: OpExtendParameterize, Resource: &state.Resource{URN: u, Type: u.Type(), ID: id, Custom: true},
			Err: fmt.Errorf("with the package %s %s: %w", extension.Name, extension.Version, err)}
	}
	c.emit(stepEnd(info, start, nil, err))
	if err != nil {
		c.failures.add(err)
	}
	return s, err
}

// another loads and configures the provider of a live reference once more.
func (r *providerRegistry) another(ctx context.Context, u urn.URN, id string, l *configuredProvider) (*providers.Session, error) {
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
