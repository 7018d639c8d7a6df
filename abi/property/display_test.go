package property_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/property/propertytest"
)

func TestDisplay(t *testing.T) {
	long := strings.Repeat("ä", 65)
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{1000000, "1000000"},
		{-0.25, "-0.25"},
		{1e21, "1e+21"},
		{math.NaN(), "NaN"},
		{math.Inf(-1), "-Inf"},
		{"text", `"text"`},
		{"a \"b\" \\ \n\r\t\x1b[31m\u202e\x00ü", `"a \"b\" \\ \n\r\t\u001b[31m\u202e\u0000ü"`},
		{"\xff", "\"\uFFFD\""},
		{long[2:], `"` + long[2:] + `"`},
		{long, `"` + long[2:] + `…" (130 bytes)`},
		{Array{}, "[]"},
		{Array{1, "a", nil}, `[1, "a", null]`},
		{Array{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "[1, 2, 3, 4, 5, 6, 7, 8, … 2 more]"},
		{Object{}, "{}"},
		{Object{"bb": 1, "c": Object{"d e": 2}}, `{bb: 1, c: {"d e": 2}}`},
		{property.Unknown, "[unknown]"},
		{Secret(Object{"a": 1}), "[secret]"},
		{Object{"a": Array{Secret("x")}}, "{a: [[secret]]}"},
		{Output("x", "u"), `"x"`},
		{property.Secret(Output("x", "u")), "[secret]"},
		{asset(property.Asset{Source: property.SourceText, Text: "x\n"}), `asset("x\n")`},
		{asset(property.Asset{Source: property.SourcePath, Path: "./a"}), `asset("./a")`},
		{asset(property.Asset{Source: property.SourceURI, URI: "https://a"}), `asset("https://a")`},
		{asset(property.Asset{Hash: "1f2e3d4c5b6a"}), `asset(1f2e3d4c)`},
		{asset(property.Asset{Source: property.SourcePath, Path: "./a", Hash: "1f2e3d4c5b6a"}), `asset("./a" 1f2e3d4c)`},
		{asset(property.Asset{Hash: "\x1b[2J"}), `asset(\u001b[2J)`},
		{archive(property.Archive{Hash: "1f"}), `archive(1f)`},
		{archive(property.Archive{Source: property.SourcePath, Path: "./a"}), `archive("./a")`},
		{archive(property.Archive{Source: property.SourceURI, URI: "https://a"}), `archive("https://a")`},
		{archive(property.Archive{Source: property.SourceAssets, Assets: MapOf(Object{"a": asset(property.Asset{Hash: "1f"})})}),
			`archive({a: asset(1f)})`},
		{property.Reference(property.ResourceReference{URN: "urn:pulumi:a::b::c::d"}), `resource("urn:pulumi:a::b::c::d")`},
	} {
		t.Run(test.want, func(t *testing.T) {
			require.Equal(t, test.want, property.Display(Of(test.value)))
		})
	}
}

func TestFmtShowsNoSecrets(t *testing.T) {
	m := MapOf(Object{"password": Secret("hunter2")})
	require.Equal(t, "{password: [secret]}", fmt.Sprint(m))
	require.Equal(t, "[secret]", fmt.Sprintf("%v", m.Get("password")))
}

// TestDisplayIsShort: however large a value is, it is shown on one short line.
func TestDisplayIsShort(t *testing.T) {
	deep, wide := property.Null, make([]property.Value, 10000)
	for i := range wide {
		deep = property.Array(deep)
		wide[i] = Of(strings.Repeat("\x00", 1000))
	}
	tree := property.Array(wide...)
	for range 10 {
		tree = property.Array(tree, tree, tree, tree)
	}
	for _, v := range []property.Value{deep, property.Array(wide...), tree, Of(strings.Repeat("x", 1<<20))} {
		require.Less(t, len(property.Display(v)), 2000)
	}
	rapid.Check(t, func(t *rapid.T) {
		shown := property.Display(Values(6).Draw(t, "value"))
		require.True(t, utf8.ValidString(shown))
		require.NotContains(t, shown, "\x1b")
		require.NotContains(t, shown, "\n")
		require.Less(t, len(shown), 2000)
	})
}

// TestRenderedValuesAreWhole: whatever differs between two values, but for what is secret or
// not known, differs between their renderings.
func TestRenderedValuesAreWhole(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, pair := range [][2]any{
		{long + "a", long + "b"},
		{Array{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Array{1, 2, 3, 4, 5, 6, 7, 8, 9, 11}},
		{Object{"a": Object{"b": Array{long, 1}}}, Object{"a": Object{"b": Array{long, 2}}}},
		{Object{long + "a": 1}, Object{long + "b": 1}},
		{asset(property.Asset{Hash: "1f2e3d4c5b6a"}), asset(property.Asset{Hash: "1f2e3d4c5b6b"})},
		{"\xff", "\xfe"}, {"\xff", "\uFFFD"}, {0, math.Copysign(0, -1)}, {"1", 1}, {"null", nil}, {Array{"a", "b"}, Array{`a", "b`}},
		{property.Reference(property.ResourceReference{URN: "u", HasID: true}), property.Reference(property.ResourceReference{URN: "u"})},
		{property.Reference(property.ResourceReference{URN: "u", PackageVersion: "1"}), property.Reference(property.ResourceReference{URN: "u", PackageVersion: "2"})},
	} {
		require.NotEqual(t, property.Render(Of(pair[0])), property.Render(Of(pair[1])))
	}
	require.Equal(t, "{a: [secret], b: [unknown]}", property.Render(Of(Object{"a": Secret(long), "b": property.Unknown})))
	require.Equal(t, `resource("u" id [unknown])`, property.Render(property.Reference(property.ResourceReference{URN: "u", HasID: true})))
	require.Equal(t, `resource("u" id "x")`, property.Render(property.Reference(property.ResourceReference{URN: "u", HasID: true, ID: "x"})))
	plain := func(v property.Value) property.Value {
		return v.Transform(func(v property.Value) property.Value {
			if v.Kind() == property.KindSecret || v.Kind() == property.KindUnknown || v.Kind() == property.KindOutput {
				return property.Null
			}
			return v
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := plain(Values(4).Draw(t, "a")), plain(Values(4).Draw(t, "b"))
		shown := property.Render(a)
		if shown == property.Render(b) {
			require.True(t, a.Equal(b), "%s", shown)
		}
		require.True(t, utf8.ValidString(shown))
		require.NotContains(t, shown, "\x1b")
		require.NotContains(t, shown, "\n")
		if text, ok := a.AsString(); ok {
			unquoted, err := strconv.Unquote(shown)
			require.NoError(t, err)
			require.Equal(t, text, unquoted)
		}
	})
}
