package state_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

func TestVerify(t *testing.T) {
	missing := URN("a:b:C", "missing")
	for name, test := range map[string]struct {
		resources []*state.Resource
		want      []state.ProblemKind
	}{
		"nothing": {},
		"whole": {resources: []*state.Resource{
			Provider(), Custom("x"), Custom("y", Custom("x").URN),
			Changed(Custom("z"), func(r *state.Resource) { r.Parent = Custom("y").URN }),
		}},
		"any order": {resources: []*state.Resource{Custom("y", Custom("x").URN), Custom("x"), Provider()}},
		"old copies": {resources: []*state.Resource{Provider(), Custom("x"),
			Changed(Custom("x"), func(r *state.Resource) { r.Delete = true }),
			Changed(Custom("x"), func(r *state.Resource) { r.Delete = true }),
		}},
		"only old copies": {resources: []*state.Resource{Provider(), Custom("y", Custom("x").URN),
			Changed(Custom("x"), func(r *state.Resource) { r.Delete = true }),
		}},
		"what is gone means no old copy": {resources: []*state.Resource{Provider(), Custom("y", Custom("x").URN),
			Changed(Custom("x", Custom("y").URN), func(r *state.Resource) { r.Delete = true }),
		}},
		"waits to be made again": {resources: []*state.Resource{
			Changed(Custom("x"), func(r *state.Resource) { r.PendingReplacement, r.ID = true, "" }),
		}},
		"no URN":           {[]*state.Resource{{Type: "a:b:C"}}, []state.ProblemKind{state.ProblemNoURN}},
		"no type":          {[]*state.Resource{{URN: missing}}, []state.ProblemKind{state.ProblemNoType}},
		"component ID":     {[]*state.Resource{{URN: missing, Type: "a:b:C", ID: "1"}}, []state.ProblemKind{state.ProblemComponentID}},
		"no ID":            {[]*state.Resource{Provider(), Changed(Custom("x"), func(r *state.Resource) { r.ID = "" })}, []state.ProblemKind{state.ProblemNoID}},
		"no provider":      {[]*state.Resource{Changed(Custom("x"), func(r *state.Resource) { r.Provider = "" })}, []state.ProblemKind{state.ProblemNoProvider}},
		"unknown provider": {[]*state.Resource{Custom("x")}, []state.ProblemKind{state.ProblemUnknownProvider}},
		"other provider ID": {[]*state.Resource{Changed(Provider(), func(r *state.Resource) { r.ID = "2" }), Custom("x")},
			[]state.ProblemKind{state.ProblemUnknownProvider}},
		"twice": {[]*state.Resource{Provider(), Custom("x"), Custom("x")}, []state.ProblemKind{state.ProblemDuplicate}},
		"missing references": {[]*state.Resource{Provider(), Changed(Custom("x", missing), func(r *state.Resource) {
			r.Parent, r.DeletedWith, r.ViewOf = missing, missing, missing
			r.ReplaceWith = []urn.URN{missing}
			r.PropertyDependencies = map[string][]urn.URN{"p": {missing}}
		})}, slices.Repeat([]state.ProblemKind{state.ProblemMissingReference}, 6)},
		"cycle":          {[]*state.Resource{Provider(), Custom("x", Custom("y").URN), Custom("y", Custom("x").URN)}, []state.ProblemKind{state.ProblemCycle}},
		"depends itself": {[]*state.Resource{Provider(), Custom("x", Custom("x").URN)}, []state.ProblemKind{state.ProblemCycle}},
		"all are told":   {[]*state.Resource{Custom("x", missing), {URN: missing}}, []state.ProblemKind{state.ProblemUnknownProvider, state.ProblemNoType}},
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
	x, y, z := Custom("x"), Custom("y"), Custom("z")
	old := func(r *state.Resource) *state.Resource {
		return Changed(r, func(r *state.Resource) { r.Delete, r.ID = true, "old "+r.ID })
	}
	for name, test := range map[string]struct{ in, want []*state.Resource }{
		"a sorted list stays": {[]*state.Resource{Provider(), z, x, y}, []*state.Resource{Provider(), z, x, y}},
		"provider":            {[]*state.Resource{x, Provider(), y}, []*state.Resource{Provider(), x, y}},
		"dependency":          {[]*state.Resource{Provider(), Custom("x", y.URN), z, y}, []*state.Resource{Provider(), y, Custom("x", y.URN), z}},
		"parent": {
			[]*state.Resource{Changed(x, func(r *state.Resource) { r.Parent = z.URN }), z, Provider()},
			[]*state.Resource{Provider(), z, Changed(x, func(r *state.Resource) { r.Parent = z.URN })},
		},
		"property dependencies in the order of their names": {
			[]*state.Resource{Provider(), Changed(x, func(r *state.Resource) {
				r.PropertyDependencies = map[string][]urn.URN{"b": {y.URN}, "a": {z.URN}}
			}), y, z},
			[]*state.Resource{Provider(), z, y, x},
		},
		"an old copy depends on old copies, the new one on new ones": {
			[]*state.Resource{Provider(), old(Custom("x", y.URN)), Custom("x", y.URN), y, old(y)},
			[]*state.Resource{Provider(), old(y), old(x), y, x},
		},
		"what is missing is passed over": {[]*state.Resource{Custom("x", URN("a:b:C", "?"))}, []*state.Resource{x}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := state.Sort(test.in)
			require.NoError(t, err)
			require.Equal(t, Names(test.want), Names(got))
			for i := range got {
				require.Equal(t, test.want[i].Delete, got[i].Delete, i)
			}
		})
	}
}

