package property_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

func changes(list []property.Change) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Kind.String()+" "+c.Path.String())
	}
	return out
}

func TestDiff(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new Object
		want     []string
		contents []string // what DiffContents finds, where it is not the same
	}{
		{name: "nothing", old: Object{"a": 1}, new: Object{"a": 1}},
		{name: "properties", old: Object{"same": 1, "gone": 1, "other": 1}, new: Object{"same": 1, "new": 1, "other": 2},
			want: []string{"delete gone", "add new", "update other"}},
		{name: "null is absent", old: Object{"a": nil, "b": 1, "c": nil}, new: Object{"b": nil, "c": 1},
			want: []string{"delete b", "add c"}},
		{name: "nested", old: Object{"a": Object{"b": Object{"c": 1, "d": 2}}}, new: Object{"a": Object{"b": Object{"c": 2, "e": 3}}},
			want: []string{"update a.b.c", "delete a.b.d", "add a.b.e"}},
		{name: "an added object is one change", old: Object{}, new: Object{"a": Object{"b": 1, "c": 2}},
			want: []string{"add a"}},
		{name: "elements", old: Object{"a": Array{1, 2, 3}}, new: Object{"a": Array{1, 4}},
			want: []string{"update a[1]", "delete a[2]"}},
		{name: "appended elements", old: Object{"a": Array{}}, new: Object{"a": Array{1, nil}},
			want: []string{"add a[0]", "add a[1]"}},
		{name: "an element that becomes null", old: Object{"a": Array{1}}, new: Object{"a": Array{nil}},
			want: []string{"update a[0]"}},
		{name: "order", old: Object{"b": Array{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "aa": 1},
			new:  Object{"b": Array{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, "aa": 2, "b.c": 1},
			want: []string{"update aa", "update b[2]", "update b[10]", `add ["b.c"]`}},
		{name: "kinds", old: Object{"a": Object{"b": 1}}, new: Object{"a": Array{1}}, want: []string{"update a"}},

		{name: "becomes unknown", old: Object{"a": Object{"b": 1}}, new: Object{"a": Object{"b": property.Unknown}},
			want: []string{"update a.b"}},
		{name: "becomes known", old: Object{"a": property.Unknown}, new: Object{"a": Object{"b": 1}}, want: []string{"update a"}},
		{name: "stays unknown", old: Object{"a": property.Unknown}, new: Object{"a": property.Unknown}},

		{name: "becomes secret", old: Object{"a": "x"}, new: Object{"a": Secret("x")},
			want: []string{"update a"}, contents: []string{}},
		{name: "inside secrets", old: Object{"a": Secret(Object{"b": 1, "c": 1})}, new: Object{"a": Secret(Object{"b": 2, "c": 1})},
			want: []string{"update a.b"}},
		{name: "becomes secret and differs", old: Object{"a": Object{"b": 1, "c": 1}}, new: Object{"a": Secret(Object{"b": 2, "c": 1})},
			want: []string{"update a"}, contents: []string{"update a.b"}},
		{name: "other dependencies", old: Object{"a": Output(Object{"b": 1}, "u")}, new: Object{"a": Output(Object{"b": 1}, "v")},
			want: []string{"update a"}, contents: []string{}},
		{name: "inside outputs", old: Object{"a": Output(Object{"b": 1}, "u")}, new: Object{"a": Output(Object{"b": 2}, "u")},
			want: []string{"update a.b"}},
		{name: "secret null", old: Object{"a": Secret(nil)}, new: Object{},
			want: []string{"delete a"}, contents: []string{}},

		{name: "archives have no parts",
			old:  Object{"a": archive(property.Archive{Source: property.SourceAssets})},
			new:  Object{"a": archive(property.Archive{Source: property.SourceAssets, Assets: MapOf(Object{"m": asset(property.Asset{})})})},
			want: []string{"update a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.contents == nil {
				test.contents = test.want
			}
			old, new := MapOf(test.old), MapOf(test.new)
			require.Equal(t, test.want, changes(property.Diff(old, new)))
			require.ElementsMatch(t, test.contents, changes(property.DiffContents(old, new)))
		})
	}
}

// TestDiffOfGenerated: there is a difference exactly where two maps are not equal,
// and every change is at a place that one of them has.
func TestDiffOfGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := Maps(3).Draw(t, "old"), Maps(3).Draw(t, "new")
		require.Empty(t, property.Diff(old, old))
		require.Equal(t, old.Equal(new), len(property.Diff(old, new)) == 0)
		require.Equal(t, old.EqualContents(new), len(property.DiffContents(old, new)) == 0)
		for _, c := range property.Diff(old, new) {
			_, wasThere := c.Path.Get(property.Object(old))
			_, isThere := c.Path.Get(property.Object(new))
			switch c.Kind {
			case property.ChangeAdd:
				require.True(t, isThere)
			case property.ChangeDelete:
				require.True(t, wasThere)
			default:
				require.True(t, wasThere && isThere)
			}
		}
	})
}
