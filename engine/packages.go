package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
)

// PackageSpec says which provider is wanted.
type PackageSpec struct {
	// Name is the package that the module implements, for example "random".
	Name string
	// Version is a semantic version, empty for any.
	Version string
	// Digest is the digest of the module in the state, empty for the installed one.
	Digest string
	// Parameter makes the provider into another package; the zero Parameter does not.
	Parameter Parameter
	// EnvVarMappings renames environment variables for the provider.
	EnvVarMappings EnvVarMappings
	// Extension makes that package's provider serve another one beside it, which is the
	// one that is wanted; the zero Parameter does not.
	Extension Parameter
}

// Parameter is the parameter of a provider: the package that it became, or serves beside its own.
type Parameter struct {
	Name    string
	Version string
	// Value holds bytes that only the provider understands.
	Value string
}

// EnvVarMappings are lines SOURCE=TARGET, sorted: a provider sees the value of the variable SOURCE under the name TARGET, too.
type EnvVarMappings string

// Map returns the targets by their sources.
func (m EnvVarMappings) Map() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(m)) {
		source, target, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		out[source] = target
	}
	return out
}

// envVarMappingsOf reads the mappings that the inputs of a provider resource have.
func envVarMappingsOf(inputs property.Map) (EnvVarMappings, error) {
	internal, _ := inputs.Get(internalKey).Plain().AsObject()
	v := internal.Get(internalEnvVarMappings).Plain()
	if v.IsNull() {
		return "", nil
	}
	mappings, ok := v.AsObject()
	if !ok {
		return "", errors.New("envVarMappings must be a mapping of environment variables to environment variables")
	}
	var b strings.Builder
	for source, target := range mappings.All() {
		text, ok := target.Plain().AsString()
		switch {
		case !ok:
			return "", fmt.Errorf("envVarMappings: what %q is mapped to must be text", source)
		case !isVariable(source) || !isVariable(text):
			return "", fmt.Errorf("envVarMappings: %q cannot be mapped to %q: a variable has a name without = and line breaks", source, text)
		}
		b.WriteString(source + "=" + text + "\n")
	}
	return EnvVarMappings(b.String()), nil
}

func isVariable(name string) bool { return name != "" && !strings.ContainsAny(name, "=\n\r\x00") }

// Package is the name of the package as programs know it.
func (s PackageSpec) Package() string { return cmp.Or(s.Extension.Name, s.provided()) }

// provided is the package that providers of the spec are configured as: the one that
// is extended, for an extension.
func (s PackageSpec) provided() string { return cmp.Or(s.Parameter.Name, s.Name) }

// extended is the spec without its extension.
func (s PackageSpec) extended() PackageSpec {
	s.Extension = Parameter{}
	return s
}

// module is the spec without its parameters.
func (s PackageSpec) module() PackageSpec {
	s.Parameter, s.Extension = Parameter{}, Parameter{}
	return s
}

// Loader makes unconfigured providers, not yet parameterized. A provider that is an [io.Closer] is closed when
// the deployment no longer needs it. Load is called concurrently; each call returns a provider of its own.
type Loader interface {
	Load(ctx context.Context, spec PackageSpec) (abi.Provider, error)
}

// Digester is implemented by providers whose code has a digest: modules. The provider resource records it, so
// that the same module refreshes and destroys what it made.
type Digester interface {
	Digest() string
}

// packages holds the packages that a program registered, by reference.
type packages struct {
	mu    sync.Mutex
	specs map[string]PackageSpec
}

