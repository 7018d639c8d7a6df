package graph

import (
	"slices"
	"time"

	"github.com/husk-dev/husk/engine/state"
)

// Antichains divides copies, which are in the order of their creation, into groups without dependencies
// among their members, each group after all that depend on it. It takes time linear in resources and
// dependencies, and quadratic in the members of a circle of parts of components.
//
// Antichains alone decides the order of deletions. A resource may mean any copy of a resource that it names, so all
// copies come after it. That can close a cycle: an old copy depends on a resource that now depends on its successor.
// Only in a cycle, and step by step, fewer dependencies count: one on a component is one on the parts that existed when the user was last
// changed, then on the ones of these that do not need the user themselves, then on the ones that existed when it was created, then on none,
// and then a name means the newest copy.
func Antichains(c *Copies) [][]int {
	var out [][]int
	lastChanged := earlierPart(func(res *state.Resource) time.Time { return res.Modified })
	created := earlierPart(func(res *state.Resource) time.Time { return res.Created })
	always := func(r Rule) func(*Copies) Rule { return func(*Copies) Rule { return r } }
	apart := func(part func(user, part *state.Resource) bool) func(*Copies) Rule {
		return func(c *Copies) Rule {
			needs := c.needs(Rule{AnyCopy.Means, Whole})
			return Rule{AnyCopy.Means, func(user, p *state.Resource) bool { return part(user, p) && !needs(p, user) }}
		}
	}
	for i, at := range levels(c, always(AnyCopy), always(Rule{AnyCopy.Means, lastChanged}), apart(lastChanged), apart(created),
		always(Rule{AnyCopy.Means, Whole}), always(Rule{LikelyCopy.Means, Whole})) {
		for len(out) <= at {
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// earlierPart takes a component to mean the parts that were created before a time of its user. A state of another tool may have no times.
func earlierPart(at func(user *state.Resource) time.Time) func(user, part *state.Resource) bool {
	return func(user, part *state.Resource) bool {
		return at(user).IsZero() || !part.Created.After(at(user))
	}
}

// needs returns a function that reports whether a copy needs another one by a rule, by way of others or not.
func (c *Copies) needs(rule Rule) func(user, dep *state.Resource) bool {
	edges, at, needed := c.Edges(rule), make(map[*state.Resource]int, len(c.resources)), make(map[int][]bool)
	for i, res := range c.resources {
		at[res] = i
	}
	return func(user, dep *state.Resource) bool {
		from, isCopy := at[user]
		to, isToo := at[dep]
		if !isCopy || !isToo {
			return false
		}
		if needed[from] == nil {
			needed[from] = make([]bool, len(edges))
			needed[from][from] = true
			Reach(edges, needed[from], nil)
		}
		return needed[from][to]
	}
}

// levels returns the number of the group of each resource by the first Rule. The resources of a circle have groups of their own
// by the other rules. Resources that are in a circle by all rules go one after the other, the youngest first.
func levels(c *Copies, rules ...func(*Copies) Rule) []int {
	out := make([]int, len(c.resources))
	if len(rules) == 0 {
		for i := range out {
			out[i] = len(out) - 1 - i
		}
		return out
	}
	deps := c.Edges(rules[0](c))
	for _, circle := range slices.Backward(circles(deps)) {
		first := 0
		members := make([]*state.Resource, len(circle))
		for k, i := range circle {
			first = max(first, out[i])
			members[k] = c.resources[i]
		}
		inner := []int{0}
		if len(circle) > 1 {
			inner = levels(c.Among(members), rules[1:]...)
		}
		after := first + slices.Max(inner) + 1
		for _, i := range circle {
			for _, dep := range deps[i] {
				out[dep] = max(out[dep], after)
			}
		}
		for k, i := range circle { // some of which depend on each other
			out[i] = first + inner[k]
		}
	}
	return out
}

// circles divides the nodes into circles, in which edges lead from each member to each other. Each circle comes after all that
// its edges lead to. A node outside of a circle is one by itself, and members are in order. This is Tarjan's algorithm with an
// explicit stack, since chains may be long.
func circles(edges [][]int) (out [][]int) {
	type visit struct{ at, next int }
	found := make([]int, len(edges)) // when each was found, from 1
	low := make([]int, len(edges))   // the first found that each leads back to
	open := make([]bool, len(edges)) // whether it is in a circle that is not complete
	var count int
	var members []int
	var visits []visit
	enter := func(at int) {
		count++
		found[at], low[at], open[at] = count, count, true
		members = append(members, at)
		visits = append(visits, visit{at: at})
	}
	for start := range edges {
		if found[start] == 0 {
			enter(start)
		}
		for len(visits) > 0 {
			v := &visits[len(visits)-1]
			at := v.at
			if v.next < len(edges[at]) {
				to := edges[at][v.next]
				v.next++
				if found[to] == 0 {
					enter(to)
				} else if open[to] {
					low[at] = min(low[at], found[to])
				}
				continue
			}
			visits = visits[:len(visits)-1]
			if len(visits) > 0 {
				from := visits[len(visits)-1].at
				low[from] = min(low[from], low[at])
			}
			if low[at] < found[at] {
				continue
			}
			var circle []int
			for open[at] {
				last := len(members) - 1
				circle = append(circle, members[last])
				open[members[last]] = false
				members = members[:last]
			}
			slices.Sort(circle)
			out = append(out, circle)
		}
	}
	return out
}

// Circular reports, for each edge of the copies, whether it is in a circle, as a predicate of its ends.
func (c *Copies) Circular() func(from, to int) bool {
	circle := make([]int, len(c.resources))
	for n, members := range circles(c.Edges(AnyCopy)) {
		for _, at := range members {
			circle[at] = n
		}
	}
	return func(from, to int) bool { return circle[from] == circle[to] }
}
