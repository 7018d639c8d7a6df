package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/redact"
)

// PackageSpec says which provider is wanted.
type PackageSpec struct {
	// Name is the package that the module implements, for example "random".
	Name string
	// Version is a semantic version, empty for any.
	Version string
	// Digest is that of the module which a state names; empty for the module that
	// is installed now.
	Digest string
	// Parameter makes the provider into another package; the zero Parameter does not.
	Parameter Parameter
	// Extension makes that package's provider serve another one beside it, which is the
	// one that is wanted; the zero Parameter does not.
	Extension Parameter
}

// Parameter is what a provider was parameterized with: the package that it
// became or serves beside its own, and the value that makes it so again.
type Parameter struct {
	Name    string
	Version string
	// Value holds bytes that only the provider understands.
	Value string
}

// Package is the name of the package as programs know it.
func (s PackageSpec) Package() string { return or(s.Extension.Name, s.provided()) }

// provided is the package that providers of the spec are configured as: the one that
// is extended, for an extension.
func (s PackageSpec) provided() string { return or(s.Parameter.Name, s.Name) }

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

// Loader makes unconfigured providers, not yet parameterized. A provider that also implements
// [io.Closer] is closed when the deployment no longer needs it. Load is called
// concurrently; each call returns a provider of its own.
type Loader interface {
	Load(ctx context.Context, spec PackageSpec) (abi.Provider, error)
}

// Digester is implemented by providers whose code has a digest: modules. The
// digest is recorded with the provider resource, so that what a module made can
// be refreshed and destroyed by that module, whatever is installed then.
type Digester interface {
	Digest() string
}

// providerTypePrefix begins the types of provider resources.
const providerTypePrefix = "pulumi:providers:"

// unknownID stands for the ID of a provider that a preview has not created. It
// is Pulumi's sentinel for an unknown string.
const unknownID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// isProviderType reports whether typ is that of a provider resource.
func isProviderType(typ string) bool { return strings.HasPrefix(typ, providerTypePrefix) }

// isDefaultProvider reports whether u names a provider that nobody wrote down.
func isDefaultProvider(u urn.URN) bool {
	return isProviderType(u.Type()) && (u.Name() == "default" || strings.HasPrefix(u.Name(), "default_"))
}

// packageOf is the package that a type or function token belongs to.
func packageOf(token string) string {
	pkg, _, _ := strings.Cut(token, ":")
	return pkg
}

// packageOfProvider is the package of a provider reference, empty for none.
func packageOfProvider(ref string) string {
	u, _, err := splitReference(ref)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Type(), providerTypePrefix)
}

// reference joins a provider resource's URN and ID.
func reference(u urn.URN, id string) string { return string(u) + "::" + id }

// splitReference parts a provider reference at its last "::".
func splitReference(ref string) (u urn.URN, id string, err error) {
	i := strings.LastIndex(ref, "::")
	if i < 0 {
		return "", "", fmt.Errorf("invalid provider reference %q: it must have the form <urn>::<id>", ref)
	}
	u, err = urn.Parse(ref[:i])
	if err != nil {
		return "", "", fmt.Errorf("invalid provider reference %q: %w", ref, err)
	}
	if !isProviderType(u.Type()) {
		return "", "", fmt.Errorf("invalid provider reference %q: %s is not a provider", ref, u)
	}
	return u, ref[i+2:], nil
}

// session is a loaded provider with what it said in its handshake. It gives
// the provider only values that it understands.
type session struct {
	abi.Provider
	handshake  abi.HandshakeResponse
	negotiated bool // false for a provider without a handshake, which is taken to understand all
	secrets    *redact.Secrets

	// config is the schema of the configuration, nil until it was needed; see configSchema.
	configMu sync.Mutex
	config   *schema.Object
}

// openSession shakes hands with p, which must be the package named.
func openSession(ctx context.Context, p abi.Provider, pkg string) (*session, error) {
	resp, err := p.Handshake(ctx, abi.HandshakeRequest{
		Engine: "husk",
		Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs |
			abi.FeaturesAutonaming | abi.FeaturesPreview,
	})
	if errors.Is(err, abi.ErrUnimplemented) {
		return &session{Provider: p}, nil
	}
	if err != nil {
		return nil, err
	}
	if resp.Name != "" && resp.Name != pkg {
		return nil, fmt.Errorf("the module given for provider %q implements %q: correct its path under plugins.providers", pkg, resp.Name)
	}
	return &session{Provider: p, handshake: resp, negotiated: true}, nil
}

