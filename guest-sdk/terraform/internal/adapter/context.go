package adapter

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi/urn"
)

// begin returns the context in which the provider serves a call about a resource, empty for none. It
// ends with the call, and after the timeout in seconds, unless that is 0.
func begin(ctx context.Context, u urn.URN, timeout float64) (context.Context, context.CancelFunc) {
	ctx, end := within(ctx, u, time.Duration(timeout*float64(time.Second)))
	return withLogger(ctx), end
}
