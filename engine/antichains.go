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
	all := dependenciesAmong(resources, func(_, _ *state.Resource) bool { return true })
	out := layers(resources, all)
	left := without(resources, out)
	if len(left) == 0 {
		return out
	}
	// What is left is in circles, or comes after them.
	circular := make(map[*state.Resource]bool)
	for _, res := range without(left, layers(left, reverse(left, all))) {
		circular[res] = true
	}
	counts := func(res, dep *state.Resource) bool {
		return res.Delete || !dep.Delete || dep.Reference() == res.Provider || !circular[res] || !circular[dep]
	}
	successors := layers(left, dependenciesAmong(left, counts))
	out = append(out, successors...)
	// Old copies that need each other go before what they need.
	var after []*state.Resource
	for _, res := range slices.Backward(without(left, successors)) {
		if res.Delete && circular[res] {
			out = append(out, []*state.Resource{res})
		} else {
			after = append(after, res)
		}
	}
	last := layers(after, dependenciesAmong(after, counts))
	out = append(out, last...)
	for _, res := range without(after, last) {
		out = append(out, []*state.Resource{res})
	}
	return out
}

// edges calls f with all resources that an edge leads to from this one.
type edges func(from *state.Resource, f func(to *state.Resource))

// dependenciesAmong are the edges from resources to those that they depend on, as far as they
// count.
func dependenciesAmong(resources []*state.Resource, counts func(res, dep *state.Resource) bool) edges {
	byURN := make(map[urn.URN][]*state.Resource, len(resources))
	for _, res := range resources {
		byURN[res.URN] = append(byURN[res.URN], res)
	}
	return func(res *state.Resource, f func(dep *state.Resource)) {
		dependsOn(res, func(u urn.URN) {
			for _, dep := range byURN[u] {
				if dep != res && counts(res, dep) {
					f(dep)
				}
			}
		})
	}
}

// reverse has the edges among resources lead the other way.
func reverse(resources []*state.Resource, e edges) edges {
	back := make(map[*state.Resource][]*state.Resource)
	for _, from := range resources {
		e(from, func(to *state.Resource) { back[to] = append(back[to], from) })
	}
	return func(from *state.Resource, f func(*state.Resource)) {
		for _, to := range back[from] {
			f(to)
		}
	}
}

// layers parts resources into groups, each after all groups from which an edge leads to one
// of it. Resources in circles, and what edges lead to from there, are left out.
func layers(resources []*state.Resource, e edges) [][]*state.Resource {
	before := make(map[*state.Resource]int)
	for _, res := range resources {
		e(res, func(to *state.Resource) { before[to]++ })
	}
	var current []*state.Resource
	for _, res := range resources {
		if before[res] == 0 {
			current = append(current, res)
		}
	}
	var out [][]*state.Resource
	for len(current) > 0 {
		out = append(out, current)
		var next []*state.Resource
		for _, res := range current {
			e(res, func(to *state.Resource) {
				if before[to]--; before[to] == 0 {
					next = append(next, to)
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
