package policy

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/policy"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

func init() { bindings.RunMain() }

// Serve serves the pack to the host that runs the module. It is called in main and returns at once. The
// host may run main once for all instances if main and package variables read neither the clock nor
// random numbers. If the pack is wrong, see [New], the first call fails.
func Serve(p Pack) {
	if !bindings.Called() {
		print(usage(p))
		return
	}
	log, control := bindings.Log(), bindings.Control()
	served, err := register(p, call.Begin(log, control.Cancelled))
	if err != nil {
		policy.Serve(refused{err: abi.NewError(abi.ErrorKindInternal, "policy pack "+p.Name+": "+err.Error())})
		return
	}
	policy.Serve(served)
}

// refused serves a pack that could not be registered. A host calls only its handshake.
type refused struct {
	abi.Policy
	err error
}

func (r refused) Handshake(context.Context, abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	return abi.PolicyHandshakeResponse{}, r.err
}
