package record

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// withNewNames returns res with the current names of the resources that it names.
func (r *Recorder) withNewNames(res *state.Resource) *state.Resource {
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

// moved returns res with new names, also its own if that is from. edit, unless nil, changes it further.
func (r *Recorder) moved(res *state.Resource, from, to urn.URN, edit func(*state.Resource)) *state.Resource {
	n := r.withNewNames(res)
	if res.URN == from {
		named := *n
		named.URN, named.Type = to, to.Type()
		if edit != nil {
			edit(&named)
		}
		n = &named
	}
	return n
}

// Rename gives a recorded resource another URN, in one change with its mentions, its old copies, and the
// operations of an earlier run. edit, unless nil, changes what has the URN further.
func (r *Recorder) Rename(ctx context.Context, from, to urn.URN, edit func(*state.Resource)) (renamed *state.Resource, err error) {
	r.naming.Lock()
	defer r.naming.Unlock()
	r.mu.Lock()
	r.renamed[from] = to
	r.mu.Unlock()
	c := Change{rewritten: r.renameUnfinished(from, to, edit)}
	for _, res := range r.Resources() {
		n := r.moved(res, from, to, edit)
		if res.URN == from && !res.Delete {
			renamed = n
		}
		if n != res {
			c.underneath = append(c.underneath, Replacement{res, n})
		}
	}
	if _, err := r.record(ctx, c, nil); err != nil {
		return nil, err
	}
	return renamed, nil
}