func (s *session) understands(f abi.Features) bool {
	return !s.negotiated || s.handshake.Features&f != 0
}

// close releases the provider, which is told to cancel first.
func (s *session) close(ctx context.Context) error {
	err := s.Provider.Cancel(ctx)
	if errors.Is(err, abi.ErrUnimplemented) {
		err = nil
	}
	if c, ok := s.Provider.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// lower turns m into what the provider understands: secrets and resource
// references are replaced where it did not ask for them. What is secret is known from then on.
func (s *session) lower(m property.Map) property.Map {
	s.secrets.LearnComputed(m)
	secrets, refs := s.understands(abi.FeaturesSecrets), s.understands(abi.FeaturesResourceReferences)
	if secrets && refs {
		return m
	}
	return lowerMap(m, secrets, refs)
}

func (s *session) lowerOptional(m *property.Map) *property.Map {
	if m == nil {
		return nil
	}
	l := s.lower(*m)
	return &l
}

func lowerMap(m property.Map, secrets, refs bool) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for k, v := range m.All() {
		entries = append(entries, property.Entry{Key: k, Value: lowerValue(v, secrets, refs)})
	}
	return property.NewMap(entries...)
}

func lowerValue(v property.Value, secrets, refs bool) property.Value {
	switch v.Kind() {
	case property.KindSecret:
		inner, _ := v.AsSecret()
		inner = lowerValue(inner, secrets, refs)
		if secrets {
			return property.Secret(inner)
		}
		return inner
	case property.KindResourceReference:
		r, _ := v.AsReference()
		if refs {
			return v
		}
		return r.Text()
	case property.KindOutput:
		o, _ := v.AsOutput()
		o.Value, o.Secret = lowerValue(o.Value, secrets, refs), o.Secret && secrets
		return property.OutputOf(o)
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]property.Value, len(elements))
		for i, e := range elements {
			out[i] = lowerValue(e, secrets, refs)
		}
		return property.Array(out...)
	case property.KindObject:
		m, _ := v.AsObject()
		return property.Object(lowerMap(m, secrets, refs))
	default:
		return v
	}
}

// Check calls the provider. Inputs that were secret stay so where the provider
// cannot say it.
func (s *session) Check(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return s.check(ctx, req, s.Provider.Check)
}

// CheckConfig is Check for configuration.
func (s *session) CheckConfig(ctx context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	req.News = s.nested(ctx, req.News)
	if req.Olds != nil {
		olds := s.nested(ctx, *req.Olds)
		req.Olds = &olds
	}
	return s.check(ctx, req, s.Provider.CheckConfig)
}

func (s *session) check(ctx context.Context, req abi.CheckRequest,
	method func(context.Context, abi.CheckRequest) (abi.CheckResponse, error),
) (abi.CheckResponse, error) {
	news := req.News
	req.Olds, req.News = s.lowerOptional(req.Olds), s.lower(req.News)
	resp, err := method(ctx, req)
	if err == nil && !s.understands(abi.FeaturesSecrets) {
		resp.Inputs = keepSecrets(news, resp.Inputs)
	}
	resp.Failures = cited(resp.Failures)
	s.secrets.LearnFrom(resp.Inputs)
	return resp, err
}

// Diff calls the provider.
func (s *session) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	req.Olds, req.News, req.OldInputs = s.lower(req.Olds), s.lower(req.News), s.lower(req.OldInputs)
	return s.Provider.Diff(ctx, req)
}

// DiffConfig is Diff for configuration.
func (s *session) DiffConfig(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	req.Olds, req.News, req.OldInputs = s.lower(s.nested(ctx, req.Olds)), s.lower(s.nested(ctx, req.News)), s.lower(s.nested(ctx, req.OldInputs))
	return s.Provider.DiffConfig(ctx, req)
}

