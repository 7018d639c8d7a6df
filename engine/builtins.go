package engine

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
)

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
