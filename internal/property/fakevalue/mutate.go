package fakevalue

import (
	"math"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
)

// Mutate changes one value of inputs, at any depth, as programs do by mistake or before a value is
// known: it is missing, null, not known, secret, of another type or size, or twice in its list. The text describes the change.
func (g *Generator) Mutate(inputs property.Map) (mutated property.Map, what string) {
	paths := pathsIn(nil, property.Object(inputs))
	if len(paths) == 0 || g.Random.IntN(12) == 0 {
		return inputs.With("noSuchProperty", property.String("x")), "an unknown property"
	}
	path := paths[g.Random.IntN(len(paths))]
	whole := property.Object(inputs)
	v, _ := path.Get(whole)
	mutation := mutations[g.Random.IntN(len(mutations))]
	changed := whole
	if mutation.of == nil {
		changed, _ = path.Delete(whole)
	} else {
		changed, _ = path.Set(whole, mutation.of(g, v))
	}
	mutated, _ = changed.AsObject()
	return mutated, path.String() + " " + mutation.what
}

// mutations are the ways to change a value. Without a function it is removed.
var mutations = []struct {
	what string
	of   func(g *Generator, v property.Value) property.Value
}{
	{what: "missing"},
	{"null", func(*Generator, property.Value) property.Value { return property.Null }},
	{"not known", func(*Generator, property.Value) property.Value { return property.Unknown }},
	{"not known", func(*Generator, property.Value) property.Value { return property.Unknown }},
	{"secret", func(_ *Generator, v property.Value) property.Value { return property.Secret(v) }},
	{"of another type", func(g *Generator, v property.Value) property.Value { return other(g, v, false) }},
	{"of another size", func(g *Generator, v property.Value) property.Value { return other(g, v, true) }},
	{"of another size", func(g *Generator, v property.Value) property.Value { return other(g, v, true) }},
	{"not known in part", func(g *Generator, v property.Value) property.Value {
		if list, ok := v.AsArray(); ok {
			return property.Array(append(slices.Clone(list), property.Unknown)...)
		}
		return property.Secret(property.Unknown)
	}},
	{"repeated", func(g *Generator, v property.Value) property.Value {
		if list, ok := v.AsArray(); ok {
			return property.Array(slices.Concat(list, list)...)
		}
		return property.Array(v, v)
	}},
}

// other returns another value of the same kind, or one of another kind.
func other(g *Generator, v property.Value, same bool) property.Value {
	all := []property.Value{
		property.Bool(false), property.Bool(true),
		property.Number(0), property.Number(-1), property.Number(0.5), property.Number(7), property.Number(1 << 40), property.Number(math.MaxFloat64),
		property.String(""), property.String("0"), property.String(" "), property.String("ünï\u202e\n"), property.String(strings.Repeat("long ", 60)), property.String("a/b:c.d"),
		property.Array(), property.Array(property.Null), property.Array(property.String("x"), property.Number(1)),
		property.Object(property.Map{}), property.Object(property.NewMap(property.Entry{Key: "a.b", Value: property.String("x")}, property.Entry{Key: "", Value: property.Null})),
	}
	all = slices.DeleteFunc(all, func(w property.Value) bool { return (w.Kind() == v.Plain().Kind()) != same })
	if len(all) == 0 {
		return property.Null
	}
	return all[g.Random.IntN(len(all))]
}

// pathsIn returns the paths of the values in an object or array.
func pathsIn(path property.Path, v property.Value) (paths []property.Path) {
	add := func(s property.Segment, v property.Value) {
		at := path.Append(s)
		paths = append(append(paths, at), pathsIn(at, v)...)
	}
	if m, ok := v.AsObject(); ok {
		for key, part := range m.All() {
			add(property.Key(key), part)
		}
	}
	if list, ok := v.AsArray(); ok {
		for i, part := range list {
			add(property.Index(i), part)
		}
	}
	return paths
}
