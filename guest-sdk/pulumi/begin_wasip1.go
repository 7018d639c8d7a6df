package pulumi

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

var (
	// contexts is global, as a module serves one provider.
	contexts  call.Contexts
	cancelled = bindings.Control().Cancelled
)

// begin returns the context of a call, which ends when the host cancels the call, and the function that ends it.
func begin(ctx context.Context, about urn.URN) (context.Context, func()) {
	c := contexts.New(ctx, cancelled, about, 0)
	return c, c.End
}
