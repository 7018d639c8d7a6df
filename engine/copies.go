package engine

import (
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// copies finds out who uses which copy of a resource. A replaced resource and its successor
// have the same URN until the old copy is deleted, and a resource names what it needs by URN, so
// which copy it was made with is not recorded. Only a provider is named with its ID.
//
// It is made of the recorded resources of one moment, in the order of their creation; a copy is
// an index in them.
type copies struct {
	resources []*state.Resource
	byURN     map[urn.URN][]int
	providers map[string]int // by reference
}

func newCopies(resources []*state.Resource) *copies {
	c := &copies{
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

// A rule reports whether res may mean dep, which has a URN that res names.
type rule func(res, dep *state.Resource) bool

// anyCopy takes each copy to be meant. That is the safe answer for a resource that this run has
// not brought to its goal.
func anyCopy(_, _ *state.Resource) bool { return true }

// likelyCopy takes a resource that is not an old copy itself to mean the newest copies. It is
// certain for a resource that this run has brought to its goal, and breaks circles elsewhere.
func likelyCopy(res, dep *state.Resource) bool { return res.Delete || !dep.Delete }

// used calls visit with each copy that the copy at i may use.
func (c *copies) used(i int, may rule, visit func(at int)) {
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

// edges returns, for each copy, the copies that it may use.
func (c *copies) edges(may rule) [][]int {
	out := make([][]int, len(c.resources))
	for i := range c.resources {
		c.used(i, may, func(at int) { out[i] = append(out[i], at) })
	}
	return out
}

// reach adds to marked all copies that edges lead to from those in it, directly or by way of
// others. It calls found, which may be nil, with each that it adds and where the edge came from.
func reach(edges [][]int, marked []bool, found func(from, to int)) {
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
