package call

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// hostLog returns the log of the module's host, which all calls write to.
func hostLog() abi.Log { return bindings.Log() }
