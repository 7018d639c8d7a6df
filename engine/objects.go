package engine

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// claimant returns another recorded resource that is the same real object as res and is to
// stay, nil if there is none. A replacement that made the object over itself is one, and so is
// a resource that was renamed without an alias: the object is still wanted.
func (r *runState) claimant(res *state.Resource) *state.Resource {
	if !record.IsObject(res) {
		return nil
	}
	for _, other := range r.recorder.Claiming(res) {
		stays := !r.registrations.isPendingDelete(other) || r.isProtected(other) && !r.IgnoreProtect
		if other != res && !other.Delete && stays && r.sameObject(res, other) {
			return other
		}
	}
	return nil
}

// shareObjects notes, of resources that are about to be deleted and are one object, all but the
// last: what uses any of them is gone only then.
func (r *runState) shareObjects(going []*state.Resource, order [][]int) {
	type object struct{ typ, id string }
	last := make(map[object][]*state.Resource)
	for _, group := range order {
		for _, at := range group {
			res := going[at]
			if !record.IsObject(res) || !r.ownsObject(res) {
				continue
			}
			key := object{res.Type, res.ID}
			i := slices.IndexFunc(last[key], func(other *state.Resource) bool { return r.sameObject(res, other) })
			if i < 0 {
				last[key] = append(last[key], res)
				continue
			}
			r.registrations.sharedObject.Set(last[key][i], true)
			last[key][i] = res
		}
	}
}

// warnOfSharedObject tells the user of an object that is not deleted, since it is still wanted.
func (r *runState) warnOfSharedObject(res *state.Resource) {
	other := r.claimant(res)
	switch {
	case other == nil || !r.ownsObject(res):
	case other.URN == res.URN:
		r.warn(res.URN, "the replacement has the ID of what it replaces, %q, so both are one object, which is not deleted: "+
			"the option deleteBeforeReplace deletes it first, and the provider should say of the type that it has to be", res.ID)
	default:
		r.warn(res.URN, "the object %q is not deleted, since it is %s as well, which stays: only the state forgets it here", res.ID, other.URN)
	}
}

// sameObject reports whether two resources are one real object: providers with the same
// configuration know them by the same type and ID.
func (r *runState) sameObject(a, b *state.Resource) bool {
	if !record.IsObject(a) || !record.IsObject(b) || a.Type != b.Type || a.ID != b.ID {
		return false
	}
	if a.Provider == b.Provider {
		return true
	}
	p, q := r.recorder.Provider(a.Provider), r.recorder.Provider(b.Provider)
	return p != nil && q != nil && p.Type == q.Type &&
		property.Object(ownInputs(p.Inputs)).EqualContents(property.Object(ownInputs(q.Inputs)))
}
