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
	// left holds the parts that leave a component, and joined the components that join it.
	left, joined map[urn.URN][]urn.URN
	// parts are the parts that users name after the change, as they are then. needed holds the resources that they need, directly or not. It
	// is nil until isNeeded is called.
	parts  []*state.Resource
	needed map[urn.URN]bool
}

// NewParting returns the parting that the moves are among all resources, nil if no user has to name a part because of them.
func NewParting(all []*state.Resource, moves []Move) *Parting {
	p := &Parting{kin: &kin{all: all}, left: make(map[urn.URN][]urn.URN), joined: make(map[urn.URN][]urn.URN)}
	for _, m := range moves {
		before, after := slices.Collect(p.kin.above(m.Before)), slices.Collect(p.kin.above(m.After))
		for _, component := range before {
			if !slices.Contains(after, component) {
				p.left[component] = append(p.left[component], m.Before.URN)
				p.parts = append(p.parts, m.After)
			}
		}
		for _, component := range after {
			if !m.After.Custom && !slices.Contains(before, component) {
				p.joined[component] = append(p.joined[component], m.Before.URN)
				p.parts = append(p.parts, &state.Resource{Dependencies: p.partsOf(component)})
			}
		}
	}
	if len(p.parts) == 0 {
		return nil
	}
	return p
}

// partsOf returns the parts that a user outside of a component uses by naming it.
func (p *Parting) partsOf(component urn.URN) []urn.URN {
	return p.kin.parts(component, &state.Resource{})
}

// isNeeded reports whether a part needs a resource after the change.
func (p *Parting) isNeeded(u urn.URN) bool {
	if p.needed == nil {
		p.needed = make(map[urn.URN]bool)
		byURN := make(map[urn.URN]*state.Resource, len(p.kin.all))
		for _, res := range p.kin.all {
			if !res.Delete {
				byURN[res.URN] = res
			}
		}
		for _, part := range p.parts {
			Walk(part, func(_ *state.Resource, needed urn.URN) *state.Resource {
				if p.needed[needed] {
					return nil
				}
				p.needed[needed] = true
				return byURN[needed]
			})
		}
	}
	return p.needed[u]
}

// Keep returns a copy of user that names the parts wherever user names a component for them. It returns user itself if it uses no part, or
// if a part needs it after the change.
func (p *Parting) Keep(user *state.Resource) *state.Resource {
	above := slices.Collect(p.kin.above(user))
	kept := make(map[urn.URN][]urn.URN) // by the components that are named for them
	user.VisitNeeds(func(m state.Mention) {
		if !UsesParts(m.Role) || slices.Contains(above, m.URN) {
			return
		}
		parts := slices.Clone(p.left[m.URN])
		if slices.ContainsFunc(p.joined[m.URN], func(moved urn.URN) bool { return slices.Contains(above, moved) }) {
			parts = append(parts, p.partsOf(m.URN)...)
		}
		if len(parts) > 0 {
			kept[m.URN] = parts
		}
	})
	if len(kept) == 0 || !user.Delete && p.isNeeded(user.URN) {
		return user
	}
	n, changed := *user, false
	with := func(urns []urn.URN, component urn.URN) []urn.URN {
		for _, part := range kept[component] {
			if part != user.URN && !slices.Contains(urns, part) {
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
