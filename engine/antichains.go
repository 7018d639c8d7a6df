package engine

import (
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// antichains parts resources into groups without dependencies among their
// members, each group after all groups that depend on it. It takes time linear
// in the number of resources and dependencies.
//
// What names a replaced resource may still use its old copies, so all copies come
// after it. That can close a circle: an old copy depends on what by now depends on
// its successor. There, what is not replaced is taken to depend on the successor
// alone, but for its provider, which it names with its ID. No resource is ever left out.
func antichains(resources []*state.Resource) [][]*state.Resource {
	out := layers(resources, func(*state.Resource, *state.Resource) bool { return true })
	left := without(resources, out)
	successors := layers(left, func(res, dep *state.Resource) bool {
		return res.Delete || !dep.Delete || dep.Reference() == res.Provider
	})
	out = append(out, successors...)
	for _, res := range slices.Backward(without(left, successors)) { // old copies that need each other
		out = append(out, []*state.Resource{res})
	}
	return out
}

// layers is antichains for the dependencies that count. Resources in circles, and
// what those depend on, are left out.
func layers(resources []*state.Resource, counts func(res, dep *state.Resource) bool) [][]*state.Resource {
	byURN := make(map[urn.URN][]*state.Resource, len(resources))
	for _, res := range resources {
		byURN[res.URN] = append(byURN[res.URN], res)
	}
	dependencies := func(res *state.Resource, f func(dep *state.Resource)) {
		dependsOn(res, func(u urn.URN) {
			for _, dep := range byURN[u] {
				if dep != res && counts(res, dep) {
					f(dep)
				}
			}
		})
	}
	dependents := make(map[*state.Resource]int, len(resources))
	for _, res := range resources {
		dependencies(res, func(dep *state.Resource) { dependents[dep]++ })
	}
	var current []*state.Resource
	for _, res := range resources {
		if dependents[res] == 0 {
			current = append(current, res)
		}
	}
	var out [][]*state.Resource
	for len(current) > 0 {
		out = append(out, current)
		var next []*state.Resource
		for _, res := range current {
			dependencies(res, func(dep *state.Resource) {
				if dependents[dep]--; dependents[dep] == 0 {
					next = append(next, dep)
				}
			})
		}
		current = next
	}
	return out
}

// without returns the resources that are in none of the groups.
func without(resources []*state.Resource, groups [][]*state.Resource) []*state.Resource {
	in := make(map[*state.Resource]bool, len(resources))
	for _, group := range groups {
		for _, res := range group {
			in[res] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(resources), func(res *state.Resource) bool { return in[res] })
}
