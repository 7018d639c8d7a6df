package edit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Repair makes a state hold together again, as far as that is possible without
// guessing what is real: it drops references to resources that are not there, exact
// doubles, and IDs of components, and finds or makes providers that are missing. It
// returns what it did, in words. Resources are written in topological order in any
// case. The error, an [*state.IntegrityError], names what is left for a person to
// decide; the snapshot is better than before even so.
func Repair(s *state.Snapshot) (_ *state.Snapshot, done []string, err error) {
	r := repair{snapshot: s.Clone()}
	if err := r.run(); err != nil {
		return nil, nil, err
	}
	return r.snapshot, r.done, r.snapshot.Verify()
}

type repair struct {
	snapshot *state.Snapshot
	done     []string
}

func (r *repair) did(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf(format, args...))
}

func (r *repair) run() error {
	if altered(r.snapshot) {
		r.did("wrote the manifest's magic anew, which did not match its version")
		r.snapshot.Manifest.Magic = "" // which has it filled in
	}
	if err := r.dropDoubles(); err != nil {
		return err
	}
	if err := r.findProviders(); err != nil {
		return err
	}
	return r.dropReferences()
}

// altered reports whether the manifest's magic does not match its version.
func altered(s *state.Snapshot) bool {
	var broken *state.IntegrityError
	return errors.As(s.Verify(), &broken) && slices.ContainsFunc(broken.Problems, func(p state.Problem) bool {
		return p.Kind == state.ProblemMagic
	})
}

// dropDoubles removes the second of two resources that are the same real one.
func (r *repair) dropDoubles() error {
	type real struct {
		urn urn.URN
		id  string
	}
	seen := make(map[real]bool)
	var changes state.Entry
	for serial, res := range r.snapshot.Resources() {
		if !res.Custom && res.ID != "" {
			r.did("removed the ID %q of the component %s", res.ID, res.URN)
			without := *res
			without.ID = ""
			res = &without
			changes = append(changes, state.PutResource{Serial: serial, Resource: res})
		}
		if res.Delete {
			continue
		}
		if key := (real{res.URN, res.ID}); seen[key] {
			r.did("removed the second of two %s", res.URN)
			changes = append(changes, state.RemoveResource{Serial: serial})
		} else {
			seen[key] = true
		}
	}
	return r.snapshot.Apply(changes)
}

// findProviders gives resources whose provider is missing the one of the same URN and
// another ID, which was made after it; where there is none, they name none.
func (r *repair) findProviders() error {
	g := r.snapshot.Graph()
	var changes state.Entry
	for serial, res := range r.snapshot.Resources() {
		if _, ok := g.Provider(res.Provider); ok || res.Provider == "" || res.PendingReplacement {
			continue
		}
		changed := *res
		changed.Provider = ""
		u, _, _ := state.CutReference(res.Provider)
		if at, ok := g.Find(u); ok {
			if other, _ := r.snapshot.Resource(at); other.IsProvider() {
				changed.Provider = other.Reference()
			}
		}
		if changed.Provider == "" {
			r.did("%s no longer names the provider %s, which is missing", res.URN, res.Provider)
		} else {
			r.did("gave %s the provider %s in place of %s, which is missing", res.URN, changed.Provider, res.Provider)
		}
		changes = append(changes, state.PutResource{Serial: serial, Resource: &changed})
	}
	if err := r.snapshot.Apply(changes); err != nil {
		return err
	}
	provided, given, err := AddDefaultProviders(r.snapshot, nil)
	if err != nil {
		return err
	}
	for _, u := range given {
		r.did("gave %s the default provider of its package", u)
	}
	r.snapshot = provided
	return nil
}

// dropReferences removes references to resources that are missing. A resource without
// its parent keeps its URN: the program may well register it under that again.
func (r *repair) dropReferences() error {
	g := r.snapshot.Graph()
	var changes state.Entry
	for serial, res := range r.snapshot.Resources() {
		keep := func(m state.Mention) bool { return !m.Role.Needed() || g.Has(res, m.URN) }
		if pruned := prune(res, keep, func(m state.Mention) {
			r.did("%s no longer names %s as %s, which is missing", res.URN, m.URN, m)
		}); pruned != res {
			changes = append(changes, state.PutResource{Serial: serial, Resource: pruned})
		}
	}
	return r.snapshot.Apply(changes)
}
