package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/workspace"
)

// Workspace opens the project and its backend.
func (a *App) Workspace(ctx context.Context) (*workspace.Workspace, error) {
	return workspace.Open(ctx, a.Dir, workspace.Options{
		Stack:   a.Stack,
		Remark:  a.Remark,
		Store:   a.Store,
		Secrets: a.Secrets,
	})
}

// CurrentStack opens the project and returns the stack to work on.
func (a *App) CurrentStack(ctx context.Context) (*workspace.Workspace, string, error) {
	w, err := a.Workspace(ctx)
	if err != nil {
		return nil, "", err
	}
	stack, err := w.Stack(a.Stack)
	return w, stack, err
}

// OnStack opens the project and the stack that the flags name.
func (a *App) OnStack(do func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error) Run {
	return func(cmd *cobra.Command, args []string) error {
		w, stack, err := a.CurrentStack(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), w, stack, args)
	}
}
