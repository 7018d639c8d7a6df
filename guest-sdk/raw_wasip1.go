package guest

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/provider"
)

// ServeProvider serves a provider that implements the contract's methods itself, such
// as an adapter of one that was written for something else. It is called in main and
// returns at once. What [Serve] does around an author's code is then not done: the
// provider gets requests as they come, with a context that does not end. In Construct
// and Call, [abi.MonitorFrom] answers the host's monitor; [Log] writes to the host's log.
func ServeProvider(p abi.Provider) {
	if !bindings.Called() {
		print(rawUsage)
		return
	}
	provider.Serve(raw{p})
}

// raw is a provider that finds the monitor where it is in a program.
type raw struct{ abi.Provider }

func (r raw) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return r.Provider.Construct(abi.WithMonitor(ctx, bindings.Monitor()), request)
}

func (r raw) Call(ctx context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	return r.Provider.Call(abi.WithMonitor(ctx, bindings.Monitor()), request)
}
