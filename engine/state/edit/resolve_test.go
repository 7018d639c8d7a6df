package edit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

func TestResolve(t *testing.T) {
	a, b := custom("acme:net:Vpc", "web-a", root), custom("acme:net:Vpc", "web-b", root)
	twin := custom("acme:net:Subnet", "web-a", root)
	odd := custom("acme:net:Vpc", "x.y", root)
	copied := with(custom("acme:net:Vpc", "web-c", root), func(r *state.Resource) { r.Delete = true })
	s := state.NewSnapshot(provider, &state.Resource{URN: root, Type: urn.RootType}, a, b, twin, odd, copied)
	for _, c := range []struct {
		words []string
		found []urn.URN
		err   string
	}{
		{words: []string{string(a.URN)}, found: []urn.URN{a.URN}},
		{words: []string{"web-b", string(b.URN)}, found: []urn.URN{b.URN}},
		{words: []string{"acme:net:Subnet::web-a"}, found: []urn.URN{twin.URN}},
		{words: []string{"web-*"}, found: []urn.URN{a.URN, b.URN, twin.URN}},
		{words: []string{"*"}, found: []urn.URN{a.URN, b.URN, twin.URN, odd.URN}},
		{words: []string{"acme:net:Vpc::*"}, found: []urn.URN{a.URN, b.URN, odd.URN}},
		{words: []string{"**::web-b"}, found: []urn.URN{b.URN}},
		{words: []string{"default"}, found: []urn.URN{provider.URN}},
		{words: []string{"web-a"}, err: "web-a is not unique; name one by its URN: " + string(a.URN) + ", " + string(twin.URN)},
		{words: []string{"web-b", "x+y"}, err: "there is no resource x+y: husk state ls lists all"},
		{words: []string{"xzy"}, err: "there is no resource xzy: husk state ls lists all"},
		{words: []string{"Vpc::web-b"}, err: "there is no resource Vpc::web-b; did you mean " + string(b.URN) + "?"},
		{words: []string{"web-c*"}, err: "no resource matches web-c*: husk state ls lists all"},
	} {
		found, err := edit.Resolve(s, c.words...)
		if c.err != "" {
			require.EqualError(t, err, c.err)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, c.found, found, "%v", c.words)
	}
	_, err := edit.ResolveOne(s, "web-*")
	require.ErrorContains(t, err, "web-* matches 3 resources, and must match one: ")
}
