package property_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

// absent stands for a part that is not there, or a change that cannot be made.
type absent struct{}

func requireValue(t *testing.T, want any, got property.Value, ok bool) {
	t.Helper()
	if want == (absent{}) {
		require.False(t, ok, "%v", got)
		return
	}
	require.True(t, ok)
	require.True(t, Of(want).Equal(got), "got %v, want %v", got, Of(want))
}

func TestGet(t *testing.T) {
	v := Of(Object{
		"a": Array{1, Object{"b": "x"}},
		"s": Secret(Object{"p": Array{7}}),
		"o": Output(Object{"p": "y", "s": Secret("z"), "o": Output(1, "w")}, "u"),
		"u": property.Unknown,
		"n": nil,
	})
	for _, test := range []struct {
		path string
		want any
	}{
		{"", v},
		{"a[0]", 1},
		{"a[1].b", "x"},
		{"n", nil},
		{"s", Secret(Object{"p": Array{7}})},
		{"s.p[0]", Secret(7)},
		{"o.p", Output("y", "u")},
		{"o.s", property.Secret(Output("z", "u"))},
		{"o.o", Output(1, "u", "w")},
		{"u.x[3].y", property.Unknown},
		{"x", absent{}},
		{"a[2]", absent{}},
		{"a.b", absent{}},
		{"a[0].b", absent{}},
		{"n.x", absent{}},
		{"s.x", absent{}},
		{"s[0]", absent{}},
		{"a[*]", absent{}},
		{"u.*", absent{}},
	} {
		t.Run(test.path, func(t *testing.T) {
			got, ok := parsePath(t, test.path).Get(v)
			requireValue(t, test.want, got, ok)
		})
	}
	_, ok := property.Path{property.Index(-1)}.Get(Of(Array{1}))
	require.False(t, ok)
}

func TestSet(t *testing.T) {
	for _, test := range []struct {
		name string
		in   any
		path string
		want any
	}{
		{"the whole", Object{"a": 1}, "", "new"},
		{"a property", Object{"a": 1, "b": 2}, "a", Object{"a": "new", "b": 2}},
		{"a new property", Object{"b": 2}, "a", Object{"a": "new", "b": 2}},
		{"missing objects", Object{}, "a.b.c", Object{"a": Object{"b": Object{"c": "new"}}}},
		{"null on the way", Object{"a": nil}, "a.b", Object{"a": Object{"b": "new"}}},
		{"an element", Array{1, 2}, "[1]", Array{1, "new"}},
		{"an appended element", Array{1}, "[1]", Array{1, "new"}},
		{"a missing array", nil, "a[0].b", Object{"a": Array{Object{"b": "new"}}}},
		{"inside a secret", Object{"a": Secret(Object{"b": 1})}, "a.b", Object{"a": Secret(Object{"b": "new"})}},
		{"inside an output", Output(Array{1}, "u"), "[0]", Output(Array{"new"}, "u")},
		{"beyond the next element", Array{1}, "[2]", absent{}},
		{"a property of an array", Array{1}, "a", absent{}},
		{"an element of an object", Object{}, "[0]", absent{}},
		{"below a text", Object{"a": "x"}, "a.b", absent{}},
		{"below an unknown", property.Unknown, "a", absent{}},
		{"a pattern", Array{1}, "[*]", absent{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := Of(test.in)
			got, ok := parsePath(t, test.path).Set(before, property.String("new"))
			requireValue(t, test.want, got, ok)
			require.True(t, Of(test.in).Equal(before), "the value itself must not change")
		})
	}
}

