package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/jsonerror"
)

// providerFor returns what manages resources of a type: the registry for
// providers, else the configured provider.
func (r *runState) providerFor(ctx context.Context, typ string, by served) (abi.Provider, error) {
	if isProviderType(typ) {
		return r.registry, nil
	}
	return r.serving(ctx, by)
}

// providerOf returns what manages a recorded resource.
func (r *runState) providerOf(ctx context.Context, res *state.Resource) (abi.Provider, error) {
	return r.providerFor(ctx, res.Type, served{res.Provider, res.ExtensionRef})
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

// defaultsAllowed honours the configuration pulumi:disable-default-providers,
// a JSON list of package names or "*". The engine's own package is always there.
func (r *runState) defaultsAllowed(pkg string) error {
	if pkg == builtin.Package {
		return nil
	}
	for _, c := range r.Config {
		if c.Key != "pulumi:disable-default-providers" {
			continue
		}
		var packages []string
		if err := json.Unmarshal([]byte(c.Value), &packages); err != nil {
			return fmt.Errorf("configuration pulumi:disable-default-providers must be a JSON list of package names: %w", jsonerror.Explain([]byte(c.Value), err))
		}
		if slices.Contains(packages, pkg) || slices.Contains(packages, "*") {
			return fmt.Errorf("the default provider of package %q is disabled by configuration: "+
				"give the resource an explicit provider", pkg)
		}
	}
	return nil
}

// packageConfig returns the stack's configuration of a package.
func (r *runState) packageConfig(pkg string) property.Map {
	var entries []property.Entry
	for _, c := range r.Config {
		key, ok := strings.CutPrefix(c.Key, pkg+":")
		if !ok {
			continue
		}
		v := property.String(c.Value)
		if c.Secret {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	return property.NewMap(entries...)
}
