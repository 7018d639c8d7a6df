package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

type clockKey struct{}

// WithClock returns a context in which [Now] returns the result of now, for tests.
func WithClock(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, clockKey{}, now)
}

// Now returns the time. Unlike time.Now, tests can set it.
func Now(ctx context.Context) time.Time {
	if now, ok := ctx.Value(clockKey{}).(func() time.Time); ok {
		return now()
	}
	return time.Now()
}

// WithLog returns a context in which [Log] writes to sink. In a module the log is the host's.
func WithLog(ctx context.Context, sink abi.Log) context.Context { return call.WithLog(ctx, sink) }

// Logger writes messages about the resource of a call. The display of the deployment shows them, and Debug
// only with debug output.
type Logger interface {
	Debug(message string)
	Info(message string)
	Warning(message string)
	Error(message string)
	// Status writes how far the call is. The next status replaces it.
	Status(message string)
}

// Log returns the log of a call. Without one, as in most tests, messages go nowhere.
func Log(ctx context.Context) Logger { return call.Log(ctx) }
