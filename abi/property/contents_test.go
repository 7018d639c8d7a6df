package property_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

func TestWrappersDoNotNest(t *testing.T) {
	secret := Secret(Secret("x"))
	inner, ok := secret.AsSecret()
	require.True(t, ok)
	require.Equal(t, property.String("x"), inner)

	output, ok := property.Secret(Output("x", "a")).AsOutput()
	require.True(t, ok)
	require.Equal(t, property.Output{Value: property.String("x"), Secret: true, Dependencies: []string{"a"}}, output)

	output, ok = Output(Secret("x"), "b", "a", "b").AsOutput()
	require.True(t, ok)
	require.Equal(t, property.Output{Value: property.String("x"), Secret: true, Dependencies: []string{"a", "b"}}, output)

	output, ok = Output(Output(property.Unknown, "c", "a"), "b", "a").AsOutput()
	require.True(t, ok)
	require.Equal(t, property.Output{Value: property.Unknown, Dependencies: []string{"a", "b", "c"}}, output)
}

func TestOutputLeavesDependenciesToTheCaller(t *testing.T) {
	dependencies := []string{"b", "a"}
	property.OutputOf(property.Output{Dependencies: dependencies})
	require.Equal(t, []string{"b", "a"}, dependencies)
}

func TestContains(t *testing.T) {
	for _, test := range []struct {
		name             string
		value            any
		unknowns, secret bool
	}{
		{"null", nil, false, false},
		{"plain", Object{"a": Array{1, "x", Object{}}}, false, false},
		{"unknown", property.Unknown, true, false},
		{"unknown inside", Object{"a": Array{1, property.Unknown}}, true, false},
		{"unknown output", Output(property.Unknown), true, false},
		{"unknown in a secret", Array{Secret(Object{"a": property.Unknown})}, true, true},
		{"secret inside", Object{"a": Array{Secret(1)}}, false, true},
		{"secret in an output", Output(Array{Secret(1)}), false, true},
		{"secret output", property.Secret(Output(1)), false, true},
		{"output", Output(1, "a"), false, false},
		{"reference", property.Reference(property.ResourceReference{URN: "u", HasID: true, ID: "i"}), false, false},
		{"reference with unknown ID", property.Reference(property.ResourceReference{URN: "u", HasID: true}), true, false},
		{"component", property.Reference(property.ResourceReference{URN: "u"}), false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.unknowns, Of(test.value).ContainsUnknowns())
			require.Equal(t, test.secret, Of(test.value).ContainsSecrets())
			m := MapOf(Object{"a": 1, "b": test.value})
			require.Equal(t, test.unknowns, m.ContainsUnknowns())
			require.Equal(t, test.secret, m.ContainsSecrets())
		})
	}
}

func TestDependencies(t *testing.T) {
	m := MapOf(Object{
		"a": Output(Array{Output("x", "c"), 1}, "b", "a"),
		"b": Secret(Array{Output(property.Unknown, "a", "d")}),
		"c": "e",
	})
	require.Equal(t, []string{"a", "b", "c", "d"}, m.Dependencies())
	require.Empty(t, property.Null.Dependencies())
}

func TestUnwrap(t *testing.T) {
	m := MapOf(Object{
		"a": Secret(Array{Output("x", "u"), Secret(Object{"b": Secret(1)})}),
		"c": property.Unknown,
	})
	want := MapOf(Object{"a": Array{"x", Object{"b": 1}}, "c": property.Unknown})
	require.True(t, want.Equal(m.Unwrap()), "%v", m.Unwrap())
	require.True(t, m.ContainsSecrets(), "the map itself must not change")
}

func TestTransform(t *testing.T) {
	m := MapOf(Object{"a": Array{1, Secret(2)}, "b": Output(Object{"c": 3}, "u"), "d": "text"})
	double := func(v property.Value) property.Value {
		if n, ok := v.AsNumber(); ok {
			return property.Number(2 * n)
		}
		return v
	}
	want := MapOf(Object{"a": Array{2, Secret(4)}, "b": Output(Object{"c": 6}, "u"), "d": "text"})
	got := m.Transform(double)
	require.True(t, want.Equal(got), "%v", got)

	secrets := property.Object(m).Transform(func(v property.Value) property.Value {
		if v.Kind() == property.KindNumber {
			return property.Secret(v)
		}
		return v
	})
	require.True(t, Of(Object{"a": Array{Secret(1), Secret(2)}, "b": Output(Object{"c": Secret(3)}, "u"), "d": "text"}).Equal(secrets))
}

