package host

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// operationBytes is what an operation takes beside its request, in bytes, while it is under way.
const operationBytes = 4 << 10

// guestMonitor is the monitor for one call. What the guest passes to an operation that it starts is
// held until it has waited for that, or the call ends.
type guestMonitor struct {
	abi.Monitor
	ledger *ledger
	// started has what is held for each operation, in bytes.
	started map[abi.OperationHandle]uint64
}

// Start begins an operation.
func (m *guestMonitor) Start(ctx context.Context, op abi.Operation) (abi.OperationHandle, error) {
	bytes := m.ledger.passing + operationBytes
	if err := m.ledger.Hold("starting an operation", bytes); err != nil {
		return 0, err
	}
	handle, err := m.Monitor.Start(ctx, op)
	if err != nil {
		m.ledger.release(bytes)
		return 0, err
	}
	if m.started == nil {
		m.started = make(map[abi.OperationHandle]uint64)
	}
	m.started[handle] = bytes
	return handle, nil
}

// Wait returns the next operation that ended.
func (m *guestMonitor) Wait(ctx context.Context) (abi.Completed, error) {
	done, err := m.Monitor.Wait(ctx)
	if err == nil {
		m.ledger.release(m.started[done.Handle])
		delete(m.started, done.Handle)
	}
	return done, err
}

// end gives back what is held for operations that the guest has not waited for.
func (m *guestMonitor) end() {
	for _, bytes := range m.started {
		m.ledger.release(bytes)
	}
	m.started = nil
}
