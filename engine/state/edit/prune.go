package edit

import (
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// prune returns r without the mentions for which keep returns false, and tells cut of each of
// them. It is r itself if nothing had to go. The provider is left to the caller, and so are
// earlier names.
func prune(r *state.Resource, keep func(state.Mention) bool, cut func(state.Mention)) *state.Resource {
	return r.MapURNs(func(m state.Mention) urn.URN {
		if m.Role == state.RoleProvider || m.Role == state.RoleAlias || keep(m) {
			return m.URN
		}
		cut(m)
		return ""
	})
}
