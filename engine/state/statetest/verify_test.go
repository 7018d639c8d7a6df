package statetest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/statetest"
)

func TestVerify(t *testing.T) {
	missing := statetest.URN("a:b:C", "missing")
	for name, test := range map[string]struct {
		resources []*state.Resource
		want      []state.ProblemKind
	}{
		"nothing": {},
		"whole": {resources: []*state.Resource{
			statetest.Provider(), statetest.Custom("x"), statetest.Custom("y", statetest.Custom("x").URN),
			statetest.Changed(statetest.Custom("z"), func(r *state.Resource) { r.Parent = statetest.Custom("y").URN }),
		}},
		"any order": {resources: []*state.Resource{statetest.Custom("y", statetest.Custom("x").URN), statetest.Custom("x"), statetest.Provider()}},
		"old copies": {resources: []*state.Resource{statetest.Provider(), statetest.Custom("x"),
			statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.Delete = true }),
			statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.Delete = true }),
		}},
		"only old copies": {resources: []*state.Resource{statetest.Provider(), statetest.Custom("y", statetest.Custom("x").URN),
			statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.Delete = true }),
		}},
		"what is gone means no old copy": {resources: []*state.Resource{statetest.Provider(), statetest.Custom("y", statetest.Custom("x").URN),
			statetest.Changed(statetest.Custom("x", statetest.Custom("y").URN), func(r *state.Resource) { r.Delete = true }),
		}},
		"waits to be made again": {resources: []*state.Resource{
			statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.PendingReplacement, r.ID = true, "" }),
		}},
		"no URN":           {[]*state.Resource{{Type: "a:b:C"}}, []state.ProblemKind{state.ProblemNoURN}},
		"no type":          {[]*state.Resource{{URN: missing}}, []state.ProblemKind{state.ProblemNoType}},
		"component ID":     {[]*state.Resource{{URN: missing, Type: "a:b:C", ID: "1"}}, []state.ProblemKind{state.ProblemComponentID}},
		"no ID":            {[]*state.Resource{statetest.Provider(), statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.ID = "" })}, []state.ProblemKind{state.ProblemNoID}},
		"no provider":      {[]*state.Resource{statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.Provider = "" })}, []state.ProblemKind{state.ProblemNoProvider}},
		"unknown provider": {[]*state.Resource{statetest.Custom("x")}, []state.ProblemKind{state.ProblemUnknownProvider}},
		"other provider ID": {[]*state.Resource{statetest.Changed(statetest.Provider(), func(r *state.Resource) { r.ID = "2" }), statetest.Custom("x")},
			[]state.ProblemKind{state.ProblemUnknownProvider}},
		"twice": {[]*state.Resource{statetest.Provider(), statetest.Custom("x"), statetest.Custom("x")}, []state.ProblemKind{state.ProblemDuplicate}},
		"missing references": {[]*state.Resource{statetest.Provider(), statetest.Changed(statetest.Custom("x", missing), func(r *state.Resource) {
			r.Parent, r.DeletedWith, r.ViewOf = missing, missing, missing
			r.ReplaceWith = []urn.URN{missing}
			r.PropertyDependencies = map[string][]urn.URN{"p": {missing}}
		})}, slices.Repeat([]state.ProblemKind{state.ProblemMissingReference}, 6)},
		"cycle":          {[]*state.Resource{statetest.Provider(), statetest.Custom("x", statetest.Custom("y").URN), statetest.Custom("y", statetest.Custom("x").URN)}, []state.ProblemKind{state.ProblemCycle}},
		"depends itself": {[]*state.Resource{statetest.Provider(), statetest.Custom("x", statetest.Custom("x").URN)}, []state.ProblemKind{state.ProblemCycle}},
		"all are told":   {[]*state.Resource{statetest.Custom("x", missing), {URN: missing}}, []state.ProblemKind{state.ProblemUnknownProvider, state.ProblemNoType}},
	} {
		t.Run(name, func(t *testing.T) {
			err := state.NewSnapshot(test.resources...).Verify()
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			var e *state.IntegrityError
			require.True(t, errors.As(err, &e), "%v", err)
			var kinds []state.ProblemKind
			for _, p := range e.Problems {
				kinds = append(kinds, p.Kind)
			}
			require.Equal(t, test.want, kinds)
		})
	}

	s := state.NewSnapshot()
	s.Manifest = state.Manifest{Version: "v1", Magic: "altered"}
	require.ErrorContains(t, s.Verify(), "magic")
}

