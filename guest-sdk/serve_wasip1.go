package guest

import (
	"context"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/provider"
)

// A reactor, which is what -buildmode=c-shared makes, has no entry point: nothing
// calls main. It is called here, before the module's first call is answered. The
// linkname needs an assembly file in the package, empty as it may be.
//
//go:linkname mainMain main.main
func mainMain()

// reactor is true once the host has called in. A module is a process of its own, so
// that what it serves is as global as main is.
var reactor bool

func init() {
	bindings.OnFirstCall(func() {
		reactor = true
		mainMain()
	})
}

// Serve serves the provider to the host that runs the module. It is called in main
// and returns at once. Where the provider is not well formed, see [New], the host is
// told so in answer to its first call.
func Serve(p Provider) {
	if !reactor {
		print(usage(p))
		return
	}
	log, control := bindings.Log(), bindings.Control()
	served, err := provide(p, func(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
		call := newCallContext(WithLog(ctx, log), control.Cancelled, timeout)
		return call, call.end
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
