package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// parting is a recorder of a component with a part and its users, and how the part is recorded outside of the component.
func parting(users ...*state.Resource) (r *Recorder, leave Change) {
	root, net := &state.Resource{URN: "root"}, &state.Resource{URN: "net", Parent: "root"}
	part := &state.Resource{URN: "part", Custom: true, Parent: "net"}
	s := state.NewSnapshot(append([]*state.Resource{root, net, part}, users...)...)
	s.AddOperation(state.PendingOperation{Type: state.OperationCreating, Resource: &state.Resource{URN: "new", Dependencies: []urn.URN{"net"}}})
	outside := *part
	outside.Parent = "root"
	return New(nil, s, &redact.Secrets{}), Replace(part, &outside)
}

// What uses a part by naming its component names the part when that leaves the component, wherever it names the component.
func TestUsersOfAPartThatLeaves(t *testing.T) {
	net := []urn.URN{"net"}
	for name, test := range map[string]struct {
		user *state.Resource
		// goal says that the user is as the program wants it by now.
		goal bool
		want []urn.URN
	}{
		"a user":             {user: &state.Resource{URN: "vm", Dependencies: net}, want: []urn.URN{"net", "part"}},
		"of an input":        {user: &state.Resource{URN: "vm", Dependencies: net, PropertyDependencies: map[string][]urn.URN{"ip": net}}, want: []urn.URN{"net", "part"}},
		"what goes with it":  {user: &state.Resource{URN: "vm", DeletedWith: "net"}, want: []urn.URN{"part"}},
		"an old copy":        {user: &state.Resource{URN: "part", Dependencies: net, Delete: true}, want: net},
		"an old user":        {user: &state.Resource{URN: "vm", Dependencies: net, Delete: true}, want: []urn.URN{"net", "part"}},
		"another part":       {user: &state.Resource{URN: "vm", Parent: "net", Dependencies: net}, want: net},
		"a goal":             {user: &state.Resource{URN: "vm", Dependencies: net}, goal: true, want: net},
		"a user of the part": {user: &state.Resource{URN: "vm", Dependencies: []urn.URN{"net", "part"}}, want: []urn.URN{"net", "part"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, leave := parting(test.user)
			if test.goal {
				r.Goal = func(urn.URN) *state.Resource { return test.user }
			}
			require.NoError(t, r.Record(t.Context(), leave))
			now := r.Resources()[3]
			require.Equal(t, test.want, now.Dependencies)
			for _, urns := range now.PropertyDependencies {
				require.Equal(t, test.want, urns)
			}
			_, created := r.Creating("new")
			require.Equal(t, []urn.URN{"net", "part"}, created.Dependencies, "the object may exist")
		})
	}
}

// Resources that leave together need nothing of each other, also if the caller knows one from before it named another.
func TestUserThatLeavesWithAPart(t *testing.T) {
	user := &state.Resource{URN: "vm", Dependencies: []urn.URN{"net"}}
	r, leave := parting(user)
	require.NoError(t, r.Record(t.Context(), leave))
	part := r.Lookup("part")
	require.Equal(t, r.Lookup("vm"), r.NeededBy(part))
	require.Nil(t, r.NeededBy(user, part))
}

// What uses a component from the inside of another one still uses the parts when its component moves into the first.
func TestUserThatJoinsItsComponent(t *testing.T) {
	app := &state.Resource{URN: "app", Parent: "root"}
	r, _ := parting(app, &state.Resource{URN: "vm", Parent: "app", Dependencies: []urn.URN{"net"}})
	inside := *app
	inside.Parent = "net"
	require.NoError(t, r.Record(t.Context(), Replace(app, &inside)))
	require.Equal(t, []urn.URN{"net", "part"}, r.Lookup("vm").Dependencies)
}

// It uses the parts of a component that it moves into, too: naming the outer one says so no longer.
func TestUserThatJoinsAComponentWithin(t *testing.T) {
	sub, deep := &state.Resource{URN: "sub", Parent: "net"}, &state.Resource{URN: "deep", Custom: true, Parent: "sub"}
	app := &state.Resource{URN: "app", Parent: "root"}
	r, _ := parting(sub, deep, app, &state.Resource{URN: "vm", Parent: "app", Dependencies: []urn.URN{"net"}})
	inside := *app
	inside.Parent = "sub"
	require.NoError(t, r.Record(t.Context(), Replace(app, &inside)))
	require.Equal(t, []urn.URN{"net", "part", "sub", "deep"}, r.Lookup("vm").Dependencies)
}

// A part does not become a dependency of what it needs itself by now: the state would not hold together.
func TestPartThatLeavesForItsUser(t *testing.T) {
	user := &state.Resource{URN: "vm", Dependencies: []urn.URN{"net"}}
	between := &state.Resource{URN: "between", Dependencies: []urn.URN{"vm"}}
	r, leave := parting(user, between)
	leave.Replaced[0].New.Dependencies = []urn.URN{"between"}
	require.NoError(t, r.Record(t.Context(), leave))
	require.Equal(t, user, r.Lookup("vm"))
}

// A step that knows its resource from before a part left records that the resource uses the part, until it records the goal.
func TestPartThatLeavesUnderAStep(t *testing.T) {
	old := &state.Resource{URN: "vm", Dependencies: []urn.URN{"net"}}
	goal := &state.Resource{URN: "vm", Dependencies: []urn.URN{"net", "root"}}
	r, leave := parting(old)
	r.Goal = func(u urn.URN) *state.Resource { return map[urn.URN]*state.Resource{"vm": goal}[u] }
	require.NoError(t, r.Record(t.Context(), leave))
	meanwhile := *goal
	require.NoError(t, r.Record(t.Context(), Replace(old, &meanwhile)))
	require.Equal(t, []urn.URN{"net", "root", "part"}, r.Lookup("vm").Dependencies)
	require.NoError(t, r.Record(t.Context(), Replace(&meanwhile, goal)))
	require.Equal(t, []urn.URN{"net", "root"}, r.Lookup("vm").Dependencies)
}

// A step that knows its resource from before a renaming goes on with what it has recorded since, under the new names.
func TestRenamedUnderAStep(t *testing.T) {
	const from, to = urn.URN("urn:pulumi:dev::proj::a:b:C::old"), urn.URN("urn:pulumi:dev::proj::a:b:C::new")
	user := &state.Resource{URN: "vm", Dependencies: []urn.URN{from}}
	r := New(nil, state.NewSnapshot(&state.Resource{URN: from, Type: from.Type()}, user), &redact.Secrets{})
	_, err := r.Rename(t.Context(), from, to, nil)
	require.NoError(t, err)
	meanwhile, done := *user, *user
	require.NoError(t, r.Record(t.Context(), Replace(user, &meanwhile)))
	require.Equal(t, []urn.URN{to}, r.Lookup("vm").Dependencies)
	require.NoError(t, r.Record(t.Context(), Replace(&meanwhile, &done)))
	require.Equal(t, []urn.URN{to}, r.Lookup("vm").Dependencies)
}
