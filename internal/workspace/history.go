package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// Update is a change in a stack's history: a deployment, or an edit by hand.
type Update struct {
	// Kind is the command, such as "up" or "state delete".
	Kind string `json:"kind"`
	// Result is "succeeded" or "failed".
	Result string `json:"result"`
	// Version numbers the updates of a stack from 1. Message says what one is for.
	Version int       `json:"version,omitempty"`
	Message string    `json:"message,omitempty"`
	Start   time.Time `json:"startTime"`
	End     time.Time `json:"endTime"`
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host,omitempty"`
	// Run is the ID of the server's run that it was: User is who asked for that, and Host is empty.
	Run string `json:"run,omitempty"`
	// Changes counts the changes of a deployment; nil for an edit.
	Changes *engine.Changes `json:"resourceChanges,omitempty"`
}

// keptUpdates bounds a history: months of daily work, in some 50 KB, which each update rewrites.
const keptUpdates = 200

// Begun returns the record of an update that begins.
func (w *Workspace) Begun(kind string) Update {
	h := w.holder(kind)
	u := Update{Kind: kind, Start: h.Since.UTC(), User: h.User, Host: h.Host, Run: w.run}
	if w.run != "" {
		u.Host = "" // who asked for the run was not there
	}
	return u
}

// Record adds an update, which has just ended with an error or none, to the history of a leased stack.
func (w *Workspace) Record(ctx context.Context, stack string, u Update, failed error) error {
	return w.record(ctx, w.name(stack), u, failed)
}

func (w *Workspace) record(ctx context.Context, stack state.StackName, u Update, failed error) error {
	records, err := w.with(ctx, stack, u.Ended(failed))
	if err == nil {
		err = w.store.SetHistory(w.fence(ctx, stack), stack, records)
	}
	return backend.NotRecorded(err)
}

// Ended returns the record of an update that has just ended with an error or none.
func (u Update) Ended(failed error) Update {
	u.Result, u.End = "succeeded", time.Now().UTC()
	if failed != nil {
		u.Result = "failed"
	}
	return u
}

// with returns the history of a stack with one more update.
func (w *Workspace) with(ctx context.Context, stack state.StackName, u Update) ([][]byte, error) {
	records, err := w.store.History(w.fence(ctx, stack), stack)
	if err != nil {
		return nil, err
	}
	var last Update
	if n := len(records); n > 0 && (json.Unmarshal(records[n-1], &last) != nil || last.Version == 0) {
		last.Version = n // of an earlier version of husk, or damaged
	}
	u.Version = last.Version + 1
	record, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	records = append(slices.Clip(records), record)
	return records[max(0, len(records)-keptUpdates):], nil
}

// Ending has the data that a run saves when it ends.
type Ending struct {
	// Update is for the history of the stack, nil for none.
	Update *Update
	// Run is the ID of the record of the run, empty if there is none. Record returns the record of the run, whose update
	// could not be added to the history because of an error, or could.
	Run    string
	Record func(failed error) ([]byte, error)
	// Modules are the digests of modules that the run has used, and the state named before.
	Modules []string
}

// Release stores the data that a run saves, and ends the lease of its stack. err is an error of the history, the lease, or
// modules, and lost an error of the run's record.
func (w *Workspace) Release(ctx context.Context, l state.Lease, stack string, e Ending) (err, lost error) {
	out := backend.Ending{Modules: e.Modules}
	name := w.name(stack)
	if e.Update != nil {
		out.Updates, err = w.with(ctx, name, *e.Update)
		err = backend.NotRecorded(err)
	}
	if e.Run != "" && w.isCopied(stack) {
		if out.Record, lost = e.Record(err); lost == nil {
			out.Run = e.Run
		}
	}
	ended := w.backend.Release(ctx, name, l, out)
	err, lost = errors.Join(err, ended.Err), notKept(w.Place, errors.Join(lost, ended.Lost))
	for _, digest := range ended.Missing {
		put := w.backend.Modules.Put(ctx, digest, func() ([]byte, error) { return w.backend.CopyOfModule(digest) })
		if put != nil {
			err = errors.Join(err, fmt.Errorf("keeping the module %s beside the state: %w", digest, put))
		}
	}
	return err, lost
}

// History returns the updates of a stack, the newest first, even if its state is damaged. damaged
// counts the updates that are left out because they cannot be read.
func (w *Workspace) History(ctx context.Context, stack string) (updates []Update, damaged int, err error) {
	if err := w.mustExist(ctx, stack); err != nil {
		return nil, 0, err
	}
	records, err := w.store.History(ctx, w.name(stack))
	if err != nil {
		return nil, 0, err
	}
	for _, record := range slices.Backward(records) {
		var u Update
		if json.Unmarshal(record, &u) != nil {
			damaged++
			continue
		}
		updates = append(updates, u)
	}
	return updates, damaged, nil
}
