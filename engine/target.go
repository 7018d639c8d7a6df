package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Pattern is a URN, or stands for several: * for any text without a colon in it, **
// for any text at all.
type Pattern string

// Selection narrows a deployment to some of the resources. The zero Selection is all
// of them.
//
// What is not selected stays as it is: it is neither updated, replaced, deleted, nor
// refreshed, and if it is new it is not created. Providers and the stack itself are
// always registered, since nothing can be done without them; they are deleted only
// where they are selected.
type Selection struct {
	// Targets are the resources to work on.
	Targets []Pattern
	// TargetDependents adds what depends on the targets, directly or not.
	TargetDependents bool
	// Excludes are the resources to leave alone. There are no targets then. A
	// resource that is not deleted keeps all that it depends on.
	Excludes []Pattern
	// ExcludeDependents adds what depends on them, directly or not.
	ExcludeDependents bool
	// ExcludeProtected leaves protected resources alone, instead of failing on them
	// (Destroy only).
	ExcludeProtected bool
}

// matcher matches any of several patterns.
type matcher []matching

type matching struct {
	pattern string
	glob    *regexp.Regexp // nil for a URN
	found   bool
}

func newMatcher(patterns []Pattern) matcher {
	var m matcher
	for _, p := range patterns {
		one := matching{pattern: string(p)}
		if strings.Contains(one.pattern, "*") {
			glob := regexp.QuoteMeta(one.pattern)
			glob = strings.ReplaceAll(glob, `\*\*`, `(?s:.*)`)
			glob = strings.ReplaceAll(glob, `\*`, `[^:]*`)
			one.glob = regexp.MustCompile("^" + glob + "$") // all else is quoted
		}
		m = append(m, one)
	}
	return m
}

func (m matching) match(u urn.URN) bool {
	if m.glob != nil {
		return m.glob.MatchString(string(u))
	}
	return m.pattern == string(u)
}

func (m matcher) match(u urn.URN) bool {
	for i := range m {
		if m[i].match(u) {
			return true
		}
	}
	return false
}

// find notes that there is a resource of that URN.
func (m matcher) find(u urn.URN) {
	for i := range m {
		m[i].found = m[i].found || m[i].match(u)
	}
}

// missing is an error for each pattern that no resource matched.
func (m matcher) missing(what string, globs bool) error {
	var errs []error
	for _, one := range m {
		if !one.found && (globs || one.glob == nil) {
			errs = append(errs, &TargetNotFoundError{Option: what, Pattern: Pattern(one.pattern)})
		}
	}
	return errors.Join(errs...)
}

// TargetNotFoundError says that the user named a resource that does not exist.
type TargetNotFoundError struct {
	// Option is the one that names it: target, exclude, or replace.
	Option  string
	Pattern Pattern
}

// Error names it.
func (e *TargetNotFoundError) Error() string {
	msg := fmt.Sprintf("--%s %s: there is no such resource: husk state ls lists those of the stack", e.Option, e.Pattern)
	if !strings.ContainsAny(string(e.Pattern), "*$") {
		msg += " (in a shell, a URN with $ in it needs single quotes)"
	}
	return msg
}

// NotSelectedError says that a resource cannot be dealt with, since another one that
// is not selected would have to be created or deleted for it.
type NotSelectedError struct {
	// Resource is the one that was to be dealt with.
	Resource urn.URN
	// Needs would have to be created or, if Deleted, be deleted with Resource.
	Needs   urn.URN
	Deleted bool
}

// Error says what to add to the selection.
func (e *NotSelectedError) Error() string {
	if e.Deleted {
		return fmt.Sprintf("%s cannot be deleted: %s depends on it and is not selected: "+
			"add it with --target, or all that depend on the targets with --target-dependents", e.Resource, e.Needs)
	}
	return fmt.Sprintf("%s depends on %s, which does not exist yet and is not selected: add it with --target", e.Resource, e.Needs)
}

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
}

