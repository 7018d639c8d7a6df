package guest

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// callersMonitor returns the host's monitor.
func callersMonitor(context.Context) abi.Monitor { return bindings.Monitor() }
