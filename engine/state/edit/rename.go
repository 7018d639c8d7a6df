package edit

import (
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Rename gives a resource another name, under which the program is to register it.
func Rename(s *state.Snapshot, u urn.URN, name string) (*state.Snapshot, error) {
	r, err := Find(s, u)
	if err != nil {
		return nil, err
	}
	if r.Type == urn.RootType {
		return nil, refused(u, "is the stack itself: husk stack rename renames it")
	}
	to, err := urn.Parse(string(urn.New(u.Stack(), u.Project(), "", u.QualifiedType(), name)))
	if err != nil {
		return nil, err
	}
	for _, other := range s.Resources() {
		if other.URN == to {
			return nil, conflict(to)
		}
	}
	return rewrite(s, renaming{urn: func(v urn.URN) urn.URN {
		if v == u {
			return to
		}
		return v
	}})
}

// RenameStack gives a stack another name or project in all that the state holds, also in secrets.
func RenameStack(s *state.Snapshot, from, to state.StackName) (*state.Snapshot, error) {
	out, err := rewrite(s, renaming{urn: stackRenaming(from, to), aliases: true})
	if err == nil {
		out.Stack = to.Qualified()
	}
	return out, err
}

func rootName(n state.StackName) string { return n.Project + "-" + n.Name }

func stackRenaming(from, to state.StackName) func(urn.URN) urn.URN {
	return func(u urn.URN) urn.URN {
		if u.Stack() != from.Name || u.Project() != from.Project {
			return u
		}
		name := u.Name()
		if u.QualifiedType() == urn.RootType && name == rootName(from) {
			name = rootName(to)
		}
		return urn.New(to.Name, to.Project, "", u.QualifiedType(), name)
	}
}

func rewrite(s *state.Snapshot, f renaming) (*state.Snapshot, error) {
	var changes state.Entry
	for serial, r := range s.Resources() {
		if renamed := f.resource(r); renamed != r {
			changes = append(changes, state.PutResource{Serial: serial, Resource: renamed})
		}
	}
	for op, pending := range s.Operations() {
		if renamed := f.resource(pending.Resource); renamed != pending.Resource {
			changes = append(changes, state.EndOperation{Op: op},
				state.BeginOperation{Op: op, Type: pending.Type, Resource: renamed})
		}
	}
	return apply(s, changes)
}

type renaming struct {
	urn func(urn.URN) urn.URN
	// aliases renames in aliases, too, which a resource that gets a new name keeps.
	aliases bool
}

// resource returns the resource renamed: r itself if nothing changes.
func (f renaming) resource(r *state.Resource) *state.Resource {
	out := r.MapURNs(func(m state.Mention) urn.URN {
		if m.Role == state.RoleAlias && !f.aliases {
			return m.URN
		}
		return f.urn(m.URN)
	})
	if u := f.urn(r.URN); u != r.URN {
		renamed := *out
		renamed.URN = u
		out = &renamed
	}
	return out
}

// prune returns r without the mentions for which keep is false, and calls cut with each. It returns
// r itself if nothing had to go. The provider and earlier names stay.
func prune(r *state.Resource, keep func(state.Mention) bool, cut func(state.Mention)) *state.Resource {
	return r.MapURNs(func(m state.Mention) urn.URN {
		if m.Role == state.RoleProvider || m.Role == state.RoleAlias || keep(m) {
			return m.URN
		}
		cut(m)
		return ""
	})
}
