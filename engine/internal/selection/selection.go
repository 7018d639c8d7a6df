// Package selection decides which resources a deployment works on, and which it replaces because the user
// asks for it.
package selection

import (
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// Options are the user's selection, as patterns of URNs. There are either targets or excludes.
type Options struct {
	Targets, Excludes, Replace []string
	// TargetDependents and ExcludeDependents add what depends on those, directly or not.
	TargetDependents, ExcludeDependents bool
}

// Selection decides which resources one run selects. It is safe for concurrent use.
type Selection struct {
	options                    Options
	targets, excludes, replace matcher

	// Kept holds the registered resources that stay as they are recorded.
	Kept locked.Map[urn.URN, bool]
	// Awaited holds the dependencies of kept resources that were not registered at the time.
	Awaited locked.Map[urn.URN, bool]

	mu sync.Mutex
	// affected holds the resources that are selected by name or as dependents of such, or the registered
	// ones that are excluded so. Dependents are those in the state and in the program.
	affected map[urn.URN]bool
	// absent holds the registered resources that are not created, and lacking such a one for each component that
	// it is a part of. partly holds the components that have affected parts.
	absent  map[urn.URN]bool
	lacking map[urn.URN]urn.URN
	partly  map[urn.URN]bool
	// components holds the registered components, with their parents.
	components map[urn.URN]urn.URN
	// former holds the recorded URNs of resources that this run has renamed: patterns mean them by either.
	former map[urn.URN]urn.URN
}

// New returns the selection among recorded and registered resources.
func New(o Options, recorded []*state.Resource) *Selection {
	s := &Selection{
		options: o, targets: newMatcher(o.Targets), excludes: newMatcher(o.Excludes), replace: newMatcher(o.Replace),
		affected: make(map[urn.URN]bool), absent: make(map[urn.URN]bool), lacking: make(map[urn.URN]urn.URN),
		partly: make(map[urn.URN]bool), components: make(map[urn.URN]urn.URN), former: make(map[urn.URN]urn.URN),
	}
	if s.IsNarrow() || len(s.replace) > 0 {
		for _, res := range recorded {
			s.Note(res.URN)
		}
	}
	if o.TargetDependents && s.HasTargets() {
		s.affected = s.affectedAmong(recorded)
	}
	return s
}

// IsNarrow reports whether the selection is not everything.
func (s *Selection) IsNarrow() bool { return s.HasTargets() || s.HasExcludes() }

// HasTargets reports whether the selection names the resources to work on.
func (s *Selection) HasTargets() bool { return len(s.targets) > 0 }

// HasExcludes reports whether the selection names the resources to leave alone.
func (s *Selection) HasExcludes() bool { return len(s.excludes) > 0 }

// Replaces reports whether the user asks for the replacement of a resource.
func (s *Selection) Replaces(u urn.URN) bool {
	if len(s.replace) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named(s.replace, u)
}

// named reports whether a pattern matches the name of a resource, or the one that it had before this run. The caller
// holds the lock.
func (s *Selection) named(m matcher, u urn.URN) bool {
	former, renamed := s.former[u]
	return m.match(u) || renamed && m.match(former)
}

// Note notes that there is a resource of that URN.
func (s *Selection) Note(u urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets.note(u)
	s.excludes.note(u)
	s.replace.note(u)
}

// Unmatched is a pattern of an option that no resource matches.
type Unmatched struct{ Option, Pattern string }

// UnmatchedReplace returns the patterns of resources to replace that match none.
func (s *Selection) UnmatchedReplace() []Unmatched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replace.unmatched("replace", true)
}

// Unmatched returns the targets, and the excluded URNs, that match no resource.
func (s *Selection) Unmatched() []Unmatched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(s.targets.unmatched("target", true), s.excludes.unmatched("exclude", false)...)
}

// matches returns the patterns of the selection, and whether they select dependents, too.
func (s *Selection) matches() (m matcher, dependents bool) {
	if s.HasExcludes() {
		return s.excludes, s.options.ExcludeDependents
	}
	return s.targets, s.options.TargetDependents
}

