package adapter

import (
	"context"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

var (
	contexts call.Contexts
	making   sync.Mutex
	// cancelled asks the host, which does not end the context of a call.
	cancelled = bindings.Control().Cancelled
)

func within(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, context.CancelFunc) {
	making.Lock()
	defer making.Unlock()
	c := contexts.New(ctx, cancelled, u, timeout)
	return c, c.End
}
