package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/asset"
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

// WithContents returns a provider whose calls are those of a deployment as far as assets
// and archives are concerned: what is new in a request gets its hash, and can be read
// from the source during the call; of what is old there is the hash alone. It is for
// those who call a provider without a deployment, such as its tests. Whoever names a file in a
// request has it read, but for what an answer of the provider has named first: of that, the answer
// has only the hash.
//
// The provider is an [io.Closer], which closes p if that can be closed.
func WithContents(p abi.Provider, source contents.Source) abi.Provider {
	s := asset.New(source)
	return abi.Intercept(abi.Intercept(p, s.Call), func(ctx context.Context, c *abi.Call) error {
		for _, p := range c.RequestProperties() {
			if p.Role.IsNew() {
				m, err := s.Admit(ctx, p.Get(), true)
				if err != nil {
					return err
				}
				p.Set(m)
			}
		}
		answer, err := c.AnswerProperties(c.Do(ctx))
		for _, p := range answer {
			p.Set(s.Withhold(p.Get()))
		}
		return err
	})
}
