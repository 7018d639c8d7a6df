package policy

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/policy"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

func init() { bindings.RunMain() }

// Serve serves the pack to the host that runs the module. It is called in main and
// returns at once. If neither package variables nor main read the clock or random numbers, the
// host may run them once, and begin all instances with what they left in memory; otherwise each
// instance runs them. If the pack is not well formed, see [New], the host is told so in answer to
// its first call.
func Serve(p Pack) {
	if !bindings.Called() {
		print(usage(p))
		return
	}
	log, control := bindings.Log(), bindings.Control()
	served, err := register(p, func(ctx context.Context) (context.Context, context.CancelFunc) {
		c := call.NewContext(call.WithLog(ctx, log), control.Cancelled, "", 0)
		return c, c.End
	})
	if err != nil {
		policy.Serve(refused{err: abi.NewError(abi.ErrorKindInternal, "policy pack "+p.Name+": "+err.Error())})
		return
	}
	policy.Serve(served)
}

// refused serves the calls of a pack that could not be registered. A host asks it no
// more than the handshake.
type refused struct {
	abi.Policy
	err error
}

func (r refused) Handshake(context.Context, abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	return abi.PolicyHandshakeResponse{}, r.err
}
