package engine

import (
	"errors"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// selection is a Selection at work.
type selection struct {
	Selection
	targets, excludes, replace matcher

	mu sync.Mutex
	// affected holds the registered resources that are selected by name or as
	// dependents of such, or those that are excluded in that way.
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

// selects reports whether a registered resource is selected. Its dependencies were
// registered before it.
func (s *selection) selects(n *state.Resource) bool {
	if !s.narrow() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	matcher, dependents := s.targets, s.TargetDependents
	if len(s.excludes) > 0 {
		matcher, dependents = s.excludes, s.ExcludeDependents
	}
	affected := matcher.match(n.URN)
	if dependents {
		dependsOn(n, func(u urn.URN) { affected = affected || s.affected[u] })
	}
	if affected {
		s.affected[n.URN] = true
	}
	return affected == (len(s.excludes) == 0)
}

// needs returns a resource that n names and that was not created, empty if there is none.
func (s *selection) needs(n *state.Resource) (absent urn.URN) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dependsOn(n, func(u urn.URN) {
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
