package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/engine/state"
)

// Ending has the data that a run saves beside the state of its stack when its lease ends.
type Ending struct {
	// Updates is the history of the stack for [state.Store.SetHistory], in which only the last record is new. None
	// leave the history as it is.
	Updates [][]byte
	// Run is the ID of the record of the run for [History.Put], and Record is the record. Run is empty if there is none.
	Run    string
	Record []byte
	// Modules are the digests of modules that the run has used, and that the state named when it began: nobody removes them.
	Modules []string
}

// A LostRecordError says why the record of a run could not be stored.
type LostRecordError struct{ Err error }

func (e *LostRecordError) Error() string { return e.Err.Error() }
func (e *LostRecordError) Unwrap() error { return e.Err }

// Ended says which parts [Backend.Release] has done.
type Ended struct {
	// Missing are the digests of modules that may not be stored: each is to be kept by [Modules.Put].
	Missing []string
	// Err is the error about the history and the lease, and Lost the one about the record of the run.
	Err, Lost error
}

// Release ends a lease after storing what its run leaves beside the state.
func (b *Backend) Release(ctx context.Context, stack state.StackName, l state.Lease, e Ending) Ended {
	if b.End != nil {
		missing, err := b.End(ctx, l, e)
		if lost := (*LostRecordError)(nil); errors.As(err, &lost) {
			return Ended{Missing: missing, Lost: lost.Err}
		}
		if err == nil || errors.Is(err, ErrUnreachable) {
			return Ended{Missing: missing, Err: err}
		}
		// If one part cannot be stored, the rest is still done.
	}
	out := Ended{Missing: e.Modules}
	held := WithToken(ctx, l.Token())
	if len(e.Updates) > 0 {
		out.Err = NotRecorded(b.State.SetHistory(held, stack, e.Updates))
	}
	out.Err = errors.Join(out.Err, l.Release(ctx))
	if e.Run != "" {
		out.Lost = b.History.Put(held, stack, e.Run, e.Record)
	}
	return out
}

// NotRecorded returns the error of an update that is not in the history because of an error, nil for none.
func NotRecorded(err error) error {
	if err != nil {
		err = fmt.Errorf("recording the update in the stack's history: %w", err)
	}
	return err
}

// Updates has the histories that holders of leases have read together with the states of their stacks, which nobody
// else changes while the leases last. It is safe for concurrent use.
type Updates struct {
	mu   sync.Mutex
	read map[state.StackName]readUpdates
}

type readUpdates struct {
	token   uint64
	records [][]byte
}

// Keep keeps the updates that the holder of the lease with a token has read.
func (u *Updates) Keep(stack state.StackName, token uint64, records [][]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.read == nil {
		u.read = make(map[state.StackName]readUpdates)
	}
	u.read[stack] = readUpdates{token, records}
}

// Take removes and returns the updates that are kept for the token of a context.
func (u *Updates) Take(ctx context.Context, stack state.StackName) (records [][]byte, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	kept, ok := u.read[stack]
	if !ok || kept.token != Token(ctx) {
		return nil, false
	}
	delete(u.read, stack)
	return kept.records, true
}
