package abi

import (
	"context"
	"strconv"
)

type monitorKey struct{}

// WithMonitor returns a context for calls of Construct and Call that may use m. The engine sets it,
// and a host offers it to the guest as its monitor import.
func WithMonitor(ctx context.Context, m Monitor) context.Context {
	return context.WithValue(ctx, monitorKey{}, m)
}

// MonitorFrom returns the monitor of WithMonitor, or nil.
func MonitorFrom(ctx context.Context) Monitor {
	m, _ := ctx.Value(monitorKey{}).(Monitor)
	return m
}

// Perform runs an operation with the method of m that it stands for. Monitors implement Start with
// it.
func Perform(ctx context.Context, m Monitor, op Operation) (out Outcome) {
	var err error
	switch op.Case {
	case OperationCaseRegisterResource:
		out.Case = OutcomeCaseRegistered
		out.Registered, err = m.RegisterResource(ctx, op.RegisterResource)
	case OperationCaseRegisterOutputs:
		out.Case = OutcomeCaseOutputsRegistered
		err = m.RegisterOutputs(ctx, op.RegisterOutputs)
	case OperationCaseReadResource:
		out.Case = OutcomeCaseResourceRead
		out.ResourceRead, err = m.ReadResource(ctx, op.ReadResource)
	case OperationCaseInvoke:
		out.Case = OutcomeCaseInvoked
		out.Invoked, err = m.Invoke(ctx, op.Invoke)
	case OperationCaseCall:
		out.Case = OutcomeCaseCalled
		out.Called, err = m.Call(ctx, op.Call)
	default:
		err = NewError(ErrorKindInvalidArgument, "unknown operation "+strconv.Itoa(int(op.Case)))
	}
	if err != nil {
		return Outcome{Case: OutcomeCaseFailed, Failed: AsError(err)}
	}
	return out
}
