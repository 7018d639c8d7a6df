package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Role is the relation of a resource to another that names it.
type Role uint8

// The roles. A resource needs what it names in one of the first; see [Role.Needed].
const (
	RoleProvider           Role = iota // manages the resource; named with its ID
	RoleParent                         // is its parent
	RoleDependency                     // is a dependency
	RolePropertyDependency             // is a dependency of one input
	RoleDeletedWith                    // takes the resource along when it is deleted
	RoleReplaceWith                    // takes the resource along when it is replaced
	RoleViewOf                         // the resource is a view of it
	RoleValue                          // is referred to in inputs, outputs, or the replacement trigger
	RoleAlias                          // is an earlier name of the resource itself
)

var roleNames = [...]string{
	RoleProvider: "provider", RoleParent: "parent", RoleDependency: "dependency",
	RolePropertyDependency: "dependency of the property", RoleDeletedWith: "deletedWith",
	RoleReplaceWith: "replaceWith", RoleViewOf: "viewOf", RoleValue: "value", RoleAlias: "alias",
}

// Needed reports whether a state is damaged if it lacks what a resource names in this role.
func (r Role) Needed() bool { return r <= RoleViewOf }

// A Mention is one place in which a resource names another one.
type Mention struct {
	Role Role
	URN  urn.URN
	// ID is the provider's, for [RoleProvider]: which copy of a provider is meant is known.
	ID string
	// Property is the input, for [RolePropertyDependency].
	Property string
}

// String returns the role, and the property that it is of.
func (m Mention) String() string {
	if m.Property != "" {
		return roleNames[m.Role] + " " + m.Property
	}
	return roleNames[m.Role]
}

// Reference returns the reference of the provider, for [RoleProvider].
func (m Mention) Reference() string { return string(m.URN) + "::" + m.ID }

// VisitURNs calls visit with every mention of another resource, always in one order.
func (r *Resource) VisitURNs(visit func(Mention)) {
	r.mapURNs(true, func(m Mention) urn.URN { visit(m); return m.URN })
}

// VisitNeeds calls visit with the mentions of resources that this one cannot exist without.
func (r *Resource) VisitNeeds(visit func(Mention)) {
	r.mapURNs(false, func(m Mention) urn.URN { visit(m); return m.URN })
}

// MapURNs returns the resource with each URN that it mentions replaced by f's result for the mention. An empty URN removes the
// mention: a reference in a value becomes plain text, and a provider stays as it is. The result is r itself if nothing changes.
func (r *Resource) MapURNs(f func(Mention) urn.URN) *Resource { return r.mapURNs(true, f) }

// mapURNs is the only list of places in which resources name others. Only deep visits all.
func (r *Resource) mapURNs(deep bool, f func(Mention) urn.URN) *Resource {
	out := r
	changed := func() *Resource {
		if out == r {
			c := *r
			out = &c
		}
		return out
	}
	one := func(role Role, u urn.URN) urn.URN {
		if u == "" {
			return ""
		}
		return f(Mention{Role: role, URN: u})
	}
	if u, id, ok := CutReference(r.Provider); ok {
		if v := f(Mention{Role: RoleProvider, URN: u, ID: id}); v != u && v != "" {
			changed().Provider = string(v) + "::" + id
		}
	}
	if u := one(RoleParent, r.Parent); u != r.Parent {
		changed().Parent = u
	}
	if urns, ok := mapList(Mention{Role: RoleDependency}, r.Dependencies, f); ok {
		changed().Dependencies = urns
	}
	if len(r.PropertyDependencies) > 0 {
		var byProperty map[string][]urn.URN
		for _, key := range slices.Sorted(maps.Keys(r.PropertyDependencies)) {
			urns, ok := mapList(Mention{Role: RolePropertyDependency, Property: key}, r.PropertyDependencies[key], f)
			if !ok {
				continue
			}
			if byProperty == nil {
				byProperty = maps.Clone(r.PropertyDependencies)
				changed().PropertyDependencies = byProperty
			}
			byProperty[key] = urns
		}
	}
	if u := one(RoleDeletedWith, r.DeletedWith); u != r.DeletedWith {
		changed().DeletedWith = u
	}
	if urns, ok := mapList(Mention{Role: RoleReplaceWith}, r.ReplaceWith, f); ok {
		changed().ReplaceWith = urns
	}
	if u := one(RoleViewOf, r.ViewOf); u != r.ViewOf {
		changed().ViewOf = u
	}
	if !deep {
		return out
	}
	if urns, ok := mapList(Mention{Role: RoleAlias}, r.Aliases, f); ok {
		changed().Aliases = urns
	}
	if v, ok := mapValue(property.Object(r.Inputs), f); ok {
		changed().Inputs, _ = v.AsObject()
	}
	if v, ok := mapValue(property.Object(r.Outputs), f); ok {
		changed().Outputs, _ = v.AsObject()
	}
	if v, ok := mapValue(r.ReplacementTrigger, f); ok {
		changed().ReplacementTrigger = v
	}
	return out
}

// mapList maps URNs, and reports whether any changed. A list that loses all is empty, and not nil.
func mapList(m Mention, urns []urn.URN, f func(Mention) urn.URN) (_ []urn.URN, changed bool) {
	out := urns
	for i, u := range urns {
		m.URN = u
		v := u
		if u != "" {
			v = f(m)
		}
		if v != u && !changed {
			out, changed = append(make([]urn.URN, 0, len(urns)), urns[:i]...), true
		}
		if changed && v != "" {
			out = append(out, v)
		}
	}
	return out, changed
}

// mapValue maps the references in a value, also secret ones, and reports whether any changed.
func mapValue(v property.Value, f func(Mention) urn.URN) (_ property.Value, changed bool) {
	if !v.ContainsReferences() {
		return v, false
	}
	mapped := v.Transform(func(v property.Value) property.Value {
		ref, ok := v.AsReference()
		if !ok {
			return v
		}
		u := f(Mention{Role: RoleValue, URN: urn.URN(ref.URN)})
		if string(u) == ref.URN {
			return v
		}
		changed = true
		if u == "" {
			return ref.Text()
		}
		ref.URN = string(u)
		return property.Reference(ref)
	})
	if !changed {
		return v, false
	}
	return mapped, true
}

// CutReference parts the reference of a provider, "<urn>::<id>", at its last "::".
func CutReference(ref string) (u urn.URN, id string, ok bool) {
	i := strings.LastIndex(ref, "::")
	if i < 0 {
		return "", "", false
	}
	return urn.URN(ref[:i]), ref[i+2:], true
}
