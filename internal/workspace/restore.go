package workspace

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// Backup is an earlier state of a stack.
type Backup struct {
	state.BackupInfo
	// Resources is the number of resources that deployments made.
	Resources int `json:"resources"`
	// Damage is why the state cannot be read, empty if it can.
	Damage string `json:"damage,omitempty"`
}

// Backups lists earlier states, the newest first, also of damaged and removed stacks. It needs no key.
func (w *Workspace) Backups(ctx context.Context, stack string) ([]Backup, error) {
	kept, err := w.backups(ctx, stack)
	if err != nil {
		return nil, err
	}
	out := make([]Backup, len(kept))
	for i, info := range kept {
		out[i].BackupInfo = info
		if found, err := w.readBackup(ctx, stack, info.ID, nil); err == nil {
			out[i].Resources = CountResources(found.snapshot)
		} else {
			out[i].Damage = err.Error()
		}
	}
	return out, nil
}

func (w *Workspace) backups(ctx context.Context, stack string) (kept []state.BackupInfo, err error) {
	kept, err = w.store.Backups(ctx, w.name(stack))
	if err == nil && len(kept) == 0 {
		err = w.mustExist(ctx, stack)
	}
	return kept, err
}

// Earlier returns the earlier states of a stack that can be read, the newest first.
func (w *Workspace) Earlier(ctx context.Context, stack string) (out []*state.Snapshot) {
	kept, err := w.backups(ctx, stack)
	if err != nil {
		return nil
	}
	for _, info := range kept {
		if found, err := w.readBackup(ctx, stack, info.ID, w.keys.Open); err == nil {
			out = append(out, found.snapshot)
		}
	}
	return out
}

// Restored is the result of restoring a stack.
type Restored struct {
	// ID is the backup's.
	ID string
	// Resources is the number of resources in the state.
	Resources int
	// Unsure are resources that the damaged files name and the state lacks. The next update reports
	// them as interrupted creations.
	Unsure []urn.URN
	// Aside are the files that keep the damaged ones.
	Aside []string
}

// Restore restores an earlier state of the stack: the one with the ID, or the newest readable one if id is
// empty. The present state becomes a backup, or is put aside if it is damaged. A stack that was removed is
// made again.
func (w *Workspace) Restore(ctx context.Context, stack, id string) (*Restored, error) {
	present, _, damage := w.Read(ctx, stack, true)
	backup, err := w.findBackup(ctx, stack, id, damage)
	if err != nil {
		return nil, err
	}
	if err := w.isElsewhere(ctx, stack, backup.snapshot, present); err != nil {
		return nil, err
	}
	restored := &Restored{ID: backup.id}
	err = w.Edit(ctx, stack, "stack restore", func(*state.Stack) (*state.Snapshot, error) {
		snapshot, _, err := backup.contents.Decode(ctx, w.keys.Open)
		if err == nil {
			restored.Resources = snapshot.Len()
		}
		return snapshot, err
	})
	switch {
	case errors.Is(err, state.ErrCorrupt):
		return restored, w.mend(ctx, stack, "stack restore", func(d *state.Damaged) (bool, error) {
			mended, err := d.Restore(ctx, backup.contents)
			if err == nil {
				restored.Resources, restored.Unsure, restored.Aside = mended.Snapshot.Len(), mended.Unsure, mended.Aside
			}
			return true, err
		})
	case errors.Is(err, state.ErrStackNotFound):
		restored.Resources = backup.snapshot.Len()
		checkpoint, err := backup.codec.EncodeCheckpoint(ctx, backup.snapshot)
		if err == nil {
			err = w.store.Create(ctx, w.name(stack), checkpoint)
		}
		return restored, err
	}
	return restored, err
}

// isElsewhere returns an error if another stack has resources of an earlier state now, after a move or a
// renaming: two stacks would have them, and each could delete them. present is the present state of the
// stack, nil if it cannot be read.
func (w *Workspace) isElsewhere(ctx context.Context, stack string, earlier, present *state.Snapshot) error {
	type object struct {
		typ, id string
		created int64 // a resource keeps it wherever it goes
	}
	objectOf := func(res *state.Resource) object { return object{string(res.Type), res.ID, res.Created.UnixNano()} }
	would := make(map[object]*state.Resource)
	for _, res := range earlier.Resources() {
		if res.Custom && res.ID != "" && !res.Created.IsZero() && !res.IsProvider() {
			would[objectOf(res)] = res
		}
	}
	if present != nil {
		for _, res := range present.Resources() {
			delete(would, objectOf(res))
		}
	}
	names, err := w.store.List(ctx)
	if err != nil || len(would) == 0 {
		return err
	}
	ctx = state.Together(ctx)
	for _, name := range names {
		if name == w.name(stack) {
			continue
		}
		other, _, err := state.Load(ctx, w.store, name, nil)
		if err != nil {
			continue // damage of another stack prevents nothing
		}
		for _, res := range other.Resources() {
			if mine := would[objectOf(res)]; mine != nil {
				return fmt.Errorf("%s has moved to the stack %s, as %s: restoring this state would put it into two stacks, and each could delete the object. "+
					"Name a later state (husk stack restore --list), or remove the resource from %s with husk state delete", mine.URN, name, res.URN, name)
			}
		}
	}
	return nil
}

