package graph

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// In which order what is deleted goes. An old copy is written in capitals.
func TestAntichains(t *testing.T) {
	cases := []struct {
		name string
		// needs holds what each resource depends on, from the oldest to the youngest.
		needs [][2]string
		want  []string
	}{
		{"dependents first", [][2]string{{"a", ""}, {"b", "a"}, {"c", "a"}, {"d", "bc"}}, []string{"d", "bc", "a"}},
		{"any copy may be used", [][2]string{{"A", ""}, {"a", ""}, {"b", "a"}}, []string{"b", "Aa"}},
		{"several old copies", [][2]string{{"A", ""}, {"A", ""}, {"a", ""}, {"b", "a"}}, []string{"b", "AAa"}},
		{"a copy that needs what needs its successor", [][2]string{{"b", "a"}, {"A", "b"}, {"a", ""}}, []string{"A", "b", "a"}},
		{"old copies that seem to need each other", [][2]string{{"A", "b"}, {"B", "a"}, {"a", ""}, {"b", "a"}}, []string{"B", "A", "b", "a"}},
		{"after a circle", [][2]string{{"C", ""}, {"c", ""}, {"b", "ac"}, {"A", "b"}, {"a", ""}}, []string{"A", "b", "Cca"}},
		{"between circles", [][2]string{
			{"d", "e"}, {"E", "d"}, {"e", ""}, {"x", "e"}, {"b", "ax"}, {"A", "b"}, {"a", ""},
		}, []string{"A", "b", "xa", "E", "d", "e"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var resources []*state.Resource
			for _, n := range c.needs {
				resources = append(resources, needing(n[0], n[1]))
			}
			var got []string
			for _, group := range Antichains(NewCopies(resources)) {
				var names string
				for _, at := range group {
					names += resources[at].ID
				}
				got = append(got, names)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// In a circle, users of a component go ahead of the parts that existed before them.
func TestAntichainsOfComponents(t *testing.T) {
	custom := func(u, parent urn.URN, needs ...urn.URN) *state.Resource {
		return &state.Resource{URN: u, Custom: true, Parent: parent, Dependencies: needs}
	}
	component := func(u urn.URN, needs ...urn.URN) *state.Resource {
		return &state.Resource{URN: u, Dependencies: needs}
	}
	owned := custom("owned", "")
	owned.DeletedWith = "web"
	for name, c := range map[string]struct {
		changed   []urn.URN // in a later run
		resources []*state.Resource
		order     []urn.URN
	}{
		"deleted with a component whose part uses it": {nil, []*state.Resource{
			component("web"), owned, custom("a", "web", "owned"), custom("user", "", "web"), custom("b", "web", "user"),
		}, []urn.URN{"b", "user", "a", "owned"}},
		"components that need each other's parts": {nil, []*state.Resource{
			component("net"), component("web", "net"), custom("a", "web"), custom("b", "web", "a"), custom("user", "net", "web"),
		}, []urn.URN{"user", "b", "a"}},
		"used before it had parts": {nil, []*state.Resource{
			component("web"), custom("early", "", "web"), custom("a", "web", "early"), custom("user", "", "web"), custom("b", "web", "user"),
		}, []urn.URN{"b", "user", "a", "early"}},
		"changed since": {[]urn.URN{"early"}, []*state.Resource{
			component("web"), custom("early", "", "web"), custom("a", "web", "early"), custom("user", "", "web"), custom("b", "web", "user"),
		}, []urn.URN{"b", "user", "a", "early"}},
		"changed since, as was what a part needs": {[]urn.URN{"user", "needed"}, []*state.Resource{
			custom("user", "", "web"), component("web"), custom("needed", "", "web"), custom("a", "web", "needed"), custom("b", "web", "user", "needed"),
		}, []urn.URN{"b", "user", "a", "needed"}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, res := range c.resources {
				res.Created = time.Unix(int64(i), 0)
				res.Modified = res.Created
				if slices.Contains(c.changed, res.URN) {
					res.Modified = time.Unix(100, 0)
				}
			}
			var got []urn.URN
			for _, group := range Antichains(NewCopies(c.resources)) {
				for _, i := range group {
					if slices.Contains(c.order, c.resources[i].URN) {
						got = append(got, c.resources[i].URN)
					}
				}
			}
			require.Equal(t, c.order, got)
		})
	}
}

// needing is a resource of that name, an old copy for a capital, that depends on others.
func needing(name, others string) *state.Resource {
	lower := urn.URN(string(name[0] | ' '))
	res := &state.Resource{URN: lower, ID: name, Delete: name != string(lower)}
	for _, other := range others {
		res.Dependencies = append(res.Dependencies, urn.URN(other))
	}
	return res
}

// Whatever depends on whatever, each resource is in one group, which is after all that lead
// to it and do not come back from it.
func TestAntichainsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var resources []*state.Resource
		for range rapid.IntRange(0, 12).Draw(t, "resources") {
			name := rapid.StringMatching(`[a-hA-H]`).Draw(t, "name")
			resources = append(resources, needing(name, rapid.StringMatching(`[a-h]{0,2}`).Draw(t, "needs")))
		}
		deps := NewCopies(resources).Edges(AnyCopy)
		reach := make([][]bool, len(resources))
		for i := range resources {
			reach[i] = make([]bool, len(resources))
			for next := deps[i]; len(next) > 0; {
				at := next[0]
				next = slices.Clone(next[1:])
				if !reach[i][at] {
					reach[i][at] = true
					next = append(next, deps[at]...)
				}
			}
		}
		group := make(map[*state.Resource]int)
		var placed int
		for at, members := range Antichains(NewCopies(resources)) {
			require.NotEmpty(t, members)
			for _, i := range members {
				group[resources[i]] = at
				placed++
			}
		}
		require.Equal(t, len(resources), placed)
		require.Len(t, group, placed)
		for i, res := range resources {
			for j, other := range resources {
				if reach[i][j] && !reach[j][i] {
					require.Less(t, group[res], group[other], "%s before %s", res.ID, other.ID)
				}
			}
		}
	})
}
