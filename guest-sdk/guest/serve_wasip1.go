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
// and returns at once. If neither package variables nor main read the clock or random numbers, the
// host may run them once, and begin all instances with what they left in memory, those of later
// processes among them; otherwise each instance runs them. So it is with Configure, for the instances
// of one configuration. The functions of math/rand draw other numbers in each instance. If the
// provider is not well formed, see [New], the host is told so in answer to its first call.
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

// refused serves the calls of a provider that could not be registered.
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

// ServeProvider serves a provider that implements the contract's methods itself, such
// as an adapter of one that was written for something else. It is called in main and
// returns at once. What [Serve] does around an author's code is then not done: the
// provider gets requests as they come, with a context that does not end. In Construct
// and Call, [abi.MonitorFrom] returns the host's monitor; [Log] writes to the host's log.
func ServeProvider(p abi.Provider) {
	if !bindings.Called() {
		print(rawUsage)
		return
	}
	provider.Serve(raw{p})
}

// raw is a provider whose contexts have the monitor, as in a program.
type raw struct{ abi.Provider }

func (r raw) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return r.Provider.Construct(abi.WithMonitor(ctx, bindings.Monitor()), request)
}

func (r raw) Call(ctx context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	return r.Provider.Call(abi.WithMonitor(ctx, bindings.Monitor()), request)
}

// callersMonitor returns the host's monitor.
func callersMonitor(context.Context) abi.Monitor { return bindings.Monitor() }

// checkMethods does nothing in a module: finding methods by reflection would keep all
// methods of all types in it, a tenth of a small one. Programs, which the tests of a
// provider are, do it.
func checkMethods(any, capabilities) error { return nil }
