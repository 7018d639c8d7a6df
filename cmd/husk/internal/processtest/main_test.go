// Package processtest has tests of the command as a process: it is killed, interrupted, run many times at once, and on a
// terminal.
package processtest

import (
	"testing"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

// commands are programs beside husk.
var commands = map[string]func(){"killafter": killAfter}

func TestMain(m *testing.M) { usertest.Main(m, commands) }
