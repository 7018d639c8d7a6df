package capability

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// DeniedMonitor refuses outside of calls that may use the monitor.
type DeniedMonitor struct{}

func (d DeniedMonitor) refuse() error {
	return Failure(abi.ErrorKindDenied, "the monitor can be used only while a component is constructed or called")
}

func (d DeniedMonitor) RegisterResource(context.Context, abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return abi.RegisterResourceResponse{}, d.refuse()
}

func (d DeniedMonitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error {
	return d.refuse()
}

func (d DeniedMonitor) ReadResource(context.Context, abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return abi.ReadResourceResponse{}, d.refuse()
}

func (d DeniedMonitor) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{}, d.refuse()
}

func (d DeniedMonitor) Call(context.Context, abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	return abi.MonitorCallResponse{}, d.refuse()
}

func (d DeniedMonitor) RegisterPackage(context.Context, abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return abi.RegisterPackageResponse{}, d.refuse()
}

func (d DeniedMonitor) Start(context.Context, abi.Operation) (abi.OperationHandle, error) {
	return 0, d.refuse()
}

func (d DeniedMonitor) Wait(context.Context) (abi.Completed, error) {
	return abi.Completed{}, d.refuse()
}

// operationBytes is the memory of a running operation beside its request, in bytes.
const operationBytes = 4 << 10

// Monitor is the monitor for one call. The arguments of an operation that the guest starts are held until it has waited for the
// operation, or the call ends.
type Monitor struct {
	abi.Monitor
	ledger Ledger
	// started has the bytes held for each operation.
	started map[abi.OperationHandle]uint64
}

// NewMonitor returns the monitor of one call.
func NewMonitor(m abi.Monitor, l Ledger) *Monitor { return &Monitor{Monitor: m, ledger: l} }

// Start begins an operation.
func (m *Monitor) Start(ctx context.Context, op abi.Operation) (abi.OperationHandle, error) {
	bytes := m.ledger.Passing() + operationBytes
	if err := m.ledger.Hold("starting an operation", bytes); err != nil {
		return 0, err
	}
	handle, err := m.Monitor.Start(ctx, op)
	if err != nil {
		m.ledger.Release(bytes)
		return 0, err
	}
	if m.started == nil {
		m.started = make(map[abi.OperationHandle]uint64)
	}
	m.started[handle] = bytes
	return handle, nil
}

// Wait returns the next operation that ended.
func (m *Monitor) Wait(ctx context.Context) (abi.Completed, error) {
	done, err := m.Monitor.Wait(ctx)
	if err == nil {
		m.ledger.Release(m.started[done.Handle])
		delete(m.started, done.Handle)
	}
	return done, err
}

// End gives back the memory of operations that the guest has not waited for.
func (m *Monitor) End() {
	for _, bytes := range m.started {
		m.ledger.Release(bytes)
	}
	m.started = nil
}