// backup is an earlier state that can be read.
type backup struct {
	id       string
	contents *state.Contents
	snapshot *state.Snapshot
	codec    *state.Codec
}

// findBackup returns the backup with the ID, or the newest readable one if id is empty. damage is the error
// of reading the stack, if any.
func (w *Workspace) findBackup(ctx context.Context, stack, id string, damage error) (*backup, error) {
	kept, err := w.backups(ctx, stack)
	if err != nil {
		return nil, err
	}
	if id != "" {
		found, err := w.readBackup(ctx, stack, id, nil)
		if errors.Is(err, state.ErrNoBackup) {
			err = fmt.Errorf("there is no earlier state %q of the stack %s: husk stack restore --list lists them", id, stack)
		}
		return found, err
	}
	// If the checkpoint is not damaged, an earlier state would lose more than repairing the journal.
	if d, ok := errors.AsType[*state.CorruptError](damage); ok && d.Journal {
		return nil, fmt.Errorf("%w; to restore an earlier state anyway, name it: husk stack restore --list lists them", damage)
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("there is no earlier state of the stack %s", stack)
	}
	var errs []error
	for _, info := range kept {
		found, err := w.readBackup(ctx, stack, info.ID, nil)
		if err == nil {
			return found, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no earlier state of the stack %s can be read: %w", stack, errors.Join(errs...))
}

// readBackup reads a backup. Its secrets are sealed if open is nil.
func (w *Workspace) readBackup(ctx context.Context, stack, id string, open state.OpenSecrets) (*backup, error) {
	contents, err := w.store.Backup(ctx, w.name(stack), id)
	if err != nil {
		return nil, err
	}
	snapshot, codec, err := contents.Decode(ctx, open)
	return &backup{id, contents, snapshot, codec}, err
}

// SalvageJournal saves the state of a stack up to the damage of its journal, if confirm returns nil. It also
// returns the file that keeps the journal. Without damage it does nothing, and the salvage has no Damage.
func (w *Workspace) SalvageJournal(ctx context.Context, stack string, confirm func(*state.Salvage) error) (salvage *state.Salvage, aside []string, err error) {
	err = w.mend(ctx, stack, "state repair", func(d *state.Damaged) (done bool, err error) {
		if salvage, err = d.Salvage(ctx); err != nil || salvage.Damage == nil {
			return false, err
		}
		if err := confirm(salvage); err != nil {
			return false, err
		}
		aside, err = d.Reset(ctx, salvage.Snapshot, salvage.Codec)
		return true, err
	})
	return salvage, aside, err
}

// CheckImport refuses a state that the next update would destroy, because its resources have the names of
// another stack, or that is inconsistent, or a checkpoint that is not as it was written.
func (w *Workspace) CheckImport(stack string, s *state.Snapshot, data []byte) error {
	project := w.Project.Name
	for _, r := range s.Resources() {
		if r.URN.Project() != project || r.URN.Stack() != stack {
			return fmt.Errorf("the export is from the stack %s/%s, and would replace the resources of this stack, %s/%s",
				r.URN.Project(), r.URN.Stack(), project, stack)
		}
	}
	if err := s.Verify(); err != nil {
		return fmt.Errorf("the export is inconsistent: %w", err)
	}
	if err := filestore.Verify(data); err != nil {
		return fmt.Errorf("the checkpoint was damaged, or changed by hand: %w", err)
	}
	return nil
}

// Import replaces the state of a stack, which may be damaged, by a snapshot. It makes the default stack if
// there is none, and returns the files that keep damaged ones.
func (w *Workspace) Import(ctx context.Context, stack string, snapshot *state.Snapshot, codec *state.Codec) (aside []string, err error) {
	st, err := w.Lease(ctx, stack, "stack import")
	if errors.Is(err, state.ErrCorrupt) {
		err = w.mend(ctx, stack, "stack import", func(d *state.Damaged) (done bool, err error) {
			aside, err = d.Reset(ctx, snapshot, codec)
			return true, err
		})
		return aside, err
	}
	if err != nil {
		return nil, err
	}
	update := w.Begun("stack import")
	err = st.Replace(ctx, snapshot)
	return nil, errors.Join(err, w.Record(ctx, stack, update, err), st.Close(context.WithoutCancel(ctx)))
}

// mend changes a damaged stack, and records that in its history if do has done it.
func (w *Workspace) mend(ctx context.Context, stack, command string, do func(*state.Damaged) (done bool, err error)) (err error) {
	if err := w.mayOpen(ctx, stack); err != nil {
		return err
	}
	d, err := state.OpenDamaged(ctx, w.store, w.name(stack), w.holder(command))
	if err != nil {
		return w.explain(stack, err)
	}
	w.tokens.Delete(w.name(stack)) // those are of earlier leases
	defer func() { err = errors.Join(err, d.Close(ctx)) }()
	update := w.Begun(command)
	if done, err := do(d); !done || err != nil {
		return err
	}
	return w.Record(ctx, stack, update, nil)
}