// Configure calls the provider.
func (s *session) Configure(ctx context.Context, req abi.ConfigureRequest) error {
	req.Inputs = s.lower(s.nested(ctx, req.Inputs))
	return s.Provider.Configure(ctx, req)
}

// Create calls the provider. A preview that the provider cannot do has no known outputs.
func (s *session) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	if req.Preview && !s.understands(abi.FeaturesPreview) {
		return abi.CreateResponse{}, nil
	}
	req.Inputs = s.lower(req.Inputs)
	return s.Provider.Create(ctx, req)
}

// Read calls the provider.
func (s *session) Read(ctx context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	state, inputs := req.State, req.Inputs
	req.State, req.Inputs = s.lowerOptional(state), s.lowerOptional(inputs)
	resp, err := s.Provider.Read(ctx, req)
	if err == nil && !s.understands(abi.FeaturesSecrets) {
		if state != nil {
			resp.State = keepSecrets(*state, resp.State)
		}
		if inputs != nil && resp.Inputs != nil {
			kept := keepSecrets(*inputs, *resp.Inputs)
			resp.Inputs = &kept
		}
	}
	return resp, err
}

// Update calls the provider. A preview that the provider cannot do has no known outputs.
func (s *session) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	if req.Preview && !s.understands(abi.FeaturesPreview) {
		return abi.UpdateResponse{}, nil
	}
	req.Olds, req.News, req.OldInputs = s.lower(req.Olds), s.lower(req.News), s.lower(req.OldInputs)
	return s.Provider.Update(ctx, req)
}

// Delete calls the provider.
func (s *session) Delete(ctx context.Context, req abi.DeleteRequest) error {
	req.State, req.OldInputs = s.lower(req.State), s.lower(req.OldInputs)
	return s.Provider.Delete(ctx, req)
}

// Invoke calls the provider. Where it knows no secrets, a result of secret
// arguments is secret as a whole.
func (s *session) Invoke(ctx context.Context, req abi.InvokeRequest) (abi.InvokeResponse, error) {
	secret := req.Args.ContainsSecrets() && !s.understands(abi.FeaturesSecrets)
	req.Args = s.lower(req.Args)
	resp, err := s.Provider.Invoke(ctx, req)
	if err == nil && secret {
		entries := make([]property.Entry, 0, resp.Result.Len())
		for k, v := range resp.Result.All() {
			entries = append(entries, property.Entry{Key: k, Value: property.Secret(v)})
		}
		resp.Result = property.NewMap(entries...)
	}
	resp.Failures = cited(resp.Failures)
	s.secrets.LearnFrom(resp.Result)
	return resp, err
}

// cited marks the lines of what a provider says is wrong.
func cited(failures []abi.CheckFailure) []abi.CheckFailure {
	out := slices.Clone(failures)
	for i, f := range out {
		out[i].Reason = abi.Cite(f.Reason)
	}
	return out
}

// keepSecrets marks the properties of got secret whose namesake in given holds a secret.
func keepSecrets(given, got property.Map) property.Map {
	entries := make([]property.Entry, 0, got.Len())
	for k, v := range got.All() {
		if g, ok := given.Lookup(k); ok && g.ContainsSecrets() && !v.ContainsSecrets() {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: k, Value: v})
	}
	return property.NewMap(entries...)
}

// unconfigured answers for a provider whose configuration is not known in a
// preview, as the provider guide says: checks pass, differences cannot be told,
// and outputs are unknown.
type unconfigured struct{ abi.Unimplemented }

var errUnconfigured = abi.NewError(abi.ErrorKindUnavailable,
	"the provider's configuration holds values that are not known yet")

func (unconfigured) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: req.News}, nil
}

func (unconfigured) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, errUnconfigured
}

func (unconfigured) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{}, nil
}

func (unconfigured) Update(context.Context, abi.UpdateRequest) (abi.UpdateResponse, error) {
	return abi.UpdateResponse{}, nil
}

func (unconfigured) Read(_ context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{}, errUnconfigured
}

func (unconfigured) Invoke(context.Context, abi.InvokeRequest) (abi.InvokeResponse, error) {
	return abi.InvokeResponse{}, errUnconfigured
}
