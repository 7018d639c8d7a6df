package abi

import "context"

type monitorKey struct{}

// WithMonitor returns a context whose calls of Construct and Call may use m.
// The engine sets it; a host hands it to the guest as its monitor import.
func WithMonitor(ctx context.Context, m Monitor) context.Context {
	return context.WithValue(ctx, monitorKey{}, m)
}

// MonitorFrom returns the monitor that WithMonitor set, nil where there is none.
func MonitorFrom(ctx context.Context) Monitor {
	m, _ := ctx.Value(monitorKey{}).(Monitor)
	return m
}
