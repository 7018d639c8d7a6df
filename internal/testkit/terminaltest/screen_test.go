package terminaltest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScreen(t *testing.T) {
	for name, c := range map[string]struct{ written, shown string }{
		"lines":                         {"one\r\ntwo", "one\ntwo"},
		"a line is written over":        {"abc\rX", "Xbc"},
		"a backspace":                   {"abc\bX", "abX"},
		"a tab":                         {"a\tX", "a       X"},
		"a bell":                        {"a\ab", "ab"},
		"lines go up":                   {"1\r\n2\r\n3\r\n4", "2\n3\n4"},
		"a long line goes on":           {"0123456789ab", "0123456789\nab"},
		"a line that fits":              {"0123456789\r\nab", "0123456789\nab"},
		"a long line is cut":            {"\x1b[?7l0123456789ab\x1b[?7h", "012345678b"},
		"the last place after the line": {"0123456789\x1b[K", "012345678"},
		"the cursor moves":              {"\x1b[2;3Ha\x1b[Ab\x1b[2Bc\x1b[3Dd\x1b[2Ce\x1b[1Gf", "   b\n  a\nf d ce"},
		"the cursor stays on it":        {"\x1b[9A\x1b[9Da\x1b[99;99Hb", "a\n\n         b"},
		"the end of a line is cleared":  {"abc\r\x1b[C\x1b[K", "a"},
		"its beginning":                 {"abc\x1b[2D\x1b[1K", "  c"},
		"all of it":                     {"abc\x1b[2K", ""},
		"what is below":                 {"ab\r\ncd\r\nef\x1b[2;2H\x1b[J", "ab\nc"},
		"what is above":                 {"ab\r\ncd\r\nef\x1b[2;1H\x1b[1J", "\n d\nef"},
		"all":                           {"ab\r\ncd\x1b[H\x1b[2J\x1b[3JX", "X"},
		"a title and a link":            {"\x1b]0;title\aa\x1b]8;;http://example.org\x1b\\b", "ab"},
		"characters of several bytes":   {"├─ …", "├─ …"},
	} {
		t.Run(name, func(t *testing.T) {
			whole, parts := newScreen(10, 3), newScreen(10, 3)
			whole.write([]byte(c.written))
			for i := range len(c.written) {
				parts.write([]byte{c.written[i]})
			}
			require.Equal(t, c.shown, whole.text())
			require.Equal(t, whole, parts, "written byte by byte")
			require.Empty(t, whole.unknown)
		})
	}
}

func TestColors(t *testing.T) {
	s := newScreen(9, 1)
	s.write([]byte("a\x1b[32mb\x1b[1mc\x1b[22md\x1b[39me\x1b[1;96mf\x1b[0mg\x1b[1;2;4mh"))
	var colors []int
	for _, c := range s.rows[0] {
		colors = append(colors, c.color)
	}
	require.Equal(t, []int{defaultColor, 2, 10, 2, defaultColor, 14, defaultColor, defaultColor, defaultColor}, colors)
}

func TestResizedScreen(t *testing.T) {
	s := newScreen(5, 3)
	s.write([]byte("12345\r\n2\r\n3"))
	s.resize(3, 2)
	require.Equal(t, "2\n3", s.text(), "the line of the cursor stays")
	s.write([]byte("abc"))
	require.Equal(t, "3ab\nc", s.text())
	s.resize(6, 3)
	s.write([]byte("d\r\nx"))
	require.Equal(t, "3ab\ncd\nx", s.text(), "what was cut does not come back")
}

func TestUnknownSequences(t *testing.T) {
	s := newScreen(9, 1)
	s.write([]byte("a\x1b[5ib\x1b[38;5;1mc\x1b[4Kd"))
	require.Equal(t, []string{"\x1b[5i", "\x1b[38;5;1m", "\x1b[4K"}, s.unknown)
	require.Equal(t, "abcd", s.text())
}
