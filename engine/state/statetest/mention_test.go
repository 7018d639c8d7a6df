package statetest_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

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
