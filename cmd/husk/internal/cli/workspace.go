package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/workspace"
)

// ProjectDir returns the directory of the project: that of --cwd, or else the nearest at or above the current one, of
// which the user is told if it is above.
func (a *App) ProjectDir() (string, error) { return a.project() }

func (a *App) findProject() (string, error) {
	if a.Dir != "" {
		if info, err := os.Stat(a.Dir); err == nil && !info.IsDir() {
			return "", Usagef("%s is a file: --cwd takes the directory of a project", a.Dir)
		}
		return a.Dir, nil
	}
	dir, err := workspace.Find(".")
	if err == nil && dir != "." && !a.JSON {
		a.Say("Using the project in %s.", dir)
	}
	return dir, err
}

// Project reads the project file.
func (a *App) Project() (*program.Project, error) {
	dir, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	return program.LoadProject(dir)
}

// Workspace opens the project and its backend.
func (a *App) Workspace(ctx context.Context) (*workspace.Workspace, error) {
	dir, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	return workspace.Open(ctx, dir, a.WorkspaceOptions())
}

// WorkspaceOptions returns the options with which commands open a workspace.
func (a *App) WorkspaceOptions() workspace.Options {
	return workspace.Options{
		Stack:    a.Stack,
		Remark:   a.Remark,
		Store:    a.Store,
		Backends: a.Backends,
		Secrets:  a.Secrets,
	}
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
