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
)

// Update is one change of a stack in its history: a deployment, or an edit by hand.
type Update struct {
	// Kind is the command, such as "up" or "state delete".
	Kind string `json:"kind"`
	// Result is "succeeded" or "failed".
	Result string    `json:"result"`
	Start  time.Time `json:"startTime"`
	End    time.Time `json:"endTime"`
	User   string    `json:"user,omitempty"`
	Host   string    `json:"host,omitempty"`
	// Changes counts what a deployment did; nil for an edit.
	Changes *engine.Changes `json:"resourceChanges,omitempty"`
}

// keptUpdates bounds a history: some months of a stack that is worked on each day, in a
// file of some 50 KB that is written anew with each update.
const keptUpdates = 200

// archive returns what keeps histories and backups, nil where the store does not.
func (w *Workspace) archive() state.Archive {
	a, _ := w.store.(state.Archive)
	return a
}

// Begun returns the beginning of an update's record.
func Begun(kind string) Update {
	h := holder(kind)
	return Update{Kind: kind, Start: h.Since.UTC(), User: h.User, Host: h.Host}
}

// Record adds an update, which has just ended with the error or none, to the stack's
// history. The caller has leased the stack.
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
	records, err := a.History(ctx, stack)
	if err == nil {
		records = append(records, record)
		err = a.SetHistory(ctx, stack, records[max(0, len(records)-keptUpdates):])
	}
	if err != nil {
		return fmt.Errorf("recording the update in the stack's history: %w", err)
	}
	return nil
}

// History returns the updates of a stack, the newest first.
func (w *Workspace) History(ctx context.Context, stack string) ([]Update, error) {
	if _, _, err := w.Read(ctx, stack, true); err != nil {
		return nil, err
	}
	a := w.archive()
	if a == nil {
		return nil, nil
	}
	records, err := a.History(ctx, w.name(stack))
	if err != nil {
		return nil, err
	}
	updates := make([]Update, len(records))
	for i, record := range records {
		if err := json.Unmarshal(record, &updates[i]); err != nil {
			return nil, fmt.Errorf("line %d of the history of the stack %s cannot be read: %w", i+1, stack, err)
		}
	}
	slices.Reverse(updates)
	return updates, nil
}

// Backup is an earlier state of a stack.
type Backup struct {
	state.BackupInfo
	// Resources counts those that deployments made.
	Resources int `json:"resources"`
}

// Backups lists the earlier states of a stack, the newest first. No key is needed.
func (w *Workspace) Backups(ctx context.Context, stack string) ([]Backup, error) {
	if _, _, err := w.Read(ctx, stack, true); err != nil {
		return nil, err
	}
	a := w.archive()
	if a == nil {
		return nil, nil
	}
	kept, err := a.Backups(ctx, w.name(stack))
	if err != nil {
		return nil, err
	}
	out := make([]Backup, len(kept))
	for i, info := range kept {
		data, err := a.Backup(ctx, w.name(stack), info.ID)
		if err != nil {
			return nil, err
		}
		snapshot, _, err := state.Decode(ctx, data, nil)
		if err != nil {
			return nil, fmt.Errorf("reading the backup %s: %w", info.ID, err)
		}
		out[i] = Backup{info, CountResources(snapshot)}
	}
	return out, nil
}

// Earlier returns the earlier states of a stack that can be read, the newest first.
func (w *Workspace) Earlier(ctx context.Context, stack string) (out []*state.Snapshot) {
	a := w.archive()
	if a == nil {
		return nil
	}
	kept, err := a.Backups(ctx, w.name(stack))
	if err != nil {
		return nil
	}
	for _, info := range kept {
		data, err := a.Backup(ctx, w.name(stack), info.ID)
		if err != nil {
			continue
		}
		if snapshot, err := w.Decode(ctx, data); err == nil {
			out = append(out, snapshot)
		}
	}
	return out
}

// Restore makes an earlier state the one of a stack again: that before the last change,
// where id is empty. The present state is a backup then.
func (w *Workspace) Restore(ctx context.Context, stack, id string) (restored *state.Snapshot, err error) {
	err = w.Edit(ctx, stack, "stack restore", func(*state.Stack) (*state.Snapshot, error) {
		a := w.archive()
		if a == nil {
			return nil, state.ErrNoBackup
		}
		if id == "" {
			kept, err := a.Backups(ctx, w.name(stack))
			if err != nil {
				return nil, err
			}
			if len(kept) == 0 {
				return nil, fmt.Errorf("there is no earlier state of the stack %s", stack)
			}
			id = kept[0].ID
		}
		data, err := a.Backup(ctx, w.name(stack), id)
		if errors.Is(err, state.ErrNoBackup) {
			return nil, fmt.Errorf("there is no earlier state %q of the stack %s: husk stack restore --list lists them", id, stack)
		}
		if err == nil {
			restored, err = w.Decode(ctx, data)
		}
		return restored, err
	})
	return restored, err
}
