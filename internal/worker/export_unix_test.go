//go:build unix

package worker

import (
	"testing"
	"time"
)

// KillSoon has processes that do not heed interrupts killed soon, until the test ends.
func KillSoon(t *testing.T) {
	was := killTime
	killTime = 10 * time.Millisecond
	t.Cleanup(func() { killTime = was })
}
