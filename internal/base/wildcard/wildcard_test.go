package wildcard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/wildcard"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text, stops string
		want                 bool
	}{
		{"a*c", "abbc", "/", true},
		{"a*c", "a/c", "/", false},
		{"a*c", "a/c", "", true},
		{"a**c", "a/b:c", "/:", true},
		{"a***c", "a/b\nc", "/", true},
		{"a*c", "a\nc", "/", true},
		{"*", "", "/", true},
		{"a.c", "abc", "", false},
		{`a\*`, `a\b`, "/", true},
		{`a\*`, `ab`, "/", false},
		{"b", "abc", "", false},
		{"*@x", "a@b@x", "/@", false},
		{"*-*", "a.b-c", ".", false},
		{"\xff*", "\xff", "", false},
	} {
		require.Equal(t, c.want, wildcard.Match(c.pattern, c.text, c.stops), "%+v", c)
	}
}
