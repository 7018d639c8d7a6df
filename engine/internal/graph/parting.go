package graph

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// A Move gives a resource another parent.
type Move struct{ Before, After *state.Resource }

// A Parting is a change that takes parts out of components, or users into them. A user that names a component uses its parts only if it is
// outside, and still uses the ones that it used before.
type Parting struct {
	kin *kin
	// left and joined hold the components that resources leave and join.
	left, joined map[urn.URN][]urn.URN
	// needed holds what the parts need after the change, directly or not.
	needed map[urn.URN]bool
}

// NewParting returns what moves among all resources change in this way, nil if that is nothing.
func NewParting(all []*state.Resource, moves []Move) *Parting {
	p := &Parting{kin: &kin{all: all}, left: make(map[urn.URN][]urn.URN), joined: make(map[urn.URN][]urn.URN), needed: make(map[urn.URN]bool)}
	var parts []*state.Resource
	for _, m := range moves {
		before, after := slices.Collect(p.kin.above(m.Before)), slices.Collect(p.kin.above(m.After))
		for _, component := range before {
			if !slices.Contains(after, component) {
				p.left[m.Before.URN] = append(p.left[m.Before.URN], component)
				parts = append(parts, m.After)
			}
		}
		for _, component := range after {
			if !m.After.Custom && !slices.Contains(before, component) {
				p.joined[m.Before.URN] = append(p.joined[m.Before.URN], component)
				parts = append(parts, &state.Resource{Dependencies: p.kin.children[component]})
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	byURN := make(map[urn.URN]*state.Resource, len(all))
	for _, res := range all {
		if !res.Delete {
			byURN[res.URN] = res
		}
	}
	for _, part := range parts {
		Walk(part, func(_ *state.Resource, needed urn.URN) *state.Resource {
			if p.needed[needed] {
				return nil
			}
			p.needed[needed] = true
			return byURN[needed]
		})
	}
	return p
}

// Keep returns a resource that names the parts wherever it named a component for them. That is user itself if it used none, or if a
// part needs it by now.
func (p *Parting) Keep(user *state.Resource) *state.Resource {
	if p.needed[user.URN] && !user.Delete {
		return user
	}
	named := make(map[urn.URN]bool)
	user.VisitNeeds(func(m state.Mention) { named[m.URN] = named[m.URN] || UsesParts(m.Role) })
	above := slices.Collect(p.kin.above(user))
	for _, component := range above {
		delete(named, component)
	}
	kept := make(map[urn.URN][]urn.URN) // by the components that are named for them
	for part, components := range p.left {
		for _, component := range components {
			kept[component] = append(kept[component], part)
		}
	}
	for moved, components := range p.joined {
		for _, component := range components {
			if slices.Contains(above, moved) {
				kept[component] = append(kept[component], p.kin.children[component]...)
			}
		}
	}
	n, changed := *user, false
	with := func(urns []urn.URN, component urn.URN) []urn.URN {
		for _, part := range kept[component] {
			if named[component] && part != user.URN && !slices.Contains(urns, part) {
				urns, changed = append(slices.Clip(urns), part), true
			}
		}
		return urns
	}
	for _, component := range slices.Sorted(maps.Keys(kept)) {
		n.Dependencies = with(n.Dependencies, component)
	}
	n.PropertyDependencies = maps.Clone(user.PropertyDependencies)
	for key, urns := range user.PropertyDependencies {
		for _, component := range urns {
			n.PropertyDependencies[key] = with(n.PropertyDependencies[key], component)
		}
	}
	if !changed {
		return user
	}
	return &n
}
