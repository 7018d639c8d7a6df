package guest

import (
	"context"
	"time"
)

type clockKey struct{}

// WithClock returns a context in which [Now] answers what now does. Programs that run a
// provider themselves use it, tests above all; in a module the clock is the host's.
func WithClock(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, clockKey{}, now)
}

// Now is the time. Providers ask it, rather than package time, so that a test can tell
// them what time it is.
func Now(ctx context.Context) time.Time {
	if now, ok := ctx.Value(clockKey{}).(func() time.Time); ok {
		return now()
	}
	return time.Now()
}
