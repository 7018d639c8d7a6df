// Package registration holds one run's knowledge of the resources of its stack.
package registration

import (
	"iter"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// Registrations holds the program's registrations so far, the findings of a refresh, and the deletions.
type Registrations struct {
	// Claimed holds the URNs registered in this run.
	Claimed locked.Map[urn.URN, bool]
	// Matched maps recorded URNs to the registered ones that took them over.
	Matched locked.Map[urn.URN, urn.URN]
	// Aliases holds the earlier URNs of registered resources.
	Aliases locked.Map[urn.URN, []Alias]
	// Options holds the options of registered resources, if there are policies to see them.
	Options locked.Map[urn.URN, abi.ResourceOptions]
	// Providers holds the providers that registered resources hand down, by package.
	Providers locked.Map[urn.URN, map[string]string]
	// Goals holds the states that registrations aim at, for providers and parents.
	Goals locked.Map[urn.URN, *state.Resource]
	// Declared holds the program's declarations of resources that are left as they are, because their children inherit from
	// these.
	Declared locked.Map[urn.URN, *state.Resource]
	// Elsewhere holds the declarations among these of resources that are recorded with another parent.
	Elsewhere locked.Map[urn.URN, *state.Resource]
	// Unchecked holds the inputs of the program for resources that a preview could not check, since their provider's
	// configuration is not known.
	Unchecked locked.Map[urn.URN, property.Map]
	// Failed holds the URNs that failed, or were skipped since they need one that did.
	Failed locked.Map[urn.URN, bool]
	// Unclaimed holds the recorded URNs that failed registrations may have taken over by their aliases, and did not.
	Unclaimed locked.Map[urn.URN, bool]
	// Incomplete holds the components with parts that failed.
	Incomplete locked.Map[urn.URN, bool]
	// Replaced holds the URNs replaced in this run, and Created the resources that are new.
	Replaced locked.Map[urn.URN, bool]
	Created  locked.Map[*state.Resource, bool]

	// ReadFirst holds the recorded resources that were read before the program ran.
	ReadFirst locked.Map[urn.URN, bool]
	// ChangedAsAnother holds the recorded resources whose object this run has changed as another resource.
	ChangedAsAnother locked.Map[urn.URN, bool]
	// Displaced holds the recorded resources that the program has replaced by another: their
	// registrations in a refresh do not read them.
	Displaced locked.Map[urn.URN, bool]
	// Vanished holds the URNs that a refresh did not find.
	Vanished locked.Map[urn.URN, bool]
	// VanishedCopies holds the entries of the old copies that a refresh did not find.
	VanishedCopies locked.Map[state.Serial, bool]

	// DeletedEarly holds the URNs deleted ahead of a replacement. Its channels are closed when that is done.
	DeletedEarly locked.Map[urn.URN, chan struct{}]
	// PendingDelete holds the entries of the state whose resources are deleted in this run, and SharedObject the ones whose object
	// is deleted with another resource.
	PendingDelete, SharedObject locked.Map[state.Serial, bool]
}

// IsRegistered reports whether this run registered the recorded URN, or its new name.
func (r *Registrations) IsRegistered(u urn.URN) bool {
	return r.Claimed.Get(u) || r.Matched.Get(u) != ""
}

// Declaration returns the program's declaration of a registered resource, nil if there is none.
func (r *Registrations) Declaration(u urn.URN) *state.Resource {
	if n := r.Declared.Get(u); n != nil {
		return n
	}
	return r.Goals.Get(u)
}

// FailedDependency returns one of the resources that failed, empty if none did.
func (r *Registrations) FailedDependency(needed iter.Seq[urn.URN]) urn.URN {
	if r.Failed.Len() == 0 { // as in most runs
		return ""
	}
	for u := range needed {
		if r.Failed.Get(u) {
			return u
		}
	}
	return ""
}

// HasFailed reports whether a recorded resource failed, or one that may have taken it over.
func (r *Registrations) HasFailed(u urn.URN) bool {
	return r.Failed.Get(u) || r.Unclaimed.Get(u) && !r.IsRegistered(u)
}

// Fail notes that a resource failed, and that the components above it are incomplete. No resource that may be this one under an
// earlier name is deleted, and its children have earlier names as well.
func (r *Registrations) Fail(u, parent urn.URN, aliases []Alias) {
	r.Failed.Set(u, true)
	r.Aliases.Set(u, aliases)
	for _, a := range aliases {
		r.Unclaimed.Set(a.URN, true)
	}
	for n := r.Goals.Get(parent); n != nil && !n.Custom; n = r.Goals.Get(n.Parent) {
		r.Incomplete.Set(n.URN, true)
	}
}

// IncompleteDependency returns one of the components that a resource names and that is incomplete, empty if none is.
// Those that it is a part of itself do not count.
func (r *Registrations) IncompleteDependency(named []urn.URN, parent urn.URN) urn.URN {
	if r.Incomplete.Len() == 0 { // as in most runs
		return ""
	}
	above := make(map[urn.URN]bool)
	for n := r.Goals.Get(parent); n != nil; n = r.Goals.Get(n.Parent) {
		above[n.URN] = true
	}
	for _, u := range named {
		if r.Incomplete.Get(u) && !above[u] {
			return u
		}
	}
	return ""
}

// Descendants returns the resources registered under a parent.
func (r *Registrations) Descendants(parent urn.URN) []urn.URN {
	goals := r.Goals.Entries()
	var out []urn.URN
	for u, n := range goals {
		for n != nil && n.Parent != "" && n.Parent != parent {
			n = goals[n.Parent]
		}
		if n != nil && n.Parent == parent {
			out = append(out, u)
		}
	}
	return out
}

// Alias is an earlier URN of a resource.
type Alias struct {
	URN urn.URN
	// Inherited marks one that follows from an alias of the parent, and that another resource may have now.
	Inherited bool
}
