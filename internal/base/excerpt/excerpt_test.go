package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/excerpt"
	"github.com/husk-dev/husk/internal/property/propertytest"
)

func render(literal any) string { return property.Render(propertytest.Of(literal)) }

func TestOf(t *testing.T) {
	a := func(n int) string { return strings.Repeat("ä", n) }
	for want, value := range map[string]any{
		`"` + a(64) + `"`:                                    a(64),
		`"` + a(64) + `…" (130 bytes)`:                       a(65),
		`"` + strings.Repeat(`\u0000`, 64) + `…" (65 bytes)`: strings.Repeat("\x00", 65),
		`"` + strings.Repeat(`\xff`, 64) + `…" (65 bytes)`:   strings.Repeat("\xff", 65),
		`["a", "b"]`: propertytest.Array{"a", "b"},
		`[111111, 111111, 111111, 111111, 111111, 111111, 111111, 111111,… (80 bytes)`: propertytest.Array{
			111111, 111111, 111111, 111111, 111111, 111111, 111111, 111111, 111111, 111111},
		"[secret]": propertytest.Secret("x"),
	} {
		require.Equal(t, want, excerpt.Of(render(value)))
	}
}

func TestHashesAreShort(t *testing.T) {
	a, b, late := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("a", 63)+"b"
	for rendering, want := range map[string]string{
		`asset("x" ` + a + `)`:                               `asset("x" aaaaaaaa)`,
		`[archive({f: asset("" ` + a + `)} ` + b + `), "y"]`: `[archive({f: asset("" aaaaaaaa)} bbbbbbbb), "y"]`,
		`["\" ` + a + `)"]`:                                  `["\" ` + a[:60] + `… (72 bytes)`,
		`asset("\\" ` + a + `)`:                              `asset("\\" aaaaaaaa)`,
	} {
		require.Equal(t, want, excerpt.Of(rendering))
	}
	old, new, at := excerpt.Pair(`asset("x" `+a+`)`, `asset("y" `+a+`)`)
	require.Equal(t, []any{`asset("x" aaaaaaaa)`, `asset("y" aaaaaaaa)`, 0}, []any{old, new, at})
	old, new, at = excerpt.Pair(`asset("x" `+a+`)`, `asset("x" `+late+`)`)
	require.Equal(t, []any{`…` + a[:17] + `) (75 bytes)`, `…` + late[47:] + `) (75 bytes)`, 74}, []any{old, new, at})
}

func TestPair(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		old, new, wantOld, wantNew any
		at                         int
	}{
		"short":                {"a", "b", `"a"`, `"b"`, 0},
		"other kinds":          {"1", 1, `"1"`, `1`, 0},
		"a late difference":    {x(5000) + "a" + x(100), x(5000) + "b", `"…` + x(16) + "a" + x(47) + `…" (5101 bytes)`, `"…` + x(16) + `b" (5001 bytes)`, 5001},
		"one longer":           {x(70), x(71), `"…` + x(16) + `" (70 bytes)`, `"…` + x(17) + `" (71 bytes)`, 71},
		"an early difference":  {"a" + x(100), "b" + x(100), `"a` + x(63) + `…" (101 bytes)`, `"b` + x(63) + `…" (101 bytes)`, 0},
		"one of them short":    {x(100), "b", `"` + x(64) + `…" (100 bytes)`, `"b"`, 0},
		"in a list":            {propertytest.Array{x(100), 1, 2}, propertytest.Array{x(100), 1, 3}, `…xxxxxxxxxx", 1, 2] (110 bytes)`, `…xxxxxxxxxx", 1, 3] (110 bytes)`, 109},
		"escapes stay whole":   {x(80) + "\x01", x(80) + "\x02", `"…` + x(16) + `\u0001" (81 bytes)`, `"…` + x(16) + `\u0002" (81 bytes)`, 81},
		"a quote and an end":   {x(80) + `"`, x(80) + `\`, `"…` + x(16) + `\"" (81 bytes)`, `"…` + x(16) + `\\" (81 bytes)`, 81},
		"a text and no text":   {x(80), propertytest.Array{x(80)}, `"` + x(64) + `…" (80 bytes)`, `["` + x(62) + `… (84 bytes)`, 0},
		"nothing before":       {"", x(80), `""`, `"` + x(64) + `…" (80 bytes)`, 0},
		"nothing known after":  {x(80), property.Unknown, `"` + x(64) + `…" (80 bytes)`, `[unknown]`, 0},
		"a difference at 25":   {x(24) + "a" + x(80), x(24) + "b" + x(80), `"` + x(24) + "a" + x(39) + `…" (105 bytes)`, `"` + x(24) + "b" + x(39) + `…" (105 bytes)`, 25},
		"a difference at 26":   {x(25) + "a" + x(80), x(25) + "b" + x(80), `"…` + x(16) + "a" + x(47) + `…" (106 bytes)`, `"…` + x(16) + "b" + x(47) + `…" (106 bytes)`, 26},
		"letters of two bytes": {strings.Repeat("ä", 100) + "a", strings.Repeat("ä", 100) + "b", `"…` + strings.Repeat("ä", 16) + `a" (201 bytes)`, `"…` + strings.Repeat("ä", 16) + `b" (201 bytes)`, 101},
	} {
		t.Run(name, func(t *testing.T) {
			old, new, at := excerpt.Pair(render(c.old), render(c.new))
			require.Equal(t, []any{c.wantOld, c.wantNew, c.at}, []any{old, new, at})
		})
	}
}

// Whatever differs is in sight, on a short line.
func TestPairShowsTheDifference(t *testing.T) {
	text := rapid.StringMatching(`[ab\x00ä"\\]{0,200}`)
	rapid.Check(t, func(t *rapid.T) {
		common := text.Draw(t, "common")
		a, b := common+text.Draw(t, "a"), common+text.Draw(t, "b")
		old, new, _ := excerpt.Pair(render(a), render(b))
		require.Equal(t, a == b, old == new, "%s", old)
		for _, shown := range []string{old, new, excerpt.Of(render(a))} {
			require.True(t, utf8.ValidString(shown))
			require.Less(t, utf8.RuneCountInString(shown), 6*64+30)
		}
	})
}