func TestDelete(t *testing.T) {
	for _, test := range []struct {
		name string
		in   any
		path string
		want any
	}{
		{"a property", Object{"a": 1, "b": 2}, "a", Object{"b": 2}},
		{"an element", Array{1, 2, 3}, "[1]", Array{1, nil, 3}},
		{"deep", Object{"a": Array{Object{"b": 1, "c": 2}}}, "a[0].c", Object{"a": Array{Object{"b": 1}}}},
		{"inside a secret", Secret(Object{"a": Output(Object{"b": 1}, "u")}), "a.b", Secret(Object{"a": Output(Object{}, "u")})},
		{"the whole", Object{}, "", absent{}},
		{"an absent property", Object{"a": 1}, "b", absent{}},
		{"below an absent property", Object{"a": 1}, "b.c", absent{}},
		{"below an unknown", property.Unknown, "a", absent{}},
		{"a pattern", Array{1}, "[*]", absent{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := Of(test.in)
			got, ok := parsePath(t, test.path).Delete(before)
			requireValue(t, test.want, got, ok)
			require.True(t, Of(test.in).Equal(before), "the value itself must not change")
		})
	}
}

// TestSetThenGet: what was set is found, at every path of any value.
func TestSetThenGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := Values(4).Draw(t, "value").Unwrap()
		var paths []property.Path
		_, err := v.TransformPaths(func(path property.Path, v property.Value) (property.Value, error) {
			paths = append(paths, path.Append())
			return v, nil
		})
		require.NoError(t, err)
		path := rapid.SampledFrom(paths).Draw(t, "path")
		changed, ok := path.Set(v, property.String("new"))
		require.True(t, ok)
		got, ok := path.Get(changed)
		require.True(t, ok)
		require.Equal(t, property.String("new"), got)
	})
}

