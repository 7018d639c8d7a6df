package printable

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for given, want := range map[string]string{
		"plain ünïcode ✓\tand\nlines": "plain ünïcode ✓\tand\nlines",
		"\x1b[2J\x1b]52;c;aGk=\a":     `\x1b[2J\x1b]52;c;aGk=\a`,
		"over\rwritten":               `over\rwritten`,
		"dos\r\nline":                 "dos\nline",
		"c1 \u009b31m":                `c1 \u009b31m`,
		"bidi \u202egnp.exe":          `bidi \u202egnp.exe`,
		"separators \u2028\u2029":     `separators \u2028\u2029`,
		"nul \x00":                    `nul \x00`,
		"broken \xff":                 "broken \uFFFD",
	} {
		require.Equal(t, want, Text(given))
	}
}
