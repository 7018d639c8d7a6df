package property_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	. "github.com/husk-dev/husk/internal/propertytest"
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
