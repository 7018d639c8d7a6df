package engine

import (
	"cmp"
	"context"

	"github.com/husk-dev/husk/abi"
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
