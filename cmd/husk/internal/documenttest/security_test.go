package documenttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/testkit/doctest"
)

// The document of what is promised names tests that there are, and the defaults of limits
// as they are.
func TestThePromisesNameTestsAndDefaults(t *testing.T) {
	text := doctest.Require(t, "../../../..", "docs/security.md")
	for _, l := range limit.All() {
		value := l.Format(l.Default)
		if l.Option == "" {
			value += ", fixed"
		}
		if l.Limit == limit.TotalFiles { // each machine has its own
			value = "half of what the process may"
		}
		if !strings.HasPrefix(l.Name, "module-") || l.Limit == limit.ModuleSize {
			require.Contains(t, text, fmt.Sprintf(" | `%s` | %s |\n", l.Name, value))
		}
	}
	for name, value := range plugins.UntrustedLimits {
		info, ok := limit.Named(string(name))
		require.True(t, ok)
		require.Less(t, value, info.Default)
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `%s`.* \\| %s \\|$", name, info.Format(value)), text)
	}
	require.Contains(t, text, fmt.Sprintf("| `WithCancelGrace` | %v |\n", host.DefaultCancelGrace))
	require.Contains(t, text, fmt.Sprintf("| `ProviderOptions.Instances` | %v |\n", host.DefaultInstances))
	require.Equal(t, time.Minute, host.DefaultQuarantineWindow)
	require.Contains(t, text, "64 concurrent HTTP exchanges and 64 TCP connections")
	require.Equal(t, []int{64, 64, 16}, []int{host.MaxHTTPExchanges, host.MaxTCPConnections, host.MaxOpenAssets})
}
