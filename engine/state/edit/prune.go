package edit

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// prune returns r without what it names that is not there, and tells cut of each such
// URN and of what it was. It is r itself where nothing had to go. The provider is left
// to the caller.
func prune(r *state.Resource, there func(urn.URN) bool, cut func(role string, u urn.URN)) *state.Resource {
	out := *r
	changed := false
	one := func(role string, u urn.URN) urn.URN {
		if u == "" || there(u) {
			return u
		}
		changed = true
		cut(role, u)
		return ""
	}
	all := func(role string, urns []urn.URN) []urn.URN {
		if !slices.ContainsFunc(urns, func(u urn.URN) bool { return !there(u) }) {
			return urns // nil stays nil, and an empty list one
		}
		kept := []urn.URN{}
		for _, u := range urns {
			if one(role, u) != "" {
				kept = append(kept, u)
			}
		}
		return kept
	}
	out.Parent = one("parent", r.Parent)
	out.DeletedWith, out.ViewOf = one("deletedWith", r.DeletedWith), one("viewOf", r.ViewOf)
	out.Dependencies, out.ReplaceWith = all("dependency", r.Dependencies), all("replaceWith", r.ReplaceWith)
	out.PropertyDependencies = maps.Clone(r.PropertyDependencies)
	for _, key := range slices.Sorted(maps.Keys(r.PropertyDependencies)) {
		out.PropertyDependencies[key] = all("dependency of the property "+key, r.PropertyDependencies[key])
	}
	if !changed {
		return r
	}
	return &out
}
