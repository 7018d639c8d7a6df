package main

import (
	"context"
	"sync/atomic"

	"github.com/husk-dev/husk/engine/state"
)

// counting is a store that counts the bytes of journal records.
type counting struct {
	state.Store
	written atomic.Int64
}

// Lease implements state.Store.
func (c *counting) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, err := c.Store.Lease(ctx, name, holder)
	return &countingLease{l, &c.written}, err
}

// LeaseAndLoad implements state.Store.
func (c *counting) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, c, name, holder)
}

type countingLease struct {
	state.Lease
	written *atomic.Int64
}

// Append implements state.Lease.
func (l *countingLease) Append(ctx context.Context, sequence uint64, record []byte) error {
	l.written.Add(int64(len(record)))
	return l.Lease.Append(ctx, sequence, record)
}
