package engine

import (
	"errors"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/graph"
	"github.com/husk-dev/husk/engine/state"
)

// selection is a Selection at work.
type selection struct {
	Selection
	targets, excludes, replace matcher

	mu sync.Mutex
	// affected holds the resources that are selected by name or as dependents of such, or the
	// registered ones that are excluded in that way. What depends on a target is selected
	// whether it does so in the state or in the program.
	affected map[urn.URN]bool
	// absent holds those that were not created, kept those that were left as they are.
	absent, kept map[urn.URN]bool
	// awaited holds what those that were kept depend on and what was not registered then.
	awaited map[urn.URN]bool
}

func newSelection(d Deployment, snapshot *state.Snapshot) (*selection, error) {
	s := &selection{
		Selection: d.Selection,
		targets:   newMatcher(d.Selection.Targets), excludes: newMatcher(d.Selection.Excludes), replace: newMatcher(d.Replace),
		affected: make(map[urn.URN]bool), absent: make(map[urn.URN]bool), kept: make(map[urn.URN]bool),
		awaited: make(map[urn.URN]bool),
	}
	if len(s.targets) > 0 && len(s.excludes) > 0 {
		return nil, errors.New("a deployment has either targets or excludes")
	}
	if s.narrow() || len(s.replace) > 0 {
		for _, res := range snapshot.Resources() {
			s.find(res.URN)
		}
	}
	if s.TargetDependents && len(s.targets) > 0 {
		var recorded []*state.Resource
		for _, res := range snapshot.Resources() {
			recorded = append(recorded, res)
		}
		s.affected = s.affectedAmong(recorded)
	}
	return s, s.replace.missing("replace", true)
}

// narrow reports whether the selection is not everything.
func (s *selection) narrow() bool { return len(s.targets) > 0 || len(s.excludes) > 0 }

// find notes that there is a resource of that URN.
func (s *selection) find(u urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets.find(u)
	s.excludes.find(u)
	s.replace.find(u)
}

// complain is an error for each target, and each excluded URN, that nobody knows.
func (s *selection) complain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.targets.missing("target", true), s.excludes.missing("exclude", false))
}

// matches are the patterns of the selection, and whether dependents of what they match are
// selected or excluded with it.
func (s *selection) matches() (m matcher, dependents bool) {
	if len(s.excludes) > 0 {
		return s.excludes, s.ExcludeDependents
	}
	return s.targets, s.TargetDependents
}

// affectedAmong returns which of the resources the patterns match, with their dependents if
// the selection has those in it.
func (s *selection) affectedAmong(resources []*state.Resource) map[urn.URN]bool {
	m, dependents := s.matches()
	marked := make([]bool, len(resources))
	for i, res := range resources {
		marked[i] = m.match(res.URN)
	}
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

// selects reports whether a registered resource is selected. Its dependencies were
// registered before it. It is given as the program has it, as it is recorded, or both; either
// may be nil.
func (s *selection) selects(forms ...*state.Resource) bool {
	if !s.narrow() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, dependents := s.matches()
	excluding := len(s.excludes) > 0
	var affected bool
	var u urn.URN
	for i, form := range forms {
		if form == nil || excluding && i > 0 {
			continue // what is excluded follows from the program alone
		}
		u = form.URN
		affected = affected || s.affected[u] || m.match(u)
		if dependents {
			graph.Needs(form, func(u urn.URN) { affected = affected || s.affected[u] })
		}
	}
	if affected {
		s.affected[u] = true
	}
	return affected != excluding
}

func (s *selection) isAffected(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.affected[u]
}

// needs returns a resource that n names and that was not created, empty if there is none.
func (s *selection) needs(n *state.Resource) (absent urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	graph.Needs(n, func(u urn.URN) {
		if s.absent[u] {
			absent = u
		}
	})
	return absent
}

// leave notes that a registered resource is left as it is recorded, or is not created.
func (s *selection) leave(u urn.URN, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists {
		s.kept[u] = true
	} else {
		s.absent[u] = true
	}
}

// await notes that a resource that is kept depends on one that is not registered. It
// reports whether that is new.
func (s *selection) await(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awaited[u] {
		return false
	}
	s.awaited[u] = true
	return true
}

func (s *selection) isAwaited(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited[u]
}

// rename has a resource awaited under its new name.
func (s *selection) rename(from, to urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awaited[from] {
		s.awaited[to] = true
	}
	if s.affected[from] {
		s.affected[to] = true
	}
}

// isAbsent reports whether a registered resource was not created.
func (s *selection) isAbsent(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent[u]
}

// isLeft reports whether a registered resource was left alone.
func (s *selection) isLeft(u urn.URN) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent[u] || s.kept[u]
}
