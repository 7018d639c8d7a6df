// Package graph finds out which recorded resources use which, and in which order they can be deleted.
package graph

import (
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Copies finds out who uses which copy of a resource. A replaced resource and its successor have one URN
// until the old copy is deleted, and resources name what they need by URN, so the copy is not recorded.
// Only a provider is named with its ID. A copy is an index into the recorded resources of one moment, in
// the order of their creation.
//
// Using a component means using everything below it: a component consists of its children.
type Copies struct {
	resources []*state.Resource
	byURN     map[urn.URN][]int
	// providers are by reference. Of copies with one ID, any will do: the one that stays is meant.
	providers map[string]int
	kin       *kin // of more resources, maybe
	// takes holds the resources that leave the state together with a resource.
	takes map[*state.Resource][]*state.Resource
}

// NewCopies returns the copies among resources.
func NewCopies(resources []*state.Resource) *Copies { return CopiesAmong(resources, resources) }

// CopiesAmong returns the copies among some of all resources, which have the parts of components.
func CopiesAmong(some, all []*state.Resource) *Copies {
	return (&Copies{kin: &kin{all: all}}).Among(some)
}

// Among returns the copies among some of the resources, whose components have the same parts as before.
func (c *Copies) Among(resources []*state.Resource) *Copies {
	out := &Copies{
		resources: resources, kin: c.kin, takes: c.takes,
		byURN: make(map[urn.URN][]int, len(resources)), providers: make(map[string]int),
	}
	for i, res := range resources {
		out.byURN[res.URN] = append(out.byURN[res.URN], i)
		if res.IsProvider() {
			if at, ok := out.providers[res.Reference()]; !ok || resources[at].Delete || !res.Delete {
				out.providers[res.Reference()] = i
			}
		}
	}
	return out
}

// Taking has resources take others along when they leave the state: what those use stays until then.
func (c *Copies) Taking(takes map[*state.Resource][]*state.Resource) *Copies {
	with := *c
	with.takes = takes
	return &with
}

// A Rule says which copies a resource is taken to mean.
type Rule struct {
	// Means reports whether res may mean dep, which has a URN that res names.
	Means func(res, dep *state.Resource) bool
	// Part reports whether a component that res names may mean its part dep as well; nil is Means.
	Part func(res, dep *state.Resource) bool
}

// Whole takes no part of a component to be meant.
func Whole(_, _ *state.Resource) bool { return false }

var (
	// AnyCopy takes each copy to be meant, which is safe for a resource that this run has not brought to its goal.
	AnyCopy = Rule{Means: func(_, _ *state.Resource) bool { return true }}
	// LikelyCopy takes a resource that is not an old copy to mean the newest copies. That is certain for a
	// resource that this run has brought to its goal, and breaks circles elsewhere.
	LikelyCopy = Rule{Means: func(res, dep *state.Resource) bool { return res.Delete || !dep.Delete }}
)

// Used calls visit with each copy that the copy at i may use, or that a resource deleted along with it may use.
func (c *Copies) Used(i int, rule Rule, visit func(at int)) {
	res := c.resources[i]
	c.usedBy(res, i, rule, visit)
	for _, taken := range c.takes[res] {
		c.usedBy(taken, i, rule, func(at int) {
			if !c.TakesAlong(i, at) {
				visit(at)
			}
		})
	}
}

// TakesAlong reports whether the copy at i takes the one at other along.
func (c *Copies) TakesAlong(i, other int) bool {
	return slices.Contains(c.takes[c.resources[i]], c.resources[other])
}

// usedBy calls visit with each copy but the one at self that res may use.
func (c *Copies) usedBy(res *state.Resource, self int, rule Rule, visit func(at int)) {
	ofParts := rule.Part
	if ofParts == nil {
		ofParts = rule.Means
	}
	res.VisitNeeds(func(m state.Mention) {
		if m.Role == state.RoleProvider {
			if at, ok := c.providers[res.Provider]; ok && at != self {
				visit(at)
			}
			return
		}
		use := func(u urn.URN, means func(res, dep *state.Resource) bool) {
			for _, at := range c.byURN[u] {
				if at != self && means(res, c.resources[at]) {
					visit(at)
				}
			}
		}
		use(m.URN, rule.Means)
		if UsesParts(m.Role) {
			for _, part := range c.kin.parts(m.URN, res) {
				use(part, ofParts)
			}
		}
	})
}

// UsesParts reports whether a resource that names a component in a role uses the parts of the component.
func UsesParts(r state.Role) bool {
	return r != state.RoleProvider && r != state.RoleParent && r != state.RoleViewOf
}

// IsAffected reports whether what a resource names is gone, or a part of it, if that is a component.
func (c *Copies) IsAffected(user *state.Resource, named urn.URN, gone map[urn.URN]bool) bool {
	return gone[named] || slices.ContainsFunc(c.kin.parts(named, user), func(u urn.URN) bool { return gone[u] })
}

// DependenciesFirst returns the resources in the reverse of the order in which they would be deleted.
func (c *Copies) DependenciesFirst() []*state.Resource {
	out := make([]*state.Resource, 0, len(c.resources))
	for _, group := range slices.Backward(Antichains(c)) {
		for _, at := range group {
			out = append(out, c.resources[at])
		}
	}
	return out
}

// Edges returns, for each copy, the copies that it may use.
func (c *Copies) Edges(rule Rule) [][]int {
	out := make([][]int, len(c.resources))
	for i := range c.resources {
		c.Used(i, rule, func(at int) { out[i] = append(out[i], at) })
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

// reversed returns the edges the other way round: for each copy, the copies that may use it.
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