// affectedAmong returns which resources the patterns match, with their dependents if the selection has those.
func (s *Selection) affectedAmong(resources []*state.Resource) map[urn.URN]bool {
	m, dependents := s.matches()
	marked := make([]bool, len(resources))
	s.mu.Lock()
	for i, res := range resources {
		marked[i] = s.named(m, res.URN)
	}
	s.mu.Unlock()
	if dependents {
		graph.NewCopies(resources).MarkDependents(marked)
	}
	affected := make(map[urn.URN]bool)
	for i, res := range resources {
		if marked[i] {
			affected[res.URN] = true
		}
	}
	return affected
}

// Selects reports whether a registered resource is selected: as the program has it, as it is recorded, or
// both; either may be nil. Its dependencies were registered before it.
func (s *Selection) Selects(forms ...*state.Resource) bool {
	if !s.IsNarrow() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, dependents := s.matches()
	excluding := s.HasExcludes()
	var affected bool
	var u urn.URN
	for i, form := range forms {
		if form == nil || excluding && i > 0 {
			continue // exclusion follows from the program alone
		}
		u = form.URN
		if i == 0 && !form.Custom {
			s.components[u] = form.Parent
		}
		affected = affected || s.affected[u] || s.named(m, u)
		if dependents {
			s.visitNeeds(form, func(u urn.URN, whole bool) { affected = affected || s.affected[u] || whole && s.partly[u] })
		}
	}
	if affected {
		s.affected[u] = true
		if forms[0] != nil {
			s.visitComponents(forms[0], func(component urn.URN) { s.partly[component] = true })
		}
	}
	return affected != excluding
}

// visitComponents calls visit with each component that a registered resource is a part of. The children of a provider's resource
// are not parts.
func (s *Selection) visitComponents(of *state.Resource, visit func(urn.URN)) {
	seen := make(map[urn.URN]bool)
	for at := of.Parent; !seen[at]; {
		parent, ok := s.components[at]
		if !ok {
			return
		}
		visit(at)
		seen[at] = true
		at = parent
	}
}

// visitNeeds calls visit with each resource that a resource needs. whole says that it also needs all parts of a component.
func (s *Selection) visitNeeds(res *state.Resource, visit func(u urn.URN, whole bool)) {
	var within map[urn.URN]bool
	res.VisitNeeds(func(m state.Mention) {
		whole := graph.UsesParts(m.Role)
		if _, ok := s.components[m.URN]; whole && ok {
			if within == nil {
				within = make(map[urn.URN]bool)
				s.visitComponents(res, func(component urn.URN) { within[component] = true })
			}
			whole = !within[m.URN]
		}
		visit(m.URN, whole)
	})
}

// Among returns a predicate that tells which recorded resources are selected.
func (s *Selection) Among(recorded []*state.Resource) func(*state.Resource) bool {
	if !s.IsNarrow() {
		return func(*state.Resource) bool { return true }
	}
	affected, excluding := s.affectedAmong(recorded), s.HasExcludes()
	return func(res *state.Resource) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return (affected[res.URN] || !excluding && s.affected[res.URN]) != excluding
	}
}

// Missing returns a resource that n needs and that was not created, empty if there is none. Needing a component means needing all
// its parts.
func (s *Selection) Missing(n *state.Resource) (absent urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visitNeeds(n, func(u urn.URN, whole bool) {
		part, lacks := s.lacking[u]
		switch {
		case s.absent[u]:
			absent = u
		case whole && lacks:
			absent = part
		}
	})
	return absent
}

// LeaveOut notes that a registered resource is not created.
func (s *Selection) LeaveOut(n *state.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent[n.URN] = true
	s.visitComponents(n, func(component urn.URN) { s.lacking[component] = n.URN })
}

// IsAbsent reports whether a registered resource is not created.
func (s *Selection) IsAbsent(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent[u]
}

// Rename has a resource awaited and selected under its new name.
func (s *Selection) Rename(from, to urn.URN) {
	if s.Awaited.Get(from) {
		s.Awaited.Set(to, true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former[to] = from
	if s.affected[from] {
		s.affected[to] = true
	}
}

// IsLeft reports whether a registered resource was left alone.
func (s *Selection) IsLeft(u urn.URN) bool { return s.IsAbsent(u) || s.Kept.Get(u) }
