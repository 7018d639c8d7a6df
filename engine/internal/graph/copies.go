// Package graph finds out which recorded resources use which, and in which order they can be deleted.
package graph

import (
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Copies finds out who uses which copy of a resource. A replaced resource and its successor have one URN
// until the old copy is deleted, and resources name what they need by URN, so the copy is not recorded.
// Only a provider is named with its ID. A copy is an index into the recorded resources of one moment, in
// the order of their creation.
type Copies struct {
	resources []*state.Resource
	byURN     map[urn.URN][]int
	providers map[string]int // by reference
}

func NewCopies(resources []*state.Resource) *Copies {
	c := &Copies{
		resources: resources,
		byURN:     make(map[urn.URN][]int, len(resources)), providers: make(map[string]int),
	}
	for i, res := range resources {
		c.byURN[res.URN] = append(c.byURN[res.URN], i)
		if res.IsProvider() {
			c.providers[res.Reference()] = i
		}
	}
	return c
}

// A Rule reports whether res may mean dep, which has a URN that res names.
type Rule func(res, dep *state.Resource) bool

// AnyCopy takes each copy to be meant, which is safe for a resource that this run has not brought to its goal.
func AnyCopy(_, _ *state.Resource) bool { return true }

// LikelyCopy takes a resource that is not an old copy to mean the newest copies. That is certain for a
// resource that this run has brought to its goal, and breaks circles elsewhere.
func LikelyCopy(res, dep *state.Resource) bool { return res.Delete || !dep.Delete }

// Used calls visit with each copy that the copy at i may use.
func (c *Copies) Used(i int, may Rule, visit func(at int)) {
	res := c.resources[i]
	res.VisitNeeds(func(m state.Mention) {
		if m.Role == state.RoleProvider {
			if at, ok := c.providers[res.Provider]; ok {
				visit(at)
			}
			return
		}
		for _, at := range c.byURN[m.URN] {
			if at != i && may(res, c.resources[at]) {
				visit(at)
			}
		}
	})
}

// Edges returns, for each copy, the copies that it may use.
func (c *Copies) Edges(may Rule) [][]int {
	out := make([][]int, len(c.resources))
	for i := range c.resources {
		c.Used(i, may, func(at int) { out[i] = append(out[i], at) })
	}
	return out
}

// MarkDependents adds to marked all copies that may use those in it, directly or not.
func (c *Copies) MarkDependents(marked []bool) {
	Reach(reversed(c.Edges(AnyCopy)), marked, nil)
}

// Reach adds to marked all copies that edges lead to from those in it, directly or not. It calls found,
// which may be nil, with each that it adds and the start of the edge.
func Reach(edges [][]int, marked []bool, found func(from, to int)) {
	var next []int
	for i, in := range marked {
		if in {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		from := next[len(next)-1]
		next = next[:len(next)-1]
		for _, to := range edges[from] {
			if marked[to] {
				continue
			}
			marked[to] = true
			if found != nil {
				found(from, to)
			}
			next = append(next, to)
		}
	}
}

// reversed returns the edges the other way round: for each copy, those that may use it.
func reversed(edges [][]int) [][]int {
	out := make([][]int, len(edges))
	for from, all := range edges {
		for _, to := range all {
			out[to] = append(out[to], from)
		}
	}
	return out
}

// Walk follows what resources need, beginning with from. It calls next with each resource and each URN
// that it needs, and continues with the result, unless that is nil.
func Walk(from *state.Resource, next func(user *state.Resource, needed urn.URN) *state.Resource) {
	for queue := []*state.Resource{from}; len(queue) > 0; {
		user := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		Needs(user, func(needed urn.URN) {
			if res := next(user, needed); res != nil {
				queue = append(queue, res)
			}
		})
	}
}

// Needs calls visit with every resource that res cannot exist without.
func Needs(res *state.Resource, visit func(urn.URN)) {
	res.VisitNeeds(func(m state.Mention) { visit(m.URN) })
}
