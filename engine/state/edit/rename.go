package edit

import (
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Rename gives a resource another name, under which the program is to register it from
// then on. The error is a [*NotFoundError], [*ConflictError], or [*RefusedError].
func Rename(s *state.Snapshot, u urn.URN, name string) (*state.Snapshot, error) {
	r, err := Find(s, u)
	if err != nil {
		return nil, err
	}
	if r.Type == urn.RootType {
		return nil, &RefusedError{u, "is the stack itself: husk stack rename renames it"}
	}
	to, err := urn.Parse(string(urn.New(u.Stack(), u.Project(), "", u.QualifiedType(), name)))
	if err != nil {
		return nil, err
	}
	for _, other := range s.Resources() {
		if other.URN == to {
			return nil, &ConflictError{to}
		}
	}
	return rewrite(s, renaming{urn: func(v urn.URN) urn.URN {
		if v == u {
			return to
		}
		return v
	}})
}

// RenameStack gives a stack another name, or another project, in everything that the
// state holds: URNs, aliases, provider references, and references to resources in
// values, secret ones as well.
func RenameStack(s *state.Snapshot, from, to state.StackName) (*state.Snapshot, error) {
	out, err := rewrite(s, renaming{urn: stackRenaming(from, to), aliases: true})
	if err == nil {
		out.Stack = to.Qualified()
	}
	return out, err
}

// rootName is the name of the resource that is the root of a stack.
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

// rewrite renames what all resources and operations of a snapshot are called and name.
func rewrite(s *state.Snapshot, f renaming) (*state.Snapshot, error) {
	var changes state.Entry
	for serial, r := range s.Resources() {
		if renamed, changed := f.resource(r); changed {
			changes = append(changes, state.PutResource{Serial: serial, Resource: renamed})
		}
	}
	for op, pending := range s.Operations() {
		if renamed, changed := f.resource(pending.Resource); changed {
			changes = append(changes, state.EndOperation{Op: op},
				state.BeginOperation{Op: op, Type: pending.Type, Resource: renamed})
		}
	}
	return apply(s, changes)
}

// renaming gives resources other URNs.
type renaming struct {
	urn func(urn.URN) urn.URN
	// aliases renames in aliases, too: they are earlier names of resources, which one
	// that only gets a new name keeps.
	aliases bool
}

// resource returns the resource renamed, and whether that changed anything.
func (f renaming) resource(r *state.Resource) (_ *state.Resource, changed bool) {
	out := *r
	one := func(u urn.URN) urn.URN {
		if u == "" {
			return u
		}
		v := f.urn(u)
		changed = changed || v != u
		return v
	}
	all := func(urns []urn.URN) []urn.URN {
		renamed := slices.Clone(urns) // nil stays nil
		for i, u := range renamed {
			renamed[i] = one(u)
		}
		return renamed
	}
	out.URN, out.Parent = one(r.URN), one(r.Parent)
	out.DeletedWith, out.ViewOf = one(r.DeletedWith), one(r.ViewOf)
	out.Dependencies, out.ReplaceWith = all(r.Dependencies), all(r.ReplaceWith)
	out.PropertyDependencies = maps.Clone(r.PropertyDependencies)
	for key, urns := range out.PropertyDependencies {
		out.PropertyDependencies[key] = all(urns)
	}
	if f.aliases {
		out.Aliases = all(r.Aliases)
	}
	if u, id, ok := cutReference(r.Provider); ok {
		out.Provider = string(one(u)) + "::" + id
	}
	value := func(v property.Value) property.Value {
		ref, ok := v.AsReference()
		if !ok {
			return v
		}
		ref.URN = string(one(urn.URN(ref.URN)))
		return property.Reference(ref)
	}
	out.Inputs, out.Outputs = r.Inputs.Transform(value), r.Outputs.Transform(value)
	out.ReplacementTrigger = r.ReplacementTrigger.Transform(value)
	return &out, changed
}

// cutReference parts a provider reference.
func cutReference(ref string) (u urn.URN, id string, ok bool) {
	i := strings.LastIndex(ref, "::")
	if i < 0 {
		return "", "", false
	}
	return urn.URN(ref[:i]), ref[i+2:], true
}
