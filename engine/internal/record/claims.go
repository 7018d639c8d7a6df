package record

import (
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// claims counts which recorded resources are needed, and which real objects they are. The recorder makes
// it when something is first deleted, and keeps it up to date.
type claims struct {
	copies map[urn.URN][]*state.Resource
	// urns and providers count the other resources that cannot exist without a URN, or a provider's reference.
	urns      map[urn.URN]int
	providers map[string]int
	objects   map[object][]*state.Resource
	// configured counts the copies of providers by their references.
	configured map[string]int
}

// object identifies a real object among providers of one configuration.
type object struct{ typ, id string }

func newClaims(resources []*state.Resource) *claims {
	c := &claims{
		copies: make(map[urn.URN][]*state.Resource, len(resources)), urns: make(map[urn.URN]int, len(resources)),
		providers: make(map[string]int), objects: make(map[object][]*state.Resource, len(resources)),
		configured: make(map[string]int),
	}
	for _, res := range resources {
		c.add(res)
	}
	return c
}

func (c *claims) add(res *state.Resource) {
	c.copies[res.URN] = append(c.copies[res.URN], res)
	if IsObject(res) {
		at := object{res.Type, res.ID}
		c.objects[at] = append(c.objects[at], res)
	}
	c.count(res, 1)
}

func (c *claims) remove(res *state.Resource) {
	c.copies[res.URN] = without(c.copies[res.URN], res)
	if IsObject(res) {
		at := object{res.Type, res.ID}
		c.objects[at] = without(c.objects[at], res)
	}
	c.count(res, -1)
}

func (c *claims) count(res *state.Resource, n int) {
	if res.IsProvider() {
		c.configured[res.Reference()] += n
	}
	res.VisitNeeds(func(m state.Mention) {
		switch {
		case m.Role == state.RoleProvider:
			c.providers[res.Provider] += n
		case m.URN != res.URN:
			c.urns[m.URN] += n
		}
	})
}

// areNeeded reports whether another resource could not be recorded without the leaving ones.
func (c *claims) areNeeded(leaving []*state.Resource) bool {
	if len(leaving) == 1 { // as most leave
		return c.isNeeded(leaving[0])
	}
	going, configured := make(map[urn.URN]int, len(leaving)), make(map[string]int) // copies that leave
	for _, res := range leaving {
		going[res.URN]++
		if res.IsProvider() {
			configured[res.Reference()]++
		}
	}
	urns, providers := make(map[urn.URN]int), make(map[string]int) // mentions that leave
	for _, res := range leaving {
		res.VisitNeeds(func(m state.Mention) {
			switch {
			case m.Role == state.RoleProvider:
				providers[res.Provider]++
			case m.URN != res.URN:
				urns[m.URN]++
			}
		})
	}
	for _, res := range leaving {
		if ref := res.Reference(); res.IsProvider() && c.configured[ref] == configured[ref] && c.providers[ref] > providers[ref] {
			return true
		}
		if len(c.copies[res.URN]) == going[res.URN] && c.urns[res.URN] > urns[res.URN] {
			return true
		}
	}
	return false
}

// isNeeded reports whether another resource could not be recorded without one.
func (c *claims) isNeeded(res *state.Resource) bool {
	if len(c.copies[res.URN]) == 1 && c.urns[res.URN] > 0 {
		return true
	}
	if !res.IsProvider() {
		return false
	}
	ref, own := res.Reference(), 0
	if res.Provider == ref {
		own = 1
	}
	return c.configured[ref] == 1 && c.providers[ref] > own
}

// noObject is the ID of resources that live in the state alone, by a convention of Terraform's providers: all random
// passwords have it.
const noObject = "none"

// IsObject reports whether res stands for a real object that its provider would delete.
func IsObject(res *state.Resource) bool {
	return res.Custom && !res.PendingReplacement && res.ID != "" && res.ID != noObject && !res.IsProvider()
}

func without(all []*state.Resource, res *state.Resource) []*state.Resource {
	return slices.DeleteFunc(all, func(other *state.Resource) bool { return other == res })
}

// counted returns the claims of the recorded resources. The caller holds the lock.
func (r *Recorder) counted() *claims {
	if r.claims == nil {
		r.claims = newClaims(r.inOrder())
	}
	return r.claims
}

// CopiesOf returns all recorded copies of a URN.
func (r *Recorder) CopiesOf(u urn.URN) []*state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.counted().copies[u])
}

// NeededBy returns a resource that could not be recorded without the leaving ones, nil if there is none.
func (r *Recorder) NeededBy(leaving ...*state.Resource) (user *state.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	leaving = slices.Clone(leaving)
	for i, res := range leaving { // as they are recorded by now
		if recorded := r.asRecorded(res); recorded != nil {
			leaving[i] = recorded
		}
	}
	if !r.counted().areNeeded(leaving) {
		return nil
	}
	for _, other := range r.inOrder() {
		if slices.Contains(leaving, other) {
			continue
		}
		other.VisitNeeds(func(m state.Mention) {
			for _, res := range leaving {
				named := m.URN == res.URN && other.URN != res.URN
				if m.Role == state.RoleProvider {
					named = res.IsProvider() && other.Provider == res.Reference()
				}
				if named && user == nil {
					user = other
				}
			}
		})
	}
	return user
}

// isConfiguring reports whether recorded resources name the provider resource res.
func (r *Recorder) isConfiguring(res *state.Resource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return res.IsProvider() && r.counted().providers[res.Reference()] > 0
}

// Claiming returns the recorded resources with the type and ID of res, and res itself.
func (r *Recorder) Claiming(res *state.Resource) []*state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.counted().objects[object{res.Type, res.ID}])
}
