package record

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/state"
)

// moves returns the recorded resources to which a change gives another parent, with the resources that replace them. The resource of
// the same URN replaces an old copy that is removed; if that was a component and the resource is none, its children are parts of nothing.
func (r *Recorder) moves(c Change) (moves []graph.Move) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(before, after *state.Resource) {
		if before != nil && after != nil && before != after && before.Parent != after.Parent {
			moves = append(moves, graph.Move{Before: before, After: after})
		}
	}
	for _, pair := range c.Replaced {
		add(r.asRecorded(pair.Old), r.withNewNames(pair.New))
	}
	for _, res := range c.Removed {
		stays := r.byURN[res.URN]
		if c.Added != nil && c.Added.URN == res.URN {
			stays = c.Added
		}
		add(r.asRecorded(res), stays)
		if res.Custom || stays == nil || !stays.Custom {
			continue
		}
		for _, child := range r.inOrder() { // they are no parts of the resource that was a component
			if child.Parent == res.URN {
				after := *child
				after.Parent, after.Dependencies = "", append(slices.Clip(child.Dependencies), child.Parent)
				moves = append(moves, graph.Move{Before: child, After: &after})
			}
		}
	}
	return moves
}

// keepingUses returns a change that also rewrites users: if the change takes a part out of a component, recorded resources that use the
// part by naming the component name the part from now on. Otherwise the state would say that nothing uses the part, if the run ended
// before these resources reach the goals that the program has for them.
func (r *Recorder) keepingUses(c Change) Change {
	all := r.Resources()
	parting := graph.NewParting(all, r.moves(c))
	if parting == nil {
		return c
	}
	own := make(map[state.Serial]bool)
	r.mu.Lock()
	for _, pair := range c.Replaced {
		own[r.serials[pair.Old]] = true
	}
	for _, res := range c.Removed {
		own[r.serials[res]] = true
	}
	for _, res := range all {
		if own[r.serials[res]] || r.isGoal(res) {
			continue
		}
		if n := parting.Keep(res); n != res {
			c.underneath = append(c.underneath, Replacement{res, n})
		}
	}
	r.mu.Unlock()
	c.rewritten = append(c.rewritten, r.rewriteUnfinished(parting.Keep)...)
	return c
}

// isGoal reports whether a recorded resource is what the program of this run wants. The caller holds the lock.
func (r *Recorder) isGoal(recorded *state.Resource) bool {
	serial, ok := r.serials[r.goal(recorded.URN)]
	return ok && serial == r.serials[recorded]
}

func (r *Recorder) goal(u urn.URN) *state.Resource {
	if r.Goal == nil {
		return nil
	}
	return r.Goal(u)
}

// asOfNow returns the resource to record for a step. It has the current names and, unless it is a goal, the names that the recorded
// resource has gained since the step was planned. The caller holds the lock.
func (r *Recorder) asOfNow(pair Replacement, recorded *state.Resource) *state.Resource {
	n := r.withNewNames(pair.New)
	if recorded == nil || recorded == pair.Old || r.goal(pair.New.URN) == pair.New {
		return n
	}
	known, m := r.withNewNames(pair.Old), *n
	m.Dependencies = withGained(n.Dependencies, known.Dependencies, recorded.Dependencies)
	m.PropertyDependencies = maps.Clone(n.PropertyDependencies)
	for key, urns := range m.PropertyDependencies {
		m.PropertyDependencies[key] = withGained(urns, known.PropertyDependencies[key], recorded.PropertyDependencies[key])
	}
	return &m
}

// withGained returns urns and the elements of after that are not in before.
func withGained(urns, before, after []urn.URN) []urn.URN {
	out := slices.Clip(urns)
	for _, u := range after {
		if !slices.Contains(before, u) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}
