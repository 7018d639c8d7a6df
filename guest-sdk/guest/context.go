package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

type clockKey struct{}

// WithClock returns a context in which [Now] returns the result of now. Programs that run a
// provider themselves use it, tests above all; in a module the clock is the host's.
func WithClock(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, clockKey{}, now)
}

// Now returns the time. Providers ask it, rather than package time, so that a test can tell
// them what time it is.
func Now(ctx context.Context) time.Time {
	if now, ok := ctx.Value(clockKey{}).(func() time.Time); ok {
		return now()
	}
	return time.Now()
}

// WithLog returns a context in which [Log] writes to sink. Programs that run a provider
// themselves use it; in a module the log is the host's.
func WithLog(ctx context.Context, sink abi.Log) context.Context { return call.WithLog(ctx, sink) }

// Logger writes messages about the resource that a call is about, with its methods Debug,
// Info, Warning, Error, and Status. Those who watch the deployment see them beside it.
type Logger = call.Logger

// Log returns the log of the call that the context belongs to. Without a log, as in
// most tests, messages go nowhere.
func Log(ctx context.Context) Logger { return call.Log(ctx) }
