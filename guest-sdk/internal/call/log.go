package call

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

type (
	logKey struct{}
	urnKey struct{}
)

// WithLog returns a context in which [Log] writes to sink. In a module the log is the host's.
func WithLog(ctx context.Context, sink abi.Log) context.Context {
	return context.WithValue(ctx, logKey{}, sink)
}

// Begin returns a function that makes the contexts of calls without a resource or a timeout, in which [Log] writes to sink. It returns
// the end of each, too.
func Begin(sink abi.Log, cancelled func(context.Context) bool) func(context.Context) (context.Context, context.CancelFunc) {
	contexts := new(Contexts)
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		c := contexts.New(WithLog(ctx, sink), cancelled, "", 0)
		return c, c.End
	}
}

// WithURN returns a context in which the logged messages are about a resource.
func WithURN(ctx context.Context, u urn.URN) context.Context {
	return context.WithValue(ctx, urnKey{}, u)
}

// Logger writes messages about the resource of a call. The display of the deployment shows them.
type Logger struct {
	ctx  context.Context
	sink abi.Log
	urn  urn.URN
}

// Log returns the log of a call. Without one, as in most tests, messages go nowhere.
func Log(ctx context.Context) Logger {
	l := Logger{ctx: ctx}
	if l.sink, _ = ctx.Value(logKey{}).(abi.Log); l.sink == nil {
		l.sink = hostLog()
	}
	l.urn, _ = ctx.Value(urnKey{}).(urn.URN)
	return l
}

// Debug writes what only the provider's author wants to see.
func (l Logger) Debug(message string) { l.write(abi.LogSeverityDebug, message, false) }

// Info writes what the user may want to know.
func (l Logger) Info(message string) { l.write(abi.LogSeverityInfo, message, false) }

// Warning writes what the user should look at.
func (l Logger) Warning(message string) { l.write(abi.LogSeverityWarning, message, false) }

// Error writes a failure after which the call goes on. Other errors are returned instead.
func (l Logger) Error(message string) { l.write(abi.LogSeverityError, message, false) }

// Status writes how far the call is; the next status replaces it.
func (l Logger) Status(message string) { l.write(abi.LogSeverityInfo, message, true) }

func (l Logger) write(severity abi.LogSeverity, message string, ephemeral bool) {
	if l.sink != nil {
		l.sink.Write(l.ctx, abi.LogEntry{Severity: severity, Message: message, URN: l.urn, Ephemeral: ephemeral})
	}
}
