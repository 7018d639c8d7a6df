package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace"
)

// ProjectDir returns the directory of the project: the directory of --cwd, or else the nearest at or above the current one. If it
// is above, the user is told.
func (a *App) ProjectDir() (string, error) { return a.project() }

func (a *App) findProject() (string, error) {
	if a.Dir != "" {
		if info, err := os.Stat(a.Dir); err == nil && !info.IsDir() {
			return "", Usagef("%s is a file: --cwd takes the directory of a project", a.Dir)
		}
		return a.Dir, nil
	}
	dir, err := workspace.Find(".")
	if err == nil && dir != "." && !a.JSON && !a.Continues {
		a.Say("Using the project in %s.", dir)
	}
	return dir, err
}

// Root returns the root that opens the files of the project, with the user's trust in it.
func (a *App) Root() (*projectroot.Root, error) {
	if a.OpensNone {
		return nil, errors.New("this command opens no project that is not trusted")
	}
	dir, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	return a.RootOf(dir), nil
}

// RootOf is [App.Root] for the project in a directory.
func (a *App) RootOf(dir string) *projectroot.Root {
	if a.isUntrusted() {
		root := projectroot.New(dir, projectroot.Untrusted)
		if a.Setup.Files != "" {
			root = root.Within(a.Setup.Files)
		}
		return root
	}
	return projectroot.New(dir, projectroot.Trusted)
}

// Project reads the project file.
func (a *App) Project(ctx context.Context) (*program.Project, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	if a.Pulumi != nil && a.Pulumi.Project != nil {
		return program.ParseProject(ctx, root, projectName, a.Pulumi.Project)
	}
	return program.LoadProject(ctx, root)
}

// Workspace opens the project and its backend.
func (a *App) Workspace(ctx context.Context) (*workspace.Workspace, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	return workspace.Open(ctx, root, a.WorkspaceOptions())
}

// WhoAmI returns the user, and the backend of the project.
func (a *App) WhoAmI(ctx context.Context) (*workspace.Who, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	return workspace.WhoAmI(ctx, root, a.WorkspaceOptions())
}

// WorkspaceOptions returns the options with which commands open a workspace.
func (a *App) WorkspaceOptions() workspace.Options {
	var project []byte
	if a.Pulumi != nil {
		project = a.Pulumi.Project
	}
	return workspace.Options{
		File: project, FileName: projectName,
		Stack:    a.Stack,
		Remark:   a.Remark,
		Store:    a.Store,
		Backends: a.Backends,
		Secrets:  a.Secrets,
		Backend:  a.Setup.Backend,
		Withheld: a.Setup.Withheld,
		Project:  a.Setup.Project,
		Run:      a.Setup.Run,
		By:       a.Setup.By,
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

// OnConfig opens the project and the configuration of the stack that the flags name.
func (a *App) OnConfig(do func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error) Run {
	return a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
		c, err := w.Config(stack)
		if err != nil {
			return err
		}
		return do(ctx, w, c, args)
	})
}