// TestCopy holds the cases of ignoreChanges: from is the old value, to the new.
func TestCopy(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to any
		path     string
		want     any
	}{
		{"the whole", 1, 2, "", 1},
		{"a changed property", Object{"a": 1, "b": 1}, Object{"a": 2, "b": 2}, "a", Object{"a": 1, "b": 2}},
		{"a property that was taken out", Object{"a": 1}, Object{}, "a", Object{"a": 1}},
		{"a property that was added", Object{}, Object{"a": 1}, "a", Object{}},
		{"a property of neither", Object{}, Object{"b": 1}, "a", Object{"b": 1}},
		{"a nested property", Object{"a": Object{"b": 1}}, Object{"a": Object{"b": 2, "c": 3}}, "a.b", Object{"a": Object{"b": 1, "c": 3}}},
		{"a nested property that was added", Object{}, Object{"a": Object{"b": 2, "c": 3}}, "a.b", Object{"a": Object{"c": 3}}},
		{"a nested property of neither", Object{}, Object{}, "a.b.c", Object{}},
		{"below texts", Object{"a": "x"}, Object{"a": "y"}, "a.b", Object{"a": "y"}},
		{"an object that was taken out", Object{"a": Object{"b": 1}}, Object{}, "a.b", absent{}},
		{"an object that became a text", Object{"a": Object{"b": 1}}, Object{"a": "x"}, "a.b", absent{}},
		{"an object that became unknown", Object{"a": Object{"b": 1}}, Object{"a": property.Unknown}, "a.b", absent{}},
		{"an object that became known", Object{"a": property.Unknown}, Object{"a": Object{"b": 1}}, "a.b.c", absent{}},

		{"an element", Array{1, 2}, Array{3, 4}, "[1]", Array{3, 2}},
		{"a property of an element", Array{Object{"a": 1}}, Array{Object{"a": 2}}, "[0].a", Array{Object{"a": 1}}},
		{"an element of neither", Array{1}, Array{2}, "[4]", Array{2}},
		{"an element that was added", Array{1}, Array{1, 2}, "[1]", absent{}},
		{"an element that was taken out", Array{1, 2}, Array{1}, "[1]", absent{}},
		{"an array that became a text", Array{1}, "x", "[0]", absent{}},
		{"elements of texts", "x", "y", "[0]", "y"},
		{"below elements of texts", "x", "y", "[0].a", "y"},
		{"below an element of neither", Array{}, Array{}, "[0].a", absent{}},

		{"all properties", Object{"a": 1, "b": 2}, Object{"a": 3, "c": 4}, "*", Object{"a": 1, "b": 2}},
		{"all elements", Object{"a": Array{1, 2}}, Object{"a": Array{3, 4}}, "a[*]", Object{"a": Array{1, 2}}},
		{"a property of all elements", Array{Object{"a": 1}, Object{"a": 2}}, Array{Object{"a": 3, "b": 5}, Object{"a": 4}}, "[*].a",
			Array{Object{"a": 1, "b": 5}, Object{"a": 2}}},
		{"a property of all properties", Object{"x": Object{"a": 1}}, Object{"x": Object{"a": 3}, "y": Object{"a": 4}}, "*.a",
			Object{"x": Object{"a": 1}, "y": Object{"a": 4}}},
		{"all elements of a list that grows", Array{1}, Array{3, 2}, "[*]", Array{1, 2}},
		{"all elements of a list that shrinks", Array{1, 2}, Array{3}, "[*]", Array{1}},
		{"a property of all elements of a list that grows", Array{Object{"a": 1}}, Array{Object{"a": 2}, Object{"a": 3}}, "[*].a",
			Array{Object{"a": 1}, Object{"a": 3}}},
		{"a property of all elements of a list that shrinks", Array{Object{"a": 1}, Object{"a": 2}}, Array{Object{"a": 3, "b": 4}}, "[*].a",
			Array{Object{"a": 1, "b": 4}}},
		{"a property of all properties that stay", Object{"x": Object{"a": 1}, "y": Object{"a": 2}}, Object{"x": Object{"a": 3}}, "*.a",
			Object{"x": Object{"a": 1}}},
		{"elements of elements", Array{Array{1, 2}, Array{3}}, Array{Array{4}, Array{5, 6}, Array{7}}, "[*][*]", Array{Array{1}, Array{3, 6}, Array{7}}},
		{"elements, one of which is another thing now", Array{Object{"a": Array{1}}, Object{"a": Array{2}}}, Array{Object{"a": "x"}, Object{"a": Array{3}}}, "[*].a[0]",
			Array{Object{"a": "x"}, Object{"a": Array{2}}}},
		{"elements that all are other things now", Array{Object{"a": Array{1}}}, Array{Object{"a": "x"}}, "[*].a[0]", absent{}},
		{"elements of an empty list", Array{}, Array{Object{"a": 1}}, "[*].a", Array{Object{"a": 1}}},
		{"all elements of an array that was a text", "x", Array{1}, "[*]", Array{1}},
		{"all properties of an object that was a text", "x", Object{"a": 1}, "*", Object{"a": 1}},
		{"all parts of a text", Array{1}, "x", "*", absent{}},

		{"out of a secret", Secret(Object{"a": 1}), Object{"a": 2}, "a", Object{"a": Secret(1)}},
		{"out of a secret output", Object{"s": property.Secret(Output(Object{"a": 1}))}, Object{"s": Object{"a": 2}}, "s.a", Object{"s": Object{"a": Secret(1)}}},
		{"all out of a secret", Secret(Array{1, 2}), Array{3, 4}, "[*]", Array{Secret(1), Secret(2)}},
		{"all properties out of a secret", Secret(Object{"a": 1}), Object{"b": 2}, "*", Object{"a": Secret(1)}},
		{"from secret to secret", Secret(Object{"a": 1}), Secret(Object{"a": 2}), "a", Secret(Object{"a": 1})},
		{"into a secret", Object{"a": 1}, Secret(Object{"a": 2}), "a", Secret(Object{"a": 1})},
		{"into an output", Object{"a": Array{1}}, Output(Object{"a": Array{2}}, "u"), "a[0]", Output(Object{"a": Array{1}}, "u")},
	} {
		t.Run(test.name, func(t *testing.T) {
			from, to := Of(test.from), Of(test.to)
			got, ok := parsePath(t, test.path).Copy(from, to)
			requireValue(t, test.want, got, ok)
			if !ok {
				require.True(t, to.Equal(got), "a failed copy gives what there was")
			}
			require.True(t, Of(test.from).Equal(from) && Of(test.to).Equal(to), "the values themselves must not change")
		})
	}
}
