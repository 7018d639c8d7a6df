package property_test

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
)

// Guests have functions of their own for texts, which do what those of Go do.
func TestTexts(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "\x00", "\xff", "ä", "日本"}
	for n := range 20 { // texts that begin alike, and differ at each place
		same := strings.Repeat("x", n)
		texts = append(texts, same, same+"a", same+"b", same+"\x80", same+"é", same+"ya234567890", same+"yb123456789")
	}
	for _, a := range texts {
		require.Equal(t, utf8.ValidString(a), property.ValidText(a), "%q", a)
		for _, b := range texts {
			b = strings.Clone(b)
			require.Equal(t, strings.Compare(a, b), cmp.Compare(property.CompareText(a, b), 0), "%q and %q", a, b)
			require.Equal(t, a == b, property.EqualText(a, b), "%q and %q", a, b)
		}
	}
}
