package graph

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// A Parting is a change that takes a part out of components. What used the part by naming one of them still uses it.
type Parting struct {
	kin  *kin
	part urn.URN
	left map[urn.URN]bool
	// needed holds what the part needs after the change, directly or not.
	needed map[urn.URN]bool
}

// NewParting returns the change of a part among all resources, nil if it leaves no component.
func NewParting(all []*state.Resource, before, after *state.Resource) *Parting {
	if before.Parent == after.Parent {
		return nil
	}
	p := &Parting{kin: &kin{all: all}, part: before.URN, left: make(map[urn.URN]bool)}
	for component := range p.kin.above(before) {
		p.left[component] = true
	}
	for component := range p.kin.above(after) {
		delete(p.left, component)
	}
	if len(p.left) == 0 {
		return nil
	}
	byURN := make(map[urn.URN]*state.Resource, len(all))
	for _, res := range all {
		if !res.Delete {
			byURN[res.URN] = res
		}
	}
	p.needed = make(map[urn.URN]bool)
	Walk(after, func(_ *state.Resource, needed urn.URN) *state.Resource {
		if p.needed[needed] {
			return nil
		}
		p.needed[needed] = true
		return byURN[needed]
	})
	return p
}

// Keep returns a resource that names the part wherever it names a component that the part leaves. That is user itself if it uses
// no part of one, or if the part needs it by now.
func (p *Parting) Keep(user *state.Resource) *state.Resource {
	if user.URN == p.part || p.needed[user.URN] && !user.Delete {
		return user
	}
	through := make(map[urn.URN]bool)
	user.VisitNeeds(func(m state.Mention) {
		if UsesParts(m.Role) && p.left[m.URN] {
			through[m.URN] = true
		}
	})
	if len(through) == 0 {
		return user
	}
	for component := range p.kin.above(user) {
		delete(through, component)
	}
	if len(through) == 0 {
		return user
	}
	n, changed := *user, false
	withPart := func(urns []urn.URN) []urn.URN {
		if slices.Contains(urns, p.part) {
			return urns
		}
		changed = true
		return append(slices.Clip(urns), p.part)
	}
	n.Dependencies, n.PropertyDependencies = withPart(n.Dependencies), maps.Clone(n.PropertyDependencies)
	for key, urns := range n.PropertyDependencies {
		if slices.ContainsFunc(urns, func(u urn.URN) bool { return through[u] }) {
			n.PropertyDependencies[key] = withPart(urns)
		}
	}
	if !changed {
		return user
	}
	return &n
}
