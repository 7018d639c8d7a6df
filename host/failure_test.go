package host_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
)

// Text of a guest becomes longer as it is made safe, so it is cut before.
func TestTheTextOfAnErrorIsBounded(t *testing.T) {
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{})
	const bytes, most = 1 << 20, 256 << 10
	e := failure(t, p, "fail", strings.Repeat("\x1b", bytes))
	require.Equal(t, strings.Repeat(`\x1b`, most)+"… (and 786432 bytes more)", e.Message)
	short := strings.Repeat("x", most)
	require.Equal(t, short, failure(t, p, "fail", short).Message)
}
