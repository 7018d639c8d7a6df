package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/state"
)

// providerFor returns what manages resources of a type: the registry for
// providers, else the configured provider.
func (r *runState) providerFor(ctx context.Context, typ string, by providerRef) (abi.Provider, error) {
	if isProviderType(typ) {
		return r.registry, nil
	}
	return r.serving(ctx, by)
}

// providerOf returns what manages a recorded resource.
func (r *runState) providerOf(ctx context.Context, res *state.Resource) (abi.Provider, error) {
	return r.providerFor(ctx, res.Type, providerRef{res.Provider, res.ExtensionRef})
}

// deletionProvider returns the provider that deletes res, nil where none is needed.
func (r *runState) deletionProvider(ctx context.Context, res *state.Resource) (abi.Provider, error) {
	if !r.ownsObject(res) {
		return nil, nil
	}
	return r.providerOf(ctx, res)
}

// handedDown returns the provider that an ancestor has for the package, which is that
// of providers: the one that is extended, for an extension.
func (r *runState) handedDown(pkg string, parent urn.URN) string {
	for parent != "" {
		p := r.registrations.declaration(parent)
		if p == nil {
			return ""
		}
		if ref := r.registrations.providers.Get(parent)[pkg]; ref != "" {
			return ref
		}
		if p.Custom && packageOfProvider(p.Provider) == pkg {
			return p.Provider
		}
		parent = p.Parent
	}
	return ""
}

// builtins is the loader of a deployment: it knows the package that the engine
// itself implements, and asks the user's loader for all others.
type builtins struct {
	Loader
	d *deployment
}

// Load makes an unconfigured provider.
func (b builtins) Load(ctx context.Context, spec PackageSpec) (abi.Provider, error) {
	if spec.Name != builtin.Package {
		return b.Loader.Load(ctx, spec)
	}
	stacks := b.d.Stacks
	stacks.Organization, stacks.Project = b.d.Organization, b.d.Project
	return builtin.New(stacks, b.d.lookupRegistered), nil
}

// lookupRegistered finds a resource that this run has registered or read.
func (d *deployment) lookupRegistered(u urn.URN) (builtin.Registered, bool) {
	if d.registrations.goals.Get(u) == nil {
		return builtin.Registered{}, false
	}
	res := d.recorder.Lookup(u)
	if res == nil {
		return builtin.Registered{}, false
	}
	id := property.String(shownID(res.ID))
	if res.Custom && shownID(res.ID) == "" {
		id = property.Unknown
	}
	return builtin.Registered{ID: id, State: res.Outputs}, true
}

// providerRequest is what a resource or function says of its provider.
type providerRequest struct {
	token      string
	version    string
	packageRef string
	reference  string // of the provider itself
	parent     urn.URN
}

// functionProvider returns the provider of a function.
func (m *monitor) functionProvider(ctx context.Context, token string, o abi.FunctionOptions) (abi.Provider, error) {
	by, err := m.chooseProvider(ctx, providerRequest{token, o.Version, o.PackageRef, o.Provider, m.parentOf("", o.Parent)})
	if err != nil {
		return nil, err
	}
	return m.d.serving(ctx, by)
}

// chooseProvider chooses a resource's or function's provider: the one named, the one that an
// ancestor hands down for the package, or the default one. A package that extends
// another one is served by the providers of that.
func (m *monitor) chooseProvider(ctx context.Context, w providerRequest) (by providerRef, err error) {
	spec, err := m.packages.spec(packageOf(w.token), w.version, w.packageRef)
	if err != nil {
		return by, err
	}
	if spec.Extension != (Parameter{}) {
		by.extension = w.packageRef
	}
	pkg := spec.provided()
	if w.reference != "" {
		u, id, err := splitReference(w.reference)
		if err != nil {
			return by, err
		}
		if got := strings.TrimPrefix(u.Type(), providerTypePrefix); got != pkg {
			return by, fmt.Errorf("provider %s is for package %q, but the resource belongs to package %q", u, got, pkg)
		}
		by.provider = reference(u, cmp.Or(id, unknownID)) // only a preview knows no ID
		return by, nil
	}
	if by.provider = m.d.handedDown(pkg, w.parent); by.provider == "" {
		by.provider, err = m.defaultProvider(ctx, spec.extended())
	}
	return by, err
}

// defaultProvider is made once; ready is closed when ref and err are set.
type defaultProvider struct {
	ready chan struct{}
	ref   string
	err   error
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
	inputs := m.d.packageConfig(pkg)
	for _, e := range spec.inputs() {
		inputs = inputs.With(e.Key, e.Value)
	}
	typ := providerTypePrefix + pkg
	gl := &goal{
		urn: urn.New(m.d.Stack, m.d.Project, "", typ, name), typ: typ, name: name, custom: true, inputs: inputs,
	}
	res, err := m.d.register(ctx, gl)
	if err != nil {
		return "", err
	}
	return reference(res.URN, res.ID), nil
}

// defaultProvider registers the default provider of a package on first need.
func (m *monitor) defaultProvider(ctx context.Context, spec PackageSpec) (string, error) {
	m.mu.Lock()
	p, ok := m.defaults[spec]
	if !ok {
		p = &defaultProvider{ready: make(chan struct{})}
		m.defaults[spec] = p
	}
	m.mu.Unlock()
	if ok {
		select {
		case <-p.ready:
			return p.ref, p.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	defer close(p.ready)
	p.ref, p.err = m.registerDefault(ctx, spec)
	return p.ref, p.err
}

// assetLoader makes providers that can read the assets of their calls.
type assetLoader struct {
	Loader
	assets *asset.Assets
}

func (l assetLoader) Load(ctx context.Context, spec PackageSpec) (abi.Provider, error) {
	p, err := l.Loader.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	return abi.Intercept(p, l.assets.Call), nil
}
