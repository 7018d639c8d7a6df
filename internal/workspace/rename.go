package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

// renaming is a pending renaming of a stack. It is written to a file before the store renames the state,
// which is atomic. The name of the state then decides which name the project's own files get.
type renaming struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const renamingFile = "renaming.json"

// Rename renames a stack: its state, its configuration file, and the selection. The next command finishes
// or undoes a renaming that was interrupted.
func (w *Workspace) Rename(ctx context.Context, stack, to string) (err error) {
	if err := program.CheckStackName(to); err != nil {
		return err
	}
	config, err := w.Project.StackConfig(to)
	if err != nil {
		return err
	}
	if _, err := w.Project.Root.Stat(config.Path); err == nil {
		return fmt.Errorf("there is a configuration of a stack %s already: %s", to, config.Path)
	}
	st, err := w.LeaseExisting(ctx, stack, "stack rename")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close(context.WithoutCancel(ctx))) }()
	renamed, err := edit.RenameStack(st.Snapshot(), w.name(stack), w.name(to))
	if err != nil {
		return err
	}
	r := renaming{From: stack, To: to}
	if err := w.writeData(renamingFile, r); err != nil {
		return fmt.Errorf("recording that the stack %s is renamed: %w", stack, err)
	}
	if err := st.Rename(ctx, w.name(to), renamed); err != nil {
		// Nobody else can have renamed the stack during the lease.
		if stacks, listErr := w.Stacks(ctx); listErr == nil && slices.Contains(stacks, stack) {
			err = errors.Join(err, w.forgetRenaming())
		}
		return err
	}
	return errors.Join(w.forgetCopies(stack), w.follow(r))
}

func (w *Workspace) forgetRenaming() error {
	if err := w.Project.Root.WithState().Remove(w.dataPath(renamingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// follow renames the project's own files after the state was renamed. It can be repeated.
func (w *Workspace) follow(r renaming) error {
	from, err := w.Project.StackConfig(r.From)
	if err != nil {
		return err
	}
	config, err := w.Project.StackConfig(r.To)
	if err != nil {
		return err
	}
	if _, err := w.Project.Root.Stat(config.Path); errors.Is(err, fs.ErrNotExist) {
		if err := w.Project.Root.Rename(from.Path, config.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the stack is %s now, but its configuration could not be renamed: %w", r.To, err)
		}
	}
	if selected, err := w.Stack(""); err == nil && selected == r.From {
		if err := w.remember(r.To); err != nil {
			return err
		}
	}
	return w.forgetRenaming()
}

// finishRenaming finishes or undoes a renaming that was interrupted.
func (w *Workspace) finishRenaming(ctx context.Context) error {
	var r renaming
	checked, err := w.readData(renamingFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !checked {
		err = fmt.Errorf("%s is damaged: it has no checksum", w.dataPath(renamingFile))
	}
	if err != nil {
		return fmt.Errorf("a rename of a stack was interrupted, and its record cannot be read: %w; remove the file, and see the name of the stack with husk stack ls", err)
	}
	stacks, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(stacks, r.From):
		// Another command is about to rename the state, or the renaming was interrupted before that.
		lease, err := w.store.Lease(ctx, w.name(r.From), w.holder("stack rename"))
		if errors.Is(err, state.ErrLocked) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(w.forgetRenaming(), lease.Release(context.WithoutCancel(ctx)))
	case slices.Contains(stacks, r.To):
		return w.follow(r)
	}
	return w.forgetRenaming()
}
