package state

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
)

// Graph says which resources of a snapshot name which others: as their provider, their
// parent, a dependency, deletedWith, replaceWith, or viewOf. It is of the moment at
// which it was made.
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

// Find returns the resource of the URN, and the old copies of it that are to be deleted
// only where there is no other.
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

// Dependents returns the resources that depend on any of the given ones, directly or
// by way of others, without those given, sorted.
func (g *Graph) Dependents(of ...Serial) []Serial {
	seen := make(map[int]bool, len(of))
	var queue []int
	add := func(at int) {
		if !seen[at] {
			seen[at] = true
			queue = append(queue, at)
		}
	}
	for _, serial := range of {
		if at, ok := slices.BinarySearch(g.serials, serial); ok {
			add(at)
		}
	}
	given := len(queue)
	for i := 0; i < len(queue); i++ {
		for _, at := range g.dependents[queue[i]] {
			add(at)
		}
	}
	out := make([]Serial, 0, len(queue)-given)
	for _, at := range queue[given:] {
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
