package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
)

// Update is a change in a stack's history: a deployment, or an edit by hand.
type Update struct {
	// Kind is the command, such as "up" or "state delete".
	Kind string `json:"kind"`
	// Result is "succeeded" or "failed".
	Result string    `json:"result"`
	Start  time.Time `json:"startTime"`
	End    time.Time `json:"endTime"`
	User   string    `json:"user,omitempty"`
	Host   string    `json:"host,omitempty"`
	// Changes counts the changes of a deployment; nil for an edit.
	Changes *engine.Changes `json:"resourceChanges,omitempty"`
}

// keptUpdates bounds a history: months of daily work, in some 50 KB, which each update rewrites.
const keptUpdates = 200

// archive returns the archive of histories and backups, nil if the store has none.
func (w *Workspace) archive() state.Archive {
	a, _ := w.store.(state.Archive)
	return a
}

// Begun returns the record of an update that begins.
func Begun(kind string) Update {
	h := holder(kind)
	return Update{Kind: kind, Start: h.Since.UTC(), User: h.User, Host: h.Host}
}

// Record adds an update, which has just ended with an error or none, to the history of a leased stack.
func (w *Workspace) Record(ctx context.Context, stack string, u Update, failed error) error {
	return w.record(ctx, w.name(stack), u, failed)
}

func (w *Workspace) record(ctx context.Context, stack state.StackName, u Update, failed error) error {
	u.Result, u.End = "succeeded", time.Now().UTC()
	if failed != nil {
		u.Result = "failed"
	}
	a := w.archive()
	if a == nil {
		return nil
	}
	record, err := json.Marshal(u)
	if err != nil {
		return err
	}
	records, err := w.updates(ctx, a, stack)
	if err == nil {
		records = append(slices.Clip(records), record)
		err = a.SetHistory(w.fence(ctx, stack), stack, records[max(0, len(records)-keptUpdates):])
	}
	if err != nil {
		return fmt.Errorf("recording the update in the stack's history: %w", err)
	}
	return nil
}

// prepared is the history of a stack that is read while the lease with the token lasts: nobody else changes it.
type prepared struct {
	token   uint64
	done    chan struct{}
	records [][]byte
	err     error
}

// PrepareRecord begins to read what [Workspace.Record] needs of a leased stack. The run does not wait for it.
func (w *Workspace) PrepareRecord(ctx context.Context, stack string) {
	a, name := w.archive(), w.name(stack)
	if a == nil || !w.backend.Remote {
		return
	}
	p := &prepared{token: w.token(name), done: make(chan struct{})}
	w.prepared.Store(name, p)
	ctx = w.fence(context.WithoutCancel(ctx), name)
	go func() {
		p.records, p.err = a.History(ctx, name)
		close(p.done)
	}()
}

// updates returns the history of a stack.
func (w *Workspace) updates(ctx context.Context, a state.Archive, stack state.StackName) ([][]byte, error) {
	if was, ok := w.prepared.LoadAndDelete(stack); ok {
		if p := was.(*prepared); p.token == w.token(stack) {
			<-p.done
			if p.err == nil {
				return p.records, nil
			}
		}
	}
	return a.History(w.fence(ctx, stack), stack)
}

// History returns the updates of a stack, the newest first, even if its state is damaged. damaged
// counts the updates that are left out because they cannot be read.
func (w *Workspace) History(ctx context.Context, stack string) (updates []Update, damaged int, err error) {
	if err := w.mustExist(ctx, stack); err != nil {
		return nil, 0, err
	}
	a := w.archive()
	if a == nil {
		return nil, 0, nil
	}
	records, err := a.History(ctx, w.name(stack))
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
