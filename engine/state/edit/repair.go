package edit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// RepairOptions help a repair with decisions that the state alone does not allow.
type RepairOptions struct {
	// Earlier are earlier states, the newest first, from which missing providers are taken.
	Earlier []*state.Snapshot
	// Providers maps the reference of a missing provider to the reference of another one, or to [DefaultProvider].
	Providers map[string]string
}

// DefaultProvider stands for the default provider of a package in [RepairOptions].
const DefaultProvider = "default"

// MissingProvider is a provider that resources name and that a state lacks.
type MissingProvider struct {
	Reference string
	// Users are the resources that name it.
	Users []urn.URN
	// Candidates are the providers of its package, which may be configured otherwise.
	Candidates []*state.Resource
}

// UndecidedError says which missing providers a repair left alone: with another configuration, a
// provider may manage another object.
type UndecidedError struct {
	Providers []MissingProvider
	// Left are the problems that the state still has.
	Left error
}

func (e *UndecidedError) Error() string { return e.Left.Error() }

// Unwrap returns the problems that the state still has.
func (e *UndecidedError) Unwrap() error { return e.Left }

// Repair makes a state consistent without guessing: it drops references to missing resources, exact duplicates, and IDs of
// components, and brings back missing providers. It describes its changes in words. An [*state.IntegrityError] or
// [*UndecidedError] says what a person has to decide; even then, the snapshot is better than before.
func Repair(s *state.Snapshot, options RepairOptions) (_ *state.Snapshot, done []string, err error) {
	r := repair{snapshot: s.Clone(), options: options}
	if err := r.run(); err != nil {
		return nil, nil, err
	}
	err = r.snapshot.Verify()
	if err != nil && len(r.undecided) > 0 {
		err = &UndecidedError{r.undecided, err}
	}
	return r.snapshot, r.done, err
}

type repair struct {
	snapshot  *state.Snapshot
	options   RepairOptions
	done      []string
	undecided []MissingProvider
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
	if err := r.addDefaultProviders(); err != nil {
		return err
	}
	return r.dropReferences()
}

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

// findProviders brings back missing providers from earlier states, or replaces them by the ones that the caller names. No other
// is a substitute: its object of the same ID may be another one.
func (r *repair) findProviders() error {
	g := r.snapshot.Graph()
	missing := make(map[string]*MissingProvider)
	var order []string
	var changes state.Entry
	for serial, res := range r.snapshot.Resources() {
		if _, ok := g.Provider(res.Provider); ok || res.Provider == "" || res.PendingReplacement {
			continue
		}
		if !res.Custom {
			component := *res
			component.Provider = ""
			r.did("the component %s no longer names the provider %s, which is missing", res.URN, res.Provider)
			changes = append(changes, state.PutResource{Serial: serial, Resource: &component})
			continue
		}
		if by, ok := r.options.Providers[res.Provider]; ok {
			changed := *res
			changed.Provider = by
			switch _, there := g.Provider(by); {
			case by == DefaultProvider:
				changed.Provider = "" // it gets its package's provider
			case !there:
				return fmt.Errorf("there is no provider %s: husk state ls --json lists those of the stack", by)
			}
			r.did("gave %s the provider %s in place of %s, which is missing", res.URN, by, res.Provider)
			changes = append(changes, state.PutResource{Serial: serial, Resource: &changed})
			continue
		}
		m := missing[res.Provider]
		if m == nil {
			m = &MissingProvider{Reference: res.Provider}
			missing[res.Provider] = m
			order = append(order, res.Provider)
		}
		m.Users = append(m.Users, res.URN)
	}
	if err := r.snapshot.Apply(changes); err != nil {
		return err
	}
	for _, reference := range order {
		m := missing[reference]
		if found := r.earlier(reference); found != nil {
			_, found.Delete = g.Find(found.URN) // an old copy, if there is another by now
			r.snapshot.Add(found)
			r.did("brought back the provider %s, which %s named, from an earlier state", reference, list(m.Users))
			continue
		}
		u, _, _ := state.CutReference(reference)
		for _, res := range r.snapshot.Resources() {
			if res.IsProvider() && res.Type == u.Type() && !res.PendingReplacement {
				m.Candidates = append(m.Candidates, res)
			}
		}
		r.undecided = append(r.undecided, *m)
	}
	return nil
}

// earlier returns a copy of a provider as the newest earlier state has it, nil if none has it.
func (r *repair) earlier(reference string) *state.Resource {
	for _, s := range r.options.Earlier {
		if serial, ok := s.Graph().Provider(reference); ok {
			found, _ := s.Resource(serial)
			copied := *found
			return &copied
		}
	}
	return nil
}

func (r *repair) addDefaultProviders() error {
	snapshot, changed, err := AddDefaultProviders(r.snapshot, nil)
	if err != nil {
		return err
	}
	for _, u := range changed {
		r.did("gave %s the default provider of its package", u)
	}
	r.snapshot = snapshot
	return nil
}

// dropReferences removes references to missing resources. A resource without its parent keeps its
// URN: the program may register it again.
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
