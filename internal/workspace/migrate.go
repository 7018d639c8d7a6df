package workspace

import (
	"context"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/sealed"
)

// Migrate moves stacks of the project to another backend: those named, or all. moved receives each. A move
// that was cut off goes on.
func (w *Workspace) Migrate(ctx context.Context, to *backend.Backend, stacks []string, moved func(stack string)) error {
	if w.backend.Place == to.Place {
		return fmt.Errorf("the stacks are in %s already", to.Place)
	}
	if to.Check != nil {
		if err := to.Check(ctx); err != nil {
			return err
		}
	}
	if stacks == nil {
		var err error
		if stacks, err = w.Stacks(ctx); err != nil {
			return err
		}
		left, err := backend.Staged(ctx, to)
		if err != nil {
			return err
		}
		for _, name := range left {
			if name.Project == w.Project.Name && !slices.Contains(stacks, name.Name) {
				stacks = append(stacks, name.Name)
			}
		}
	}
	m := backend.Migration{
		From: w.backend, Holder: w.holder("stack migrate"), Modules: engine.Modules,
		Fold: func(ctx context.Context, name state.StackName) error {
			st, err := state.Open(ctx, w.store, name, w.keys, w.holder("stack migrate"))
			if err != nil {
				return err
			}
			return st.Close(ctx)
		},
	}
	for _, stack := range stacks {
		// The copy is encrypted as the stack is, or as the project says.
		mode := sealed.Keep
		switch isSealed, err := w.sealing.IsSealed(ctx, w.name(stack)); {
		case err != nil:
			return w.explain(stack, err)
		case w.Project.Encryption == program.EncryptAll, isSealed && w.Project.Encryption == "":
			mode = sealed.Full
		}
		m.To = sealed.New(to, w.keys, mode).Backend()
		if err := m.Move(ctx, w.name(stack)); err != nil {
			return w.explain(stack, err)
		}
		if err := w.forgetCopies(stack); err != nil {
			return err
		}
		moved(stack)
	}
	return w.noteMove(ctx, to)
}

// Everything returns the names of all stacks of the backend, of this and other projects, sorted.
func (w *Workspace) Everything(ctx context.Context) ([]state.StackName, error) {
	return w.store.List(ctx)
}

// ReadAny is Read without secrets for a stack of any project.
func (w *Workspace) ReadAny(ctx context.Context, name state.StackName) (*state.Snapshot, error) {
	snapshot, _, err := state.Load(ctx, w.store, name, nil)
	return snapshot, err
}

// CollectShared removes modules from the backend that no stack names any more.
func (w *Workspace) CollectShared(ctx context.Context) error {
	return w.backend.Modules.Collect(ctx, func() (map[string]bool, error) { return w.ModulesInUse(ctx, nil) })
}

// Close ends the connections to the backend.
func (w *Workspace) Close() {
	if w.backend.Close != nil {
		w.backend.Close()
	}
}
