package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testreference"
)

// The document of what is promised names tests that there are, and the defaults of limits
// as they are.
func TestThePromisesNameTestsAndDefaults(t *testing.T) {
	text := testreference.Require(t, "..", "docs/security.md")
	mebibytes := func(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
	for _, limit := range []struct {
		option   string
		defaults any
	}{
		{"WithCallTimeout", host.DefaultCallTimeout},
		{"WithCallTimeout", host.DefaultAnswerTimeout},
		{"WithCallTimeout", host.DefaultCancelTime},
		{"WithCancelGrace", host.DefaultCancelGrace},
		{"WithFuel", uint64(host.DefaultFuel)},
		{"WithHostCalls", host.DefaultHostCalls},
		{"WithHostCalls", host.DefaultAnswerHostCalls},
		{"WithRandomBytes", mebibytes(host.DefaultRandomBytes)},
		{"WithMemoryLimit", mebibytes(host.DefaultMemoryLimit)},
		{"WithTableElements", host.DefaultTableElements},
		{"WithOpenFiles", host.DefaultOpenFiles},
		{"ProviderOptions.Instances", host.DefaultInstances},
		{"WithWaitingCalls", host.DefaultWaitingCalls},
		{"WithStreams", host.DefaultStreams},
		{"WithLogRate", fmt.Sprintf("%d KiB", host.DefaultLogRate>>10)},
		{"WithQuarantine", host.DefaultQuarantineCrashes},
		{"WithTotalMemory", mebibytes(host.DefaultTotalMemory)},
		{"WithRequestBytes", mebibytes(host.DefaultRequestBytes)},
		{"WithAnswerBytes", mebibytes(host.DefaultAnswerBytes)},
		{"WithModuleSize", mebibytes(host.MaxModuleSize)},
		{"WithCompileTime", host.DefaultCompileTime},
	} {
		require.Contains(t, text, fmt.Sprintf("| `%s` | %v |", limit.option, limit.defaults))
	}
	require.Equal(t, time.Minute, host.DefaultQuarantineWindow)
	require.Contains(t, text, "16 HTTP exchanges and 64 TCP connections at once")
	require.Equal(t, []int{16, 64, 16}, []int{host.MaxHTTPExchanges, host.MaxTCPConnections, host.MaxOpenAssets})
}
