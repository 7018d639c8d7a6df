package engine

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// dependsOn calls f with every resource that res cannot exist without.
func dependsOn(res *state.Resource, f func(urn.URN)) {
	if ref, _, err := splitReference(res.Provider); err == nil {
		f(ref)
	}
	if res.Parent != "" {
		f(res.Parent)
	}
	for _, u := range res.Dependencies {
		f(u)
	}
	for _, deps := range res.PropertyDependencies {
		for _, u := range deps {
			f(u)
		}
	}
	if res.DeletedWith != "" {
		f(res.DeletedWith)
	}
	for _, u := range res.ReplaceWith {
		f(u)
	}
}

// redirect returns a copy of res with every resource that it names replaced by
// what f returns for it; an empty URN removes the mention. It is res itself where
// nothing changes.
func redirect(res *state.Resource, f func(urn.URN) urn.URN) *state.Resource {
	same := true
	dependsOn(res, func(u urn.URN) { same = same && f(u) == u })
	if same {
		return res
	}
	one := func(u urn.URN) urn.URN {
		if u == "" {
			return ""
		}
		return f(u)
	}
	list := func(urns []urn.URN) []urn.URN {
		var out []urn.URN
		for _, u := range urns {
			if u = f(u); u != "" {
				out = append(out, u)
			}
		}
		return out
	}
	n := clone(res)
	n.Parent, n.DeletedWith = one(res.Parent), one(res.DeletedWith)
	n.Dependencies, n.ReplaceWith = list(res.Dependencies), list(res.ReplaceWith)
	n.PropertyDependencies = make(map[string][]urn.URN, len(res.PropertyDependencies))
	for k, deps := range res.PropertyDependencies {
		n.PropertyDependencies[k] = list(deps)
	}
	if u, id, err := splitReference(res.Provider); err == nil && f(u) != "" {
		n.Provider = reference(f(u), id)
	}
	return n
}

// withNewNames returns res with the resources that it names under the names that
// they have now.
func (r *recorder) withNewNames(res *state.Resource) *state.Resource {
	if len(r.renamed) == 0 {
		return res
	}
	return redirect(res, func(u urn.URN) urn.URN {
		if now, ok := r.renamed[u]; ok {
			return now
		}
		return u
	})
}

// rename gives a recorded resource another URN, and all that name it with it, in
// one change. Its old copies that wait for their deletion are renamed as well. It
// looks at all resources: renamings are rare.
func (d *deployment) rename(ctx context.Context, old *state.Resource, to urn.URN) (*state.Resource, error) {
	r := d.recorder
	r.naming.Lock()
	defer r.naming.Unlock()
	from := old.URN
	d.chosen.rename(from, to)
	r.mu.Lock()
	r.renamed[from] = to
	r.mu.Unlock()
	c := change{moved: d.renamePending(from, to)}
	var renamed *state.Resource
	for _, res := range d.recorder.resources() {
		n := r.withNewNames(res)
		if res.URN == from {
			n = clone(n)
			n.URN, n.Type = to, to.Type()
			if !res.Delete {
				renamed = n
			}
		}
		if n != res {
			c.replace = append(c.replace, [2]*state.Resource{res, n})
		}
	}
	if _, err := r.record(ctx, c, nil); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pair := range c.replace { // steps that were planned before know them as they were
		r.serials[pair[0]] = r.serials[pair[1]]
	}
	return renamed, nil
}
