package fakevalue_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/fakevalue"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

// The same random numbers give the same mutations. All of the inputs are mutated at some time, and one
// mutation changes one property.
func TestMutations(t *testing.T) {
	inputs := propertytest.MapOf(propertytest.Object{
		"name": "a", "size": 1, "tags": propertytest.Object{"k": "v"}, "items": propertytest.Array{propertytest.Object{"on": true}, "x"},
	})
	all := func() (list []property.Map, texts []string) {
		g := fakevalue.Generator{Random: rand.New(rand.NewPCG(1, 2))}
		for range 500 {
			m, what := g.Mutate(inputs)
			list, texts = append(list, m), append(texts, what)
		}
		return list, texts
	}
	list, texts := all()
	again, _ := all()
	changed := map[string]bool{}
	for i, m := range list {
		require.True(t, m.Equal(again[i]))
		keys := map[string]bool{}
		for _, c := range property.Diff(inputs, m) {
			key, _ := c.Path[0].Key()
			keys[key], changed[key] = true, true
		}
		require.LessOrEqual(t, len(keys), 1, texts[i])
	}
	for _, name := range []string{"name", "size", "tags", "items", "noSuchProperty"} {
		require.True(t, changed[name], name)
	}
	for _, what := range []string{"items[0].on not known", "items[1] missing", "tags.k null", "size of another type", "items repeated", "tags.k secret"} {
		require.Contains(t, texts, what)
	}
}

func TestTextsOfAProperty(t *testing.T) {
	text := &schema.Type{Kind: schema.KindString}
	o := &schema.Object{Properties: []schema.Property{
		{Name: "color", Type: &schema.Type{Kind: schema.KindArray, Element: text}, Required: true}, {Name: "name", Type: text, Required: true},
	}}
	g := fakevalue.Generator{Random: rand.New(rand.NewPCG(1, 2)), Texts: func(p *schema.Property) []string {
		if p.Name == "color" {
			return []string{"red", "blue"}
		}
		return nil
	}}
	seen := map[string]bool{}
	for range 100 {
		m := g.Object(o)
		colors, _ := m.Get("color").AsArray()
		for _, color := range colors {
			s, _ := color.AsString()
			seen[s] = true
		}
		name, _ := m.Get("name").AsString()
		require.Len(t, name, 8)
	}
	require.True(t, seen["red"] && seen["blue"] && len(seen) > 10, "%v", seen)
}