func TestSortOfACycleKeepsAllResources(t *testing.T) {
	y, z := URN("a:b:C", "y"), URN("a:b:C", "z")
	got, err := state.Sort([]*state.Resource{Custom("x", y), Custom("y", z), Custom("z", y)})
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
		chain[i] = &state.Resource{URN: URN("a:b:C", fmt.Sprint(i)), Type: "a:b:C"}
		if i+1 < n {
			chain[i].Dependencies = []urn.URN{URN("a:b:C", fmt.Sprint(i+1))}
		}
	}
	sorted, err := state.Sort(chain)
	require.NoError(t, err)
	require.Equal(t, chain[n-1], sorted[0])
	require.Equal(t, chain[0], sorted[n-1])

	r := rand.New(rand.NewPCG(1, 2))
	graph := make([]*state.Resource, 1000)
	for i := range graph {
		graph[i] = &state.Resource{URN: URN("a:b:C", fmt.Sprint(i)), Type: "a:b:C"}
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

// naming is a resource that names another one wherever a field of a resource can, and what it
// names. A field that is added later is found by its type.
func naming(t *testing.T) (*state.Resource, []urn.URN) {
	t.Helper()
	r := &state.Resource{URN: "self", Provider: "provider::id"}
	names := []urn.URN{"provider"}
	next := func(field string) urn.URN {
		u := urn.URN(fmt.Sprintf("%s-%d", field, len(names)))
		names = append(names, u)
		return u
	}
	v := reflect.ValueOf(r).Elem()
	for field, f := range v.Fields() {
		if !field.IsExported() || field.Name == "URN" {
			continue
		}
		reference := func() property.Value {
			return property.Secret(property.Array(property.Reference(property.ResourceReference{URN: string(next(field.Name))})))
		}
		switch f.Interface().(type) {
		case urn.URN:
			f.Set(reflect.ValueOf(next(field.Name)))
		case []urn.URN:
			f.Set(reflect.ValueOf([]urn.URN{next(field.Name), next(field.Name)}))
		case map[string][]urn.URN:
			f.Set(reflect.ValueOf(map[string][]urn.URN{"p": {next(field.Name)}, "q": {next(field.Name)}, "none": nil}))
		case property.Map:
			f.Set(reflect.ValueOf(property.NewMap(property.Entry{Key: "p", Value: reference()})))
		case property.Value:
			f.Set(reflect.ValueOf(reference()))
		}
	}
	require.Greater(t, len(names), 10)
	return r, names
}

func TestVisitURNsMissesNothing(t *testing.T) {
	r, names := naming(t)
	var visited, needed []urn.URN
	r.VisitURNs(func(m state.Mention) { visited = append(visited, m.URN) })
	require.ElementsMatch(t, names, visited)
	r.VisitNeeds(func(m state.Mention) {
		require.True(t, m.Role.Needed())
		needed = append(needed, m.URN)
	})
	for _, u := range visited {
		field, _, _ := strings.Cut(string(u), "-")
		soft := slices.Contains([]string{"Inputs", "Outputs", "ReplacementTrigger", "Aliases"}, field)
		require.Equal(t, !soft, slices.Contains(needed, u), u)
	}
}

func TestMapURNs(t *testing.T) {
	r, names := naming(t)
	require.Same(t, r, r.MapURNs(func(m state.Mention) urn.URN { return m.URN }))

	before, _ := naming(t)
	renamed := r.MapURNs(func(m state.Mention) urn.URN { return "new-" + m.URN })
	require.Equal(t, before, r, "what is given stays as it is")
	var visited []urn.URN
	renamed.VisitURNs(func(m state.Mention) { visited = append(visited, m.URN) })
	want := make([]urn.URN, len(names))
	for i, u := range names {
		want[i] = "new-" + u
	}
	require.ElementsMatch(t, want, visited)
	require.Equal(t, "new-provider::id", renamed.Provider)
	require.Equal(t, urn.URN("self"), renamed.URN)

	pruned := r.MapURNs(func(state.Mention) urn.URN { return "" })
	visited = nil
	pruned.VisitURNs(func(m state.Mention) { visited = append(visited, m.URN) })
	require.Equal(t, []urn.URN{"provider"}, visited, "a resource has a provider in any case")
	require.Equal(t, []urn.URN{}, pruned.Dependencies, "an empty list, which JSON tells from none")
	require.Equal(t, map[string][]urn.URN{"p": {}, "q": {}, "none": nil}, pruned.PropertyDependencies)
	text, ok := pruned.Inputs.Get("p").Plain().AsArray()
	require.True(t, ok)
	_, isText := text[0].AsString()
	require.True(t, isText, "what was a reference is text")
}
