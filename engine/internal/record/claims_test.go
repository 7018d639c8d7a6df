package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/redact"
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

	r := New(nil, state.NewSnapshot(first, second, user, a, old, alone), &redact.Secrets{})
	require.Equal(t, user, r.NeededBy(first))
	for _, res := range []*state.Resource{second, user, a, old, alone} {
		require.Nil(t, r.NeededBy(res), "%v", res)
	}
	require.NoError(t, r.Record(t.Context(), Remove(old)))
	require.Equal(t, user, r.NeededBy(a))
	require.Equal(t, []*state.Resource{a}, r.CopiesOf("a"))

	without := *user
	changed := &without
	changed.Dependencies = nil
	require.NoError(t, r.Record(t.Context(), Replace(user, changed)))
	require.Nil(t, r.NeededBy(a))
	require.Equal(t, changed, r.NeededBy(first))
	require.NoError(t, r.Record(t.Context(), Remove(changed)))
	require.Nil(t, r.NeededBy(first))
}
