package program

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/program"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

func init() { bindings.RunMain() }

// Run serves the program to the host that runs the module. It is called in main and returns at once. The host may run main once
// for all runs if main and package variables read neither the clock nor random numbers.
func Run(declare Func) {
	if !bindings.Called() {
		print(usage)
		return
	}
	log, control := bindings.Log(), bindings.Control()
	program.Serve(served{
		declare: declare,
		begin:   call.Begin(log, control.Cancelled),
		monitor: func(context.Context) abi.Monitor { return bindings.Monitor() },
	})
}
