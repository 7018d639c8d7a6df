//go:build !unix && !windows

package compiletime

import "time"

// processorTime is not known.
func processorTime() (time.Duration, bool) { return 0, false }