func TestTransformPaths(t *testing.T) {
	v := Of(Object{"b": Array{1, Secret(Object{"c": nil})}, "a": Output("x", "u")})
	var visited []string
	_, err := v.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
		visited = append(visited, path.String()+" "+v.Kind().String())
		return v, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"a string", "a output", "b[0] number", "b[1].c null", "b[1] object", "b[1] secret", "b array", " object",
	}, visited)

	found := errors.New("found")
	m, _ := v.AsObject()
	_, err = m.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
		if path.String() == "b[0]" {
			return property.Null, found
		}
		return v, nil
	})
	require.ErrorIs(t, err, found)
}

// TestTransformOfGenerated: a function that changes nothing gives the same value.
func TestTransformOfGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Values(4).Draw(t, "value")
		require.True(t, v.Equal(v.Transform(func(v property.Value) property.Value { return v })))
		unwrapped := v.Unwrap()
		require.False(t, unwrapped.ContainsSecrets())
		require.Empty(t, unwrapped.Dependencies())
		require.Equal(t, v.ContainsUnknowns(), unwrapped.ContainsUnknowns())
	})
}

// TestTransformCopiesWhatChanges: and shares all else with the value that was given.
func TestTransformCopiesWhatChanges(t *testing.T) {
	m := MapOf(Object{"same": Object{"a": 1}, "changed": Object{"b": []any{"x", Secret("y")}}})
	object := func(m property.Map, key string) property.Map {
		o, ok := m.Get(key).AsObject()
		require.True(t, ok)
		return o
	}
	require.True(t, m.Is(m.Transform(func(v property.Value) property.Value { return v })))
	changed := m.Lower(property.KindSecret)
	require.False(t, m.Is(changed))
	require.True(t, object(m, "same").Is(object(changed, "same")))
	require.Equal(t, MapOf(Object{"b": []any{"x", "y"}}), object(changed, "changed"))
	require.True(t, m.ContainsSecrets(), "values do not change")
}

func TestLower(t *testing.T) {
	known := property.Reference(property.ResourceReference{URN: "u", HasID: true, ID: "i"})
	later := property.Reference(property.ResourceReference{URN: "u", HasID: true})
	secret := property.OutputOf(property.Output{Value: property.String("o"), Secret: true, Dependencies: []string{"u"}})
	v := Of([]any{Secret(known), Output(Object{"r": later}, "u"), secret, property.Unknown})
	for name, test := range map[string]struct {
		kinds []property.Kind
		want  property.Value
	}{
		"nothing":    {nil, v},
		"secrets":    {[]property.Kind{property.KindSecret}, Of([]any{known, Output(Object{"r": later}, "u"), Output("o", "u"), property.Unknown})},
		"outputs":    {[]property.Kind{property.KindOutput}, Of([]any{Secret(known), Object{"r": later}, Secret("o"), property.Unknown})},
		"references": {[]property.Kind{property.KindResourceReference}, Of([]any{Secret("i"), Output(Object{"r": property.Unknown}, "u"), secret, property.Unknown})},
		"unknowns":   {[]property.Kind{property.KindUnknown}, Of([]any{Secret(known), Output(Object{"r": later}, "u"), secret, nil})},
		"marks":      {[]property.Kind{property.KindSecret, property.KindOutput}, Of([]any{known, Object{"r": later}, "o", property.Unknown})},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, v.Lower(test.kinds...))
			m := property.NewMap(property.Entry{Key: "v", Value: v})
			require.Equal(t, property.NewMap(property.Entry{Key: "v", Value: test.want}), m.Lower(test.kinds...))
		})
	}
}

func TestFind(t *testing.T) {
	v := Of(Object{"a": []any{1, Secret(Object{"b": property.Unknown})}, "c": property.Unknown})
	path, found := v.Find(property.Value.IsUnknown)
	require.True(t, found)
	require.Equal(t, "a[1].b", path.String())
	path, found = v.Find(func(v property.Value) bool { return v.Kind() == property.KindObject })
	require.True(t, found)
	require.Empty(t, path)
	path, found = v.Find(property.Value.IsNull)
	require.False(t, found)
	require.Empty(t, path)
}

func TestEachSecret(t *testing.T) {
	text := property.AssetOf(property.Asset{Source: property.SourceText, Text: "member"})
	m := MapOf(Object{
		"plain":   "no",
		"text":    Secret("text"),
		"deep":    []any{Secret(Object{"list": []any{1, "deep"}})},
		"output":  property.OutputOf(property.Output{Value: property.String("output"), Secret: true}),
		"open":    Output("no", "u"),
		"archive": Secret(property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: MapOf(Object{"m": text})})),
	})
	var seen []property.Value
	m.EachSecret(func(v property.Value) { seen = append(seen, v) })
	require.ElementsMatch(t, []property.Value{
		property.String("text"), property.Number(1), property.String("deep"), property.String("output"), text,
	}, seen)
}
