//go:build !wasip1

package program

import (
	"context"
	"os"

	"github.com/husk-dev/husk/abi"
)

// New returns the program as an abi.Program that runs in the calling program, with the monitor of the context, see
// [abi.WithMonitor]: for tests.
func New(declare Func) abi.Program {
	return served{
		declare: declare,
		begin:   func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		monitor: abi.MonitorFrom,
	}
}

// Run serves the program to the host that runs the module. It is called in main and returns at once. In a program that is not a
// module it prints how to build one, and exits with status 2.
func Run(Func) {
	os.Stderr.WriteString(usage)
	os.Exit(2)
}
