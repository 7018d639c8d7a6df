package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// A resource can go if no other one names it, or another copy of it is left; a provider if no
// other one names its ID.
func TestWhatTheStateCanDoWithout(t *testing.T) {
	const own = urn.URN("urn:pulumi:dev::proj::pulumi:providers:p::own")
	provider := func(id string, old bool) *state.Resource {
		return &state.Resource{URN: own, Type: own.Type(), Custom: true, ID: id, Delete: old}
	}
	named := func(u urn.URN, old bool) *state.Resource { return &state.Resource{URN: u, Delete: old} }
	first, second := provider("1", true), provider("2", false)
	user := &state.Resource{URN: "user", Custom: true, Provider: first.Reference(), Dependencies: []urn.URN{"a", "a"}, Parent: "user"}
	a, old, alone := named("a", false), named("a", true), named("alone", false)

	r := newRecorder(nil, state.NewSnapshot(first, second, user, a, old, alone))
	d := &deployment{recorder: r}
	require.ErrorContains(t, d.dispensable(first), "it is still needed by user")
	for _, res := range []*state.Resource{second, user, a, old, alone} {
		require.NoError(t, d.dispensable(res), "%v", res)
	}
	require.NoError(t, d.record(t.Context(), change{remove: []*state.Resource{old}}))
	require.ErrorContains(t, d.dispensable(a), "it is still needed by user")
	require.Equal(t, []*state.Resource{a}, r.copiesOf("a"))

	changed := clone(user)
	changed.Dependencies = nil
	require.NoError(t, d.record(t.Context(), change{replace: [][2]*state.Resource{{user, changed}}}))
	require.NoError(t, d.dispensable(a))
	require.ErrorContains(t, d.dispensable(first), "it is still needed by user")
	require.NoError(t, d.record(t.Context(), change{remove: []*state.Resource{changed}}))
	require.NoError(t, d.dispensable(first))
}
