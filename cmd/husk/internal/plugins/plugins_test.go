package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompatible(t *testing.T) {
	for _, c := range []struct {
		wanted, have string
		want         bool
	}{
		{"4.16.0", "4.16.0", true},
		{"4.16.0", "4.17.1", true},
		{"v4.16", "4.16.3", true},
		{"4.16.0", "4.15.9", false},
		{"4.16.0", "5.0.0", false},
		{"0.1.0", "0.1.5", true},
		{"0.1.0", "0.2.0", false},
		{"1.0.0", "1.0.0-rc.1", false},
		{"1.0.0", "", false},
		{"newest", "1.0.0", false},
	} {
		require.Equal(t, c.want, compatible(c.wanted, c.have), "%s wanted, %s there", c.wanted, c.have)
	}
}