func TestLongListsOfProblemsAreCut(t *testing.T) {
	var all []*state.Resource
	for range 1000 {
		all = append(all, &state.Resource{})
	}
	err := state.NewSnapshot(all...).Verify()
	require.ErrorContains(t, err, "and 990 more")
	require.Less(t, len(err.Error()), 2000)
}

func TestSortPutsDependenciesFirst(t *testing.T) {
	x, y, z := statetest.Custom("x"), statetest.Custom("y"), statetest.Custom("z")
	old := func(r *state.Resource) *state.Resource {
		return statetest.Changed(r, func(r *state.Resource) { r.Delete, r.ID = true, "old "+r.ID })
	}
	for name, test := range map[string]struct{ in, want []*state.Resource }{
		"a sorted list stays": {[]*state.Resource{statetest.Provider(), z, x, y}, []*state.Resource{statetest.Provider(), z, x, y}},
		"provider":            {[]*state.Resource{x, statetest.Provider(), y}, []*state.Resource{statetest.Provider(), x, y}},
		"dependency":          {[]*state.Resource{statetest.Provider(), statetest.Custom("x", y.URN), z, y}, []*state.Resource{statetest.Provider(), y, statetest.Custom("x", y.URN), z}},
		"parent": {
			[]*state.Resource{statetest.Changed(x, func(r *state.Resource) { r.Parent = z.URN }), z, statetest.Provider()},
			[]*state.Resource{statetest.Provider(), z, statetest.Changed(x, func(r *state.Resource) { r.Parent = z.URN })},
		},
		"property dependencies in the order of their names": {
			[]*state.Resource{statetest.Provider(), statetest.Changed(x, func(r *state.Resource) {
				r.PropertyDependencies = map[string][]urn.URN{"b": {y.URN}, "a": {z.URN}}
			}), y, z},
			[]*state.Resource{statetest.Provider(), z, y, x},
		},
		"an old copy depends on old copies, the new one on new ones": {
			[]*state.Resource{statetest.Provider(), old(statetest.Custom("x", y.URN)), statetest.Custom("x", y.URN), y, old(y)},
			[]*state.Resource{statetest.Provider(), old(y), old(x), y, x},
		},
		"what is missing is passed over": {[]*state.Resource{statetest.Custom("x", statetest.URN("a:b:C", "?"))}, []*state.Resource{x}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := state.Sort(test.in)
			require.NoError(t, err)
			require.Equal(t, statetest.Names(test.want), statetest.Names(got))
			for i := range got {
				require.Equal(t, test.want[i].Delete, got[i].Delete, i)
			}
		})
	}
}

func TestSortOfACycleKeepsAllResources(t *testing.T) {
	y, z := statetest.URN("a:b:C", "y"), statetest.URN("a:b:C", "z")
	got, err := state.Sort([]*state.Resource{statetest.Custom("x", y), statetest.Custom("y", z), statetest.Custom("z", y)})
	var cycle *state.CycleError
	require.True(t, errors.As(err, &cycle))
	require.Equal(t, []urn.URN{y, z}, cycle.URNs)
	require.Len(t, got, 3)
}

// A chain longer than any goroutine's stack, and a shuffled graph.
func TestSortOfLargeStacks(t *testing.T) {
	const n = 100_000
	chain := make([]*state.Resource, n)
	for i := range chain {
		chain[i] = &state.Resource{URN: statetest.URN("a:b:C", fmt.Sprint(i)), Type: "a:b:C"}
		if i+1 < n {
			chain[i].Dependencies = []urn.URN{statetest.URN("a:b:C", fmt.Sprint(i+1))}
		}
	}
	sorted, err := state.Sort(chain)
	require.NoError(t, err)
	require.Equal(t, chain[n-1], sorted[0])
	require.Equal(t, chain[0], sorted[n-1])

	r := rand.New(rand.NewPCG(1, 2))
	graph := make([]*state.Resource, 1000)
	for i := range graph {
		graph[i] = &state.Resource{URN: statetest.URN("a:b:C", fmt.Sprint(i)), Type: "a:b:C"}
		for range min(i, 5) {
			graph[i].Dependencies = append(graph[i].Dependencies, graph[r.IntN(i)].URN)
		}
	}
	r.Shuffle(len(graph), func(i, j int) { graph[i], graph[j] = graph[j], graph[i] })
	sorted, err = state.Sort(graph)
	require.NoError(t, err)
	seen := map[urn.URN]bool{}
	for _, res := range sorted {
		for _, d := range res.Dependencies {
			require.True(t, seen[d])
		}
		seen[res.URN] = true
	}
	require.Len(t, seen, len(graph))
}
