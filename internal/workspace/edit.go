package workspace

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
)

// Edit changes the state of a stack by hand. do returns the new state, nil for no change. command is for
// users who find the stack locked.
func (w *Workspace) Edit(ctx context.Context, stack, command string, do func(*state.Stack) (*state.Snapshot, error)) (err error) {
	st, err := w.LeaseExisting(ctx, stack, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close(context.WithoutCancel(ctx))) }()
	update := w.Begun(command)
	edited, err := do(st)
	if err != nil || edited == nil {
		return err
	}
	if err := st.Replace(ctx, edited); err != nil {
		return err
	}
	return w.Record(ctx, stack, update, nil)
}

// NameOf returns the full name of a stack, [[organization/]project/]stack, of this or another project.
func (w *Workspace) NameOf(given string) (state.StackName, error) {
	project, stack := splitStack(given)
	name := w.name(stack)
	if project != "" {
		name.Project = project
	}
	return name, name.Validate()
}

// Move moves the resources that do selects from a stack to another, which must exist. A crash leaves them
// in one of the two.
func (w *Workspace) Move(ctx context.Context, stack string, to state.StackName, do func(source, target *state.Snapshot) (*edit.Moved, error)) (err error) {
	source, err := w.LeaseExisting(ctx, stack, "state move")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close(context.WithoutCancel(ctx))) }()
	if w.name(stack) == to {
		return fmt.Errorf("the resources are in the stack %s already", to)
	}
	target, err := state.Open(ctx, w.store, to, w.keys, w.holder("state move"))
	if err != nil {
		return w.explain(to.Name, err)
	}
	w.leased(target)
	defer func() { err = errors.Join(err, target.Close(context.WithoutCancel(ctx))) }()
	update := w.Begun("state move")
	moved, err := do(source.Snapshot(), target.Snapshot())
	if err != nil {
		return err
	}
	if err := state.ReplaceBoth(ctx, source, moved.Source, target, moved.Target); err != nil {
		return err
	}
	return errors.Join(w.record(ctx, w.name(stack), update, nil), w.record(ctx, to, update, nil))
}

// Break releases the lock of a stack. Later writes of the run that held it are refused.
func (w *Workspace) Break(ctx context.Context, stack string) error {
	if err := w.mustExist(ctx, stack); err != nil {
		return err
	}
	return w.store.Break(ctx, w.name(stack))
}