func newSelection(d Deployment, snapshot *state.Snapshot) (*selection, error) {
	s := &selection{
		Selection: d.Selection,
		targets:   newMatcher(d.Selection.Targets), excludes: newMatcher(d.Selection.Excludes), replace: newMatcher(d.Replace),
		affected: make(map[urn.URN]bool), absent: make(map[urn.URN]bool), kept: make(map[urn.URN]bool),
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

// leave decides a registration that is not selected, and reports whether it is one: a
// recorded resource stays as it is, and a new one is not created. The error is a
// [NotSelectedError] where a selected resource needs one that is not created.
func (g *generator) leave(gl *goal, old *state.Resource) (steps []*step, left bool, err error) {
	s := g.d.chosen
	if !s.narrow() {
		return nil, false, nil
	}
	n := gl.state(gl.inputs)
	selected, needs := s.selects(n), s.needs(n)
	implied := isProviderType(gl.typ) || gl.typ == urn.RootType
	switch {
	case selected && needs != "" && !implied:
		return nil, false, &NotSelectedError{Resource: gl.urn, Needs: needs}
	case needs == "" && (selected || implied):
		return nil, false, nil
	}
	if old != nil && old.PendingReplacement {
		old = nil // it was deleted, and its replacement is not made now
	}
	s.leave(gl.urn, old != nil)
	if old == nil {
		return g.plan(n), true, nil
	}
	return g.plan(old, &step{op: OpSame, old: old, new: clone(old)}), true, nil
}

// leaveComponent is leave for a component whose provider would have to make it of
// something that is not created.
func (g *generator) leaveComponent(gl *goal) (left bool, err error) {
	needs := g.d.chosen.needs(gl.state(gl.inputs))
	if needs == "" {
		return false, nil
	}
	if g.d.recorder.lookup(gl.urn) != nil {
		return false, &NotSelectedError{Resource: gl.urn, Needs: needs}
	}
	if _, err := g.claim(gl); err != nil {
		return false, err
	}
	g.d.chosen.leave(gl.urn, false)
	g.plan(gl.state(gl.inputs))
	return true, nil
}

// selected returns which of the recorded resources are selected.
func (d *deployment) selected() (func(*state.Resource) bool, error) {
	s := d.chosen
	if !s.narrow() {
		return func(*state.Resource) bool { return true }, nil
	}
	resources, err := state.Sort(d.recorder.resources())
	if err != nil {
		return nil, err
	}
	matcher, dependents := s.targets, s.TargetDependents
	if len(s.excludes) > 0 {
		matcher, dependents = s.excludes, s.ExcludeDependents
	}
	affected := make(map[urn.URN]bool)
	for _, res := range resources {
		if matcher.match(res.URN) {
			affected[res.URN] = true
		} else if dependents {
			dependsOn(res, func(u urn.URN) { affected[res.URN] = affected[res.URN] || affected[u] })
		}
	}
	return func(res *state.Resource) bool { return affected[res.URN] == (len(s.excludes) == 0) }, nil
}

// selectDeletions narrows what is about to be deleted to what is selected, and returns
// what else is to stay, with all that it depends on. A resource that is left
// behind without one that it depends on is a [NotSelectedError].
func (d *deployment) selectDeletions(going func(*state.Resource) bool) (pick func(*state.Resource) bool, stays map[urn.URN]bool, err error) {
	stays = make(map[urn.URN]bool)
	selected, err := d.selected()
	if err != nil {
		return nil, nil, err
	}
	resources := d.recorder.resources()
	if len(d.chosen.targets) == 0 {
		for _, res := range resources {
			if !selected(res) || d.chosen.ExcludeProtected && res.Protect {
				stays[res.URN] = true
			}
		}
		return going, stays, nil
	}
	pick = func(res *state.Resource) bool { return going(res) && selected(res) }
	gone := make(map[urn.URN]bool)
	for _, res := range resources {
		if pick(res) && !res.Delete {
			gone[res.URN] = true
		}
	}
	var errs []error
	for _, res := range resources {
		if pick(res) {
			continue
		}
		var needs urn.URN
		dependsOn(res, func(u urn.URN) {
			if gone[u] {
				needs = u
			}
		})
		if needs != "" {
			errs = append(errs, &NotSelectedError{Resource: needs, Needs: res.URN, Deleted: true})
		}
	}
	return pick, stays, errors.Join(errs...)
}

// leaveRead decides a read that is not selected, or that names what is not created.
// What the stack manages stays, and a new read is made all the same: it changes nothing.
func (g *generator) leaveRead(gl *goal, old *state.Resource, id string) (steps []*step, left bool) {
	s := g.d.chosen
	if !s.narrow() {
		return nil, false
	}
	n := gl.state(gl.inputs)
	selected, absent := s.selects(n), s.needs(n) != "" || id == "" && !g.d.dryRun
	switch {
	case absent && old == nil:
		s.leave(gl.urn, false)
		return g.plan(n), true
	case old != nil && (absent || !selected):
		s.leave(gl.urn, true)
		return g.plan(old, &step{op: OpSame, old: old, new: clone(old)}), true
	}
	return nil, false
}

// lacksSome reports whether resources that the program registers may be absent, and
// what comes from them not known.
func (d *deployment) lacksSome() bool { return d.unknowns() || d.chosen.narrow() }

// goesOn reports whether a run goes on after a failed registration, to report all
// that is missing in the selection at once.
func (d *deployment) goesOn(err error) bool {
	_, missing := errors.AsType[*NotSelectedError](err)
	return missing && d.dryRun
}

// knownOutputs are the outputs of the stack or a component, those that are not known as
// they were before: they come from resources that do not exist.
func knownOutputs(old, outputs property.Map) property.Map {
	for k, v := range outputs.All() {
		if !v.ContainsUnknowns() {
			continue
		}
		outputs = outputs.Without(k)
		if before, ok := old.Lookup(k); ok {
			outputs = outputs.With(k, before)
		}
	}
	return outputs
}
