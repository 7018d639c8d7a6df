package adapter

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

// begin returns the context in which the provider serves a call about a resource, empty for none. It
// ends after the timeout in seconds, unless that is 0.
func begin(ctx context.Context, u urn.URN, timeout float64) (context.Context, context.CancelFunc) {
	if u != "" {
		ctx = call.WithURN(ctx, u)
	}
	ctx = withLogger(ctx)
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(timeout*float64(time.Second)))
}
