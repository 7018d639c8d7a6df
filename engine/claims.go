package engine

import (
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// claims counts what the recorded resources need of each other, and which real objects they
// are. The recorder makes it when something is first deleted, and keeps it up to date.
type claims struct {
	copies map[urn.URN][]*state.Resource
	// urns and providers count the mentions of a URN, and of a provider's reference, by other
	// resources that cannot exist without it.
	urns      map[urn.URN]int
	providers map[string]int
	objects   map[object][]*state.Resource
}

// object is what providers of one configuration know a real object by.
type object struct{ typ, id string }

func newClaims(resources []*state.Resource) *claims {
	c := &claims{
		copies: make(map[urn.URN][]*state.Resource, len(resources)), urns: make(map[urn.URN]int, len(resources)),
		providers: make(map[string]int), objects: make(map[object][]*state.Resource, len(resources)),
	}
	for _, res := range resources {
		c.add(res)
	}
	return c
}

func (c *claims) add(res *state.Resource) {
	c.copies[res.URN] = append(c.copies[res.URN], res)
	if isObject(res) {
		at := object{res.Type, res.ID}
		c.objects[at] = append(c.objects[at], res)
	}
	c.count(res, 1)
}

func (c *claims) remove(res *state.Resource) {
	c.copies[res.URN] = without(c.copies[res.URN], res)
	if isObject(res) {
		at := object{res.Type, res.ID}
		c.objects[at] = without(c.objects[at], res)
	}
	c.count(res, -1)
}

func (c *claims) count(res *state.Resource, n int) {
	res.VisitNeeds(func(m state.Mention) {
		switch {
		case m.Role == state.RoleProvider:
			c.providers[res.Provider] += n
		case m.URN != res.URN:
			c.urns[m.URN] += n
		}
	})
}

// isNeeded reports whether another resource could not be recorded without res.
func (c *claims) isNeeded(res *state.Resource) bool {
	if res.IsProvider() && c.providers[res.Reference()] > 0 {
		return true
	}
	return len(c.copies[res.URN]) == 1 && c.urns[res.URN] > 0
}

// isObject reports whether res stands for a real object that its provider would delete.
func isObject(res *state.Resource) bool {
	return res.Custom && !res.PendingReplacement && res.ID != "" && !isProviderType(res.Type)
}

func without(all []*state.Resource, res *state.Resource) []*state.Resource {
	return slices.DeleteFunc(all, func(other *state.Resource) bool { return other == res })
}

// counted returns the claims of the recorded resources. The caller holds the lock.
func (r *recorder) counted() *claims {
	if r.claims == nil {
		r.claims = newClaims(r.inOrder())
	}
	return r.claims
}

// copiesOf returns all recorded copies of a URN.
func (r *recorder) copiesOf(u urn.URN) []*state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.counted().copies[u])
}

// neededBy returns a resource that could not be recorded without res, nil if there is none.
func (r *recorder) neededBy(res *state.Resource) (user *state.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.counted().isNeeded(res) {
		return nil
	}
	for _, other := range r.inOrder() {
		other.VisitNeeds(func(m state.Mention) {
			named := m.URN == res.URN && other.URN != res.URN
			if m.Role == state.RoleProvider {
				named = res.IsProvider() && other.Provider == res.Reference()
			}
			if named && user == nil {
				user = other
			}
		})
	}
	return user
}

// isConfiguring reports whether recorded resources name the provider resource res.
func (r *recorder) isConfiguring(res *state.Resource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return res.IsProvider() && r.counted().providers[res.Reference()] > 0
}

// claimant returns another recorded resource that is the same real object as res and is to
// stay, nil if there is none. A replacement that made the object over itself is one, and so is
// a resource that was renamed without an alias: the object is still wanted.
func (d *deployment) claimant(res *state.Resource) *state.Resource {
	if !isObject(res) {
		return nil
	}
	d.recorder.mu.Lock()
	claiming := slices.Clone(d.recorder.counted().objects[object{res.Type, res.ID}])
	d.recorder.mu.Unlock()
	for _, other := range claiming {
		stays := !d.gen.isCondemned(other) || d.isProtected(other) && !d.IgnoreProtect
		if other != res && !other.Delete && stays && d.sameObject(res, other) {
			return other
		}
	}
	return nil
}

// shareObjects notes, of resources that are about to be deleted and are one object, all but the
// last: what uses any of them is gone only then.
func (d *deployment) shareObjects(going []*state.Resource, order [][]int) {
	last := make(map[object][]*state.Resource)
	shared := make(map[*state.Resource]bool)
	for _, group := range order {
		for _, at := range group {
			res := going[at]
			if !isObject(res) || !d.ownsObject(res) {
				continue
			}
			key := object{res.Type, res.ID}
			i := slices.IndexFunc(last[key], func(other *state.Resource) bool { return d.sameObject(res, other) })
			if i < 0 {
				last[key] = append(last[key], res)
				continue
			}
			shared[last[key][i]] = true
			last[key][i] = res
		}
	}
	d.gen.mu.Lock()
	defer d.gen.mu.Unlock()
	d.gen.shared = shared
}

// isShared reports whether a resource is an object that is deleted with another one.
func (g *generator) isShared(res *state.Resource) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shared[res]
}

// tellOfClaim tells the user of an object that is not deleted, since it is still wanted.
func (d *deployment) tellOfClaim(res *state.Resource) {
	other := d.claimant(res)
	switch {
	case other == nil || !d.ownsObject(res):
	case other.URN == res.URN:
		d.warn(res.URN, "the replacement has the ID of what it replaces, %q, so both are one object, which is not deleted: "+
			"the option deleteBeforeReplace deletes it first, and the provider should say of the type that it has to be", res.ID)
	default:
		d.warn(res.URN, "the object %q is not deleted, since it is %s as well, which stays: only the state forgets it here", res.ID, other.URN)
	}
}

// sameObject reports whether two resources are one real object: providers with the same
// configuration know them by the same type and ID.
func (d *deployment) sameObject(a, b *state.Resource) bool {
	if !isObject(a) || !isObject(b) || a.Type != b.Type || a.ID != b.ID {
		return false
	}
	if a.Provider == b.Provider {
		return true
	}
	p, q := d.recorder.provider(a.Provider), d.recorder.provider(b.Provider)
	return p != nil && q != nil && p.Type == q.Type &&
		property.Object(ownInputs(p.Inputs)).EqualContents(property.Object(ownInputs(q.Inputs)))
}
