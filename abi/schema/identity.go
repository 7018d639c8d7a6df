package schema

import "github.com/husk-dev/husk/abi"

// DeletesFirst reports whether a replacement must wait until the old resource is deleted, whatever
// its reason. An unknown identity counts as changed.
func (r *Resource) DeletesFirst(request abi.DiffRequest) bool {
	if r.DeleteBeforeReplace || len(r.Identity) == 0 {
		return r.DeleteBeforeReplace
	}
	for _, name := range r.Identity {
		old := request.OldInputs.Get(name)
		if old.Plain().IsNull() {
			old = request.Olds.Get(name)
		}
		if !old.EqualContents(request.News.Get(name)) {
			return false
		}
	}
	return true
}
