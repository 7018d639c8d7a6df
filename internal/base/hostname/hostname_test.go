package hostname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/hostname"
)

func TestIsThisMachine(t *testing.T) {
	for _, host := range []string{"localhost", "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"} {
		require.True(t, hostname.IsThisMachine(host), host)
	}
	for _, host := range []string{"", "localhost.example", "0.0.0.0", "::", "127.1", "::1%lo", "10.0.0.1", "example.com"} {
		require.False(t, hostname.IsThisMachine(host), host)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		granted, host   string
		matches, before bool
	}{
		{"example.org", "example.org", true, false}, {"example.org", "a.example.org", false, false},
		{"*.example.org", "a.example.org", true, true}, {"*.example.org", "a.b.example.org", false, true}, {"*.example.org", "example.org", false, false},
		{"*.example.org", "aexample.org", false, false}, {"*.example.org", ".example.org", false, false}, {"*.example.org", "*.example.org", true, true},
		{"*.example.org", "**.example.org", false, true}, {"*.example.org", "*.a.example.org", false, true},
		{"**.example.org", "a.example.org", true, false}, {"**.example.org", "a.b.example.org", true, false}, {"**.example.org", "example.org", false, false},
		{"**.example.org", "*.a.example.org", true, false}, {"**.example.org", "evil.org", false, false},
		{"*", "a.b", true, false}, {"*", "localhost", false, false}, {"*", "10.0.0.1", false, false}, {"*.0.0.1", "10.0.0.1", false, false},
	} {
		require.Equal(t, c.matches, hostname.Matches(c.granted, c.host), c)
		require.Equal(t, c.before, hostname.MatchedFormerly(c.granted, c.host), c)
	}
}
