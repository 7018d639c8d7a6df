package engine

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/locked"
	"github.com/husk-dev/husk/engine/state"
)

// registrations holds what one run has learned of resources so far: what the program registered,
// what a refresh found, and what is deleted.
type registrations struct {
	// claimed holds the URNs registered in this run.
	claimed locked.Map[urn.URN, bool]
	// matched maps recorded URNs to the registered ones that took them over.
	matched locked.Map[urn.URN, urn.URN]
	// aliases holds the earlier URNs of registered resources.
	aliases locked.Map[urn.URN, []alias]
	// options holds those of registered resources, if there are policies to see them.
	options locked.Map[urn.URN, abi.ResourceOptions]
	// providers holds the providers that registered resources hand down, by package.
	providers locked.Map[urn.URN, map[string]string]
	// goals holds the states that registrations aim at, for providers and parents.
	goals locked.Map[urn.URN, *state.Resource]
	// declared holds what the program wants of resources that are left as they are, for what
	// their children inherit.
	declared locked.Map[urn.URN, *state.Resource]
	// failed holds the URNs that failed, or were skipped since they need one that did.
	failed locked.Map[urn.URN, bool]
	// replaced holds the URNs replaced in this run, and created the resources that are new.
	replaced locked.Map[urn.URN, bool]
	created  locked.Map[*state.Resource, bool]

	// readFirst holds the recorded resources that were read before the program ran.
	readFirst locked.Map[urn.URN, bool]
	// displaced holds the recorded resources that the program has something else in place of, so
	// that their registrations in a refresh do not read them.
	displaced locked.Map[urn.URN, bool]
	// vanished holds the URNs that a refresh did not find.
	vanished locked.Map[urn.URN, bool]

	// deletedEarly holds the URNs deleted ahead of a replacement in this run. Its
	// channels are closed when that is done.
	deletedEarly locked.Map[urn.URN, chan struct{}]
	// pendingDelete holds the recorded resources that are deleted in this run, and sharedObject
	// those of them whose object is deleted with another resource.
	pendingDelete, sharedObject locked.Map[*state.Resource, bool]
}

// isRegistered reports whether this run registered the recorded URN, under its own
// or a new name.
func (r *registrations) isRegistered(u urn.URN) bool {
	return r.claimed.Get(u) || r.matched.Get(u) != ""
}

// declaration returns what the program wants of a registered resource, nil if the resource is not
// registered.
func (r *registrations) declaration(u urn.URN) *state.Resource {
	if n := r.declared.Get(u); n != nil {
		return n
	}
	return r.goals.Get(u)
}

// isPendingDelete reports whether the object of a recorded resource is deleted in this run, or was
// deleted ahead of its replacement.
func (r *registrations) isPendingDelete(res *state.Resource) bool {
	return r.pendingDelete.Get(res) || res.PendingReplacement
}

// failedDependency returns a resource that failed and that the goal needs, empty if there is none.
func (r *registrations) failedDependency(gl *goal) (failed urn.URN) {
	gl.dependsOn(func(u urn.URN) {
		if r.failed.Get(u) {
			failed = u
		}
	})
	return failed
}

// descendants returns the resources registered under a parent.
func (r *registrations) descendants(parent urn.URN) []urn.URN {
	goals := r.goals.Entries()
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
