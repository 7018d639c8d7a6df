package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/toposort"
)

// Graph says which resources of a snapshot name which others, see [Role.Needed].
type Graph struct {
	index      index
	serials    []Serial // of each resource, by index
	dependents [][]int
}

// Graph returns the snapshot's graph.
func (s *Snapshot) Graph() *Graph {
	g := &Graph{serials: slices.Sorted(maps.Keys(s.slots))}
	resources := resourcesOf(s.list())
	g.index = newIndex(resources)
	g.dependents = make([][]int, len(resources))
	for i, r := range resources {
		for _, at := range g.index.dependencies(r) {
			g.dependents[at] = append(g.dependents[at], i)
		}
	}
	return g
}

// Find returns the resource of the URN; an old copy only if there is no other.
func (g *Graph) Find(u urn.URN) (Serial, bool) {
	at, ok := g.index.find(&Resource{}, u)
	if !ok {
		return 0, false
	}
	return g.serials[at], true
}

// Provider returns the provider resource of a reference.
func (g *Graph) Provider(reference string) (Serial, bool) {
	at, ok := g.index.providers[reference]
	if !ok {
		return 0, false
	}
	return g.serials[at], true
}

// Has reports whether what r names by a URN is there.
func (g *Graph) Has(r *Resource, u urn.URN) bool {
	_, ok := g.index.find(r, u)
	return ok
}

// Dependents returns the other resources that depend on any of these, also indirectly, sorted.
func (g *Graph) Dependents(serials ...Serial) []Serial {
	seen := make(map[int]bool, len(serials))
	var queue []int
	add := func(at int) {
		if !seen[at] {
			seen[at] = true
			queue = append(queue, at)
		}
	}
	for _, serial := range serials {
		if at, ok := slices.BinarySearch(g.serials, serial); ok {
			add(at)
		}
	}
	first := len(queue)
	for i := 0; i < len(queue); i++ {
		for _, at := range g.dependents[queue[i]] {
			add(at)
		}
	}
	out := make([]Serial, 0, len(queue)-first)
	for _, at := range queue[first:] {
		out = append(out, g.serials[at])
	}
	slices.Sort(out)
	return out
}

// Add adds a resource to the snapshot.
func (s *Snapshot) Add(r *Resource) { s.add(slot{resource: r}) }

// AddOperation adds a pending operation to the snapshot.
func (s *Snapshot) AddOperation(p PendingOperation) {
	s.addOperation(slot{operation: p.Type, resource: p.Resource})
}

// A CycleError reports resources that depend on each other.
type CycleError struct {
	// URNs are one cycle: each depends on the next, and the last on the first.
	URNs []urn.URN
}

func (e *CycleError) Error() string {
	names := make([]string, len(e.URNs))
	for i, u := range e.URNs {
		names[i] = string(u)
	}
	return fmt.Sprintf("resources depend on each other: %s", strings.Join(append(names, names[0]), " -> "))
}

// Sort returns the resources in topological order, in linear time: the provider, the parent, and
// the dependencies of a resource come before it. Resources in such an order keep it. The error is a
// *CycleError; then the edges that close a cycle do not count. They do not count either, without an
// error, if an old copy is part of the cycle: which copy is meant is not recorded.
func Sort(resources []*Resource) ([]*Resource, error) {
	order, err := sortResources(resources, newIndex(resources))
	out := make([]*Resource, len(order))
	for i, at := range order {
		out[i] = resources[at]
	}
	return out, err
}

func (s *Snapshot) ordered() []slot {
	slots := s.list()
	resources := resourcesOf(slots)
	order, _ := sortResources(resources, newIndex(resources)) // Verify reports a cycle
	out := make([]slot, len(order))
	for i, at := range order {
		out[i] = slots[at]
	}
	return out
}

func resourcesOf(slots []slot) []*Resource {
	out := make([]*Resource, len(slots))
	for i, v := range slots {
		out[i] = v.resource
	}
	return out
}

// sortResources returns indexes in topological order.
func sortResources(resources []*Resource, ix index) (order []int, err error) {
	before := func(i int) []int { return ix.dependencies(resources[i]) }
	order = toposort.Order(len(resources), before, func(numbers func() []int) {
		if err != nil {
			return
		}
		cycle := numbers()
		// An old copy may mean the successor of another, and who names a resource that is
		// gone means no old copy of it.
		if slices.ContainsFunc(cycle, func(i int) bool { return resources[i].Delete }) {
			return
		}
		found := &CycleError{}
		for _, i := range cycle {
			found.URNs = append(found.URNs, resources[i].URN)
		}
		err = found
	})
	return order, err
}

// index finds resources by the names that others use for them.
type index struct {
	// live are the resources, and old the first old copies of each, which are to be deleted.
	live, old map[urn.URN]int
	providers map[string]int
}

func newIndex(resources []*Resource) index {
	ix := index{live: make(map[urn.URN]int, len(resources)), old: map[urn.URN]int{}, providers: map[string]int{}}
	for i, r := range resources {
		in := ix.live
		if r.Delete {
			in = ix.old
		}
		if _, ok := in[r.URN]; !ok {
			in[r.URN] = i
		}
		if r.IsProvider() {
			ix.providers[r.Reference()] = i
		}
	}
	return ix
}

// find returns the resource that r means by a URN. An old copy means an old copy, if there is one.
func (ix index) find(r *Resource, u urn.URN) (at int, ok bool) {
	first, second := ix.live, ix.old
	if r.Delete {
		first, second = second, first
	}
	if at, ok = first[u]; !ok {
		at, ok = second[u]
	}
	return at, ok
}

// dependencies returns the resources that come before r.
func (ix index) dependencies(r *Resource) []int {
	out := make([]int, 0, 2+len(r.Dependencies)) // most have a provider, a parent, and those
	r.VisitNeeds(func(m Mention) {
		if at, ok := ix.mentioned(r, m); ok {
			out = append(out, at)
		}
	})
	return out
}

func (ix index) mentioned(r *Resource, m Mention) (at int, ok bool) {
	if m.Role == RoleProvider {
		at, ok = ix.providers[r.Provider]
		return at, ok
	}
	return ix.find(r, m.URN)
}
