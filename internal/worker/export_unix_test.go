//go:build unix

package worker

import (
	"testing"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// KillSoon has processes that do not heed interrupts killed soon, and waits for no output of their children, until the test ends.
func KillSoon(t *testing.T) {
	kill, output := killTime, outputTime
	killTime, outputTime = 10*time.Millisecond, 10*time.Millisecond
	t.Cleanup(func() { killTime, outputTime = kill, output })
}

// Outcome says how a run ended whose process ended with an error while the worker was stopped, or also killed.
func Outcome(err error, killed bool) runapi.End {
	return outcome(&runapi.Claim{StopOnPending: true}, err, true, killed, nil, "")
}
