//go:build !wasip1

package policy

import (
	"context"
	"errors"
	"os"

	"github.com/husk-dev/husk/abi"
)

// New returns the pack as an abi.Policy that runs in the calling program. After Configure its methods
// may be called in parallel. The error names the policy that is wrong.
func New(p Pack) (abi.Policy, error) {
	made, err := register(p, func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} })
	if err != nil {
		return nil, errors.New("policy pack " + p.Name + ": " + err.Error())
	}
	return made, nil
}

// Serve serves the pack to the host that runs the module. It is called in main and returns at once. In
// a program that is not a module it prints how to build one, and exits with status 2.
func Serve(p Pack) {
	os.Stderr.WriteString(usage(p))
	os.Exit(2)
}
