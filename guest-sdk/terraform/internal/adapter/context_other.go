//go:build !wasip1

package adapter

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

func within(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, context.CancelFunc) {
	if u != "" {
		ctx = call.WithURN(ctx, u)
	}
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
