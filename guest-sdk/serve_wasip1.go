package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/provider"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

func init() { bindings.RunMain() }

// Serve serves the provider to the host that runs the module. It is called in main
// and returns at once. A host may run main once and begin all instances with what it left
// in memory, those of later processes among them, and so it may with what Configure left. The
// functions of math/rand draw other numbers in each instance; a generator of the provider's own,
// and what depends on the time, are to be made in the call that first needs them. Where
// the provider is not well formed, see [New], the host is told so in answer to its first call.
func Serve(p Provider) {
	if !bindings.Called() {
		print(usage(p))
		return
	}
	control := bindings.Control()
	cancelled := control.Cancelled
	var contexts call.Contexts
	served, err := provide(p, func(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, ender) {
		c := contexts.New(ctx, cancelled, u, timeout)
		return c, c
	})
	if err != nil {
		served = refused{err: abi.NewError(abi.ErrorKindInternal, "provider "+p.Name+": "+err.Error())}
	}
	provider.Serve(served)
}

// refused answers in place of a provider that could not be registered.
type refused struct {
	abi.Unimplemented
	err error
}

func (r refused) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{}, r.err
}

func (r refused) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{}, r.err
}
