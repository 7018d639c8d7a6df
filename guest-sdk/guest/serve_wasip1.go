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

// Serve serves the provider to the host that runs the module. It is called in main and returns at
// once. The package's documentation says when the host runs main once for all instances; math/rand
// draws other numbers in each. If the provider is wrong, see [New], the first call fails.
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

// ServeProvider is [Serve] for a provider that implements the contract itself, such as an adapter. It
// gets requests as they come, with a context that does not end. In Construct and Call,
// [abi.MonitorFrom] returns the host's monitor; [Log] writes to the host's log. In a module it does
// not return, as a server does not return while its process lives.
func ServeProvider(p abi.Provider) {
	if !bindings.Called() {
		print(rawUsage)
		return
	}
	provider.Serve(raw{p})
	bindings.Stay()
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

// checkMethods does nothing in a module, where it would keep all methods of all types: a tenth of a
// small module. The tests of a provider do it.
func checkMethods(any, capabilities) error { return nil }
