package hostname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/hostname"
)

func TestIsThisMachine(t *testing.T) {
	for _, host := range []string{"localhost", "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"} {
		require.True(t, hostname.IsThisMachine(host), host)
	}
	for _, host := range []string{"", "localhost.example", "0.0.0.0", "::", "127.1", "::1%lo", "10.0.0.1", "example.com"} {
		require.False(t, hostname.IsThisMachine(host), host)
	}
}
