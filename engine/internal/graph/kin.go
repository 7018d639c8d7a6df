package graph

import (
	"iter"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// kin knows which resources are parts of which components. It builds each of its maps on first use.
type kin struct {
	all        []*state.Resource
	components map[urn.URN]bool
	children   map[urn.URN][]urn.URN
	parents    map[urn.URN]urn.URN
	known      map[urn.URN][]urn.URN
}

// parts returns the parts of a component that user names: its children, and the children of components among them. The children
// of a provider's resource are not parts. There are none if user is a part itself, or names no component.
func (k *kin) parts(component urn.URN, user *state.Resource) []urn.URN {
	if !k.isComponent(component) {
		return nil
	}
	for at := range k.above(user) {
		if at == component {
			return nil
		}
	}
	if parts, ok := k.known[component]; ok {
		return parts
	}
	var parts []urn.URN
	seen := map[urn.URN]bool{component: true}
	for queue := []urn.URN{component}; len(queue) > 0; {
		parent := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, u := range k.children[parent] {
			if seen[u] {
				continue
			}
			seen[u] = true
			parts = append(parts, u)
			if k.components[u] {
				queue = append(queue, u)
			}
		}
	}
	k.known[component] = parts
	return parts
}

// above yields the components that a resource is a part of, the nearest first.
func (k *kin) above(res *state.Resource) iter.Seq[urn.URN] {
	k.find()
	return func(yield func(urn.URN) bool) {
		seen := make(map[urn.URN]bool)
		for at := res.Parent; k.isComponent(at) && !seen[at] && yield(at); at = k.parents[at] {
			seen[at] = true
		}
	}
}

func (k *kin) isComponent(u urn.URN) bool {
	if k.components == nil {
		k.components = make(map[urn.URN]bool)
		for _, res := range k.all {
			if !res.Custom {
				k.components[res.URN] = true
			}
		}
	}
	return k.components[u]
}

// find notes who is below whom. Most stacks have no resource that names a component.
func (k *kin) find() {
	if k.known != nil {
		return
	}
	k.known = make(map[urn.URN][]urn.URN)
	k.children, k.parents = make(map[urn.URN][]urn.URN), make(map[urn.URN]urn.URN)
	for _, res := range k.all {
		if res.Parent != "" {
			k.children[res.Parent] = append(k.children[res.Parent], res.URN)
			k.parents[res.URN] = res.Parent
		}
	}
}