// RegisterPackage makes a package known under a reference for registrations. The same package has the same one.
func (m *monitor) RegisterPackage(ctx context.Context, req abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	spec := PackageSpec{Name: req.Name, Version: req.Version}
	version := req.Version
	if req.Parameters != nil || req.Extension != nil {
		s, err := m.d.registry.open(ctx, spec)
		if err != nil {
			return abi.RegisterPackageResponse{}, err
		}
		if req.Parameters != nil {
			if spec.Parameter, err = parameterize(ctx, s, wantedName(*req.Parameters), false, *req.Parameters); err != nil {
				return abi.RegisterPackageResponse{}, err
			}
			version = spec.Parameter.Version
		}
		if req.Extension != nil {
			if spec.Extension, err = parameterize(ctx, s, wantedName(*req.Extension), true, *req.Extension); err != nil {
				return abi.RegisterPackageResponse{}, err
			}
			version = spec.Extension.Version
		}
		if spec.Extension.Name == spec.provided() {
			return abi.RegisterPackageResponse{}, fmt.Errorf("provider %s was extended with the package %q, which it is itself", req.Name, spec.Extension.Name)
		}
	}
	ref := m.packages.add(spec)
	if e := spec.Extension; e != (Parameter{}) {
		m.d.recorder.Extensions.Declare(ref, state.Extension{Name: e.Name, Version: e.Version, Value: []byte(e.Value)})
	}
	return abi.RegisterPackageResponse{PackageRef: ref, Name: spec.Package(), Version: version}, nil
}

// wantedName is the package that a value was made for; empty for words.
func wantedName(p abi.Parameters) string {
	if p.Case == abi.ParametersCaseValue {
		return p.Value.Name
	}
	return ""
}

// add makes a package known by a digest of its spec, since states keep the references of extensions.
func (p *packages) add(spec PackageSpec) (ref string) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		spec.Name, spec.Version,
		spec.Parameter.Name, spec.Parameter.Version, spec.Parameter.Value,
		spec.Extension.Name, spec.Extension.Version, spec.Extension.Value,
	}))
	ref = hex.EncodeToString(sum[:16])
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.specs == nil {
		p.specs = make(map[string]PackageSpec)
	}
	p.specs[ref] = spec
	return ref
}

