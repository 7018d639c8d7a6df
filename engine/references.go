package engine

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// withNewNames returns res with the resources that it names under the names that
// they have now.
func (r *recorder) withNewNames(res *state.Resource) *state.Resource {
	if len(r.renamed) == 0 {
		return res
	}
	return res.MapURNs(func(m state.Mention) urn.URN {
		if now, ok := r.renamed[m.URN]; ok && m.Role != state.RoleAlias {
			return now
		}
		return m.URN
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
