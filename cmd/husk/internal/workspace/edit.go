package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

// Edit changes the state of a stack by hand: do returns what it is to be, nil for no
// change. command is what runs, for those who find the stack locked.
func (w *Workspace) Edit(ctx context.Context, stack, command string, do func(*state.Stack) (*state.Snapshot, error)) (err error) {
	st, err := w.LeaseExisting(ctx, stack, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close(context.WithoutCancel(ctx))) }()
	update := Begun(command)
	edited, err := do(st)
	if err != nil || edited == nil {
		return err
	}
	if err := st.Replace(ctx, edited); err != nil {
		return err
	}
	return w.Record(ctx, stack, update, nil)
}

// NameOf returns the full name of the stack that a user calls
// [[organization/]project/]stack. One of another project is possible.
func (w *Workspace) NameOf(given string) (state.StackName, error) {
	project, stack := splitStack(given)
	name := w.name(stack)
	if project != "" {
		name.Project = project
	}
	return name, name.Validate()
}

// Move moves what do says from a stack to another, which must be there. The other is
// saved first: a crash in between leaves the resources in both, and loses none.
func (w *Workspace) Move(ctx context.Context, stack string, to state.StackName, do func(source, target *state.Snapshot) (*edit.Moved, error)) (err error) {
	source, err := w.LeaseExisting(ctx, stack, "state move")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close(context.WithoutCancel(ctx))) }()
	if w.name(stack) == to {
		return fmt.Errorf("the resources are in the stack %s already", to)
	}
	target, err := state.Open(ctx, w.store, to, w.keys, holder("state move"))
	if err != nil {
		return w.explain(to.Name, err)
	}
	defer func() { err = errors.Join(err, target.Close(context.WithoutCancel(ctx))) }()
	update := Begun("state move")
	moved, err := do(source.Snapshot(), target.Snapshot())
	if err != nil {
		return err
	}
	if err := target.Replace(ctx, moved.Target); err != nil {
		return err
	}
	if err := source.Replace(ctx, moved.Source); err != nil {
		return err
	}
	return w.Record(ctx, stack, update, nil)
}

// Rename gives a stack another name: in its state, in the name of its configuration
// file, and where it is the selected one.
func (w *Workspace) Rename(ctx context.Context, stack, to string) (err error) {
	if err := program.CheckStackName(to); err != nil {
		return err
	}
	selected, err := w.Stack("")
	if err != nil {
		return err
	}
	from, err := w.Project.StackConfig(stack)
	if err != nil {
		return err
	}
	config, err := w.Project.StackConfig(to)
	if err != nil {
		return err
	}
	if _, err := os.Stat(config.Path); err == nil {
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
	if err := st.Rename(ctx, w.name(to), renamed); err != nil {
		return err
	}
	if err := errors.Join(w.moveHistory(ctx, stack, to), w.moveStores(stack, to)); err != nil {
		return err
	}
	if err := os.Rename(from.Path, config.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the stack is %s now, but its configuration could not be renamed: %w", to, err)
	}
	if selected == stack {
		return w.remember(to)
	}
	return nil
}

// Break takes the lock of a stack away from whoever holds it. What that run writes
// from then on is refused.
func (w *Workspace) Break(ctx context.Context, stack string) error {
	stacks, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(stacks, stack) {
		return &NoStackError{Stack: stack, Place: w.Place, Err: state.ErrStackNotFound}
	}
	return w.store.Break(ctx, w.name(stack))
}