// spec returns the wanted package: the one registered under the reference, else the module of the package's own name.
func (p *packages) spec(pkg, version, ref string) (PackageSpec, error) {
	if ref == "" {
		return PackageSpec{Name: pkg, Version: version}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	spec, ok := p.specs[ref]
	switch {
	case !ok:
		return PackageSpec{}, fmt.Errorf("package reference %q is not registered", ref)
	case spec.Package() != pkg:
		return PackageSpec{}, fmt.Errorf("package reference %q is of package %q, but the token is of package %q", ref, spec.Package(), pkg)
	}
	return spec, nil
}

// parameterize makes the provider into another package, or extends it by one. The package must have the name
// wanted, unless that is empty.
func parameterize(ctx context.Context, s *providers.Session, want string, extension bool, parameters abi.Parameters) (Parameter, error) {
	resp, err := s.Parameterize(ctx, abi.ParameterizeRequest{Parameters: parameters, Extension: extension})
	if err != nil {
		return Parameter{}, err
	}
	switch {
	case resp.Name == "":
		return Parameter{}, fmt.Errorf("provider %s was parameterized, but does not say as what package", s.Name)
	case want != "" && resp.Name != want:
		return Parameter{}, fmt.Errorf("provider %s was parameterized as package %q, but answers as %q", s.Name, want, resp.Name)
	}
	value := resp.Value
	if len(value) == 0 && parameters.Case == abi.ParametersCaseValue {
		value = parameters.Value.Value
	}
	return Parameter{Name: resp.Name, Version: resp.Version, Value: string(value)}, nil
}

// Keys of a provider resource's __internal input, as Pulumi has them.
const (
	internalName             = "name"
	internalVersion          = "version"
	internalParameterization = "parameterization"
	internalEnvVarMappings   = providers.EnvVarMappings
	// internalDigest is Husk's own: the digest of the module.
	internalDigest = "digest"
)

// withDigest adds the digest of the provider's module to the inputs of its resource.
func withDigest(inputs property.Map, p abi.Provider) property.Map {
	d, ok := abi.ProviderAs[Digester](p)
	if !ok {
		return inputs
	}
	return putDigest(inputs, d.Digest())
}

func putDigest(m property.Map, digest string) property.Map {
	internal, _ := m.Get(internalKey).Plain().AsObject()
	return m.With(internalKey, property.Object(internal.With(internalDigest, property.String(digest))))
}

// digestOf is the recorded digest of a provider's module, empty if none is.
func digestOf(inputs property.Map) string {
	internal, _ := inputs.Get(internalKey).Plain().AsObject()
	digest, _ := internal.Get(internalDigest).Plain().AsString()
	return digest
}

// put adds the inputs that name a provider resource's package to other inputs, which stay as they are.
func (s PackageSpec) put(inputs property.Map) property.Map {
	given, _ := inputs.Get(internalKey).Plain().AsObject()
	for _, e := range s.inputs() {
		if mappings, ok := given.Lookup(internalEnvVarMappings); ok && e.Key == internalKey {
			own, _ := e.Value.AsObject()
			e.Value = property.Object(own.With(internalEnvVarMappings, mappings))
		}
		inputs = inputs.With(e.Key, e.Value)
	}
	return inputs
}

// inputs returns the inputs of a provider resource that say its package, enough to load it.
func (s PackageSpec) inputs() []property.Entry {
	if s.Parameter == (Parameter{}) {
		if s.Version == "" {
			return nil
		}
		return []property.Entry{{Key: versionKey, Value: property.String(s.Version)}}
	}
	internal := property.NewMap(
		property.Entry{Key: internalName, Value: property.String(s.Name)},
		property.Entry{Key: internalVersion, Value: property.String(s.Version)},
		property.Entry{Key: internalParameterization, Value: property.String(base64.StdEncoding.EncodeToString([]byte(s.Parameter.Value)))},
	)
	return []property.Entry{
		{Key: versionKey, Value: property.String(s.Parameter.Version)},
		{Key: internalKey, Value: property.Object(internal)},
	}
}

// Modules returns the digests of the modules that the state names.
func Modules(s *state.Snapshot) []string {
	var out []string
	for _, res := range s.Resources() {
		if d := digestOf(res.Inputs); res.IsProvider() && d != "" {
			out = append(out, d)
		}
	}
	return out
}

// specOf reads a provider resource's package. Its digest counts only for recorded resources, see recordedSpec.
func specOf(typ string, inputs property.Map) (PackageSpec, error) {
	pkg := strings.TrimPrefix(typ, providers.TypePrefix)
	version, _ := inputs.Get(versionKey).Plain().AsString()
	mappings, err := envVarMappingsOf(inputs)
	if err != nil {
		return PackageSpec{}, err
	}
	internal, ok := inputs.Get(internalKey).Plain().AsObject()
	if !ok || !internal.Has(internalParameterization) {
		return PackageSpec{Name: pkg, Version: version, EnvVarMappings: mappings}, nil
	}
	text := func(key string) string {
		s, _ := internal.Get(key).Plain().AsString()
		return s
	}
	value, err := base64.StdEncoding.DecodeString(text(internalParameterization))
	if err != nil {
		return PackageSpec{}, fmt.Errorf("provider %s: its recorded parameter is damaged: %w", pkg, err)
	}
	return PackageSpec{
		Name: cmp.Or(text(internalName), pkg), Version: text(internalVersion), EnvVarMappings: mappings,
		Parameter: Parameter{Name: pkg, Version: version, Value: string(value)},
	}, nil
}

// recordedSpec is specOf for a provider resource of the state, which is served by
// the module that it was made with.
func recordedSpec(typ string, inputs property.Map) (PackageSpec, error) {
	spec, err := specOf(typ, inputs)
	spec.Digest = digestOf(inputs)
	return spec, err
}

// ModuleOf returns the digest of the module that a provider resource was made with,
// empty if it names none.
func ModuleOf(provider *state.Resource) string { return digestOf(provider.Inputs) }

// WithModule returns the provider resource with another module, which manages what the old one made.
func WithModule(provider *state.Resource, digest string) *state.Resource {
	out := *provider
	out.Inputs, out.Outputs = putDigest(provider.Inputs, digest), putDigest(provider.Outputs, digest)
	return &out
}

// SpecOf returns which provider a provider resource wants, with the module that it was made with.
func SpecOf(provider *state.Resource) (PackageSpec, error) {
	return recordedSpec(provider.Type, provider.Inputs)
}
