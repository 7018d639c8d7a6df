//go:build !wasip1

package guest

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// callersMonitor returns the monitor that the caller of Construct or Call passes, nil
// where there is none.
func callersMonitor(ctx context.Context) abi.Monitor { return abi.MonitorFrom(ctx) }
