package deploycmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
	"github.com/husk-dev/husk/internal/workspace/validation"
)

func (a commands) validate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the project and its program, without state, lock, or secrets",
		Long: "Checks the project file and the program against the schemas of their providers, as a preview does, but\n" +
			"without the state, the lock, and the secrets of a stack. So it can run without them, for example in the\n" +
			"CI of a pull request. It loads providers for their schemas, and reads no resource. Encrypted or missing\n" +
			"configuration may have any value.\n\n" +
			"The exit code is 1 if there are errors, and 0 if there are only warnings.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, ds, err := a.problems(cmd.Context())
			if found := (source.Diagnostics)(nil); errors.As(err, &found) {
				ds, err = append(ds, found...), nil
			}
			if err != nil {
				return err
			}
			return a.report(name, ds)
		},
	}
}

// problems returns the problems of the project, and the name of its stack.
func (a commands) problems(ctx context.Context) (stack string, ds source.Diagnostics, err error) {
	project, err := a.Project(ctx)
	if err != nil {
		return "", nil, err
	}
	if stack, err = workspace.StackOf(project, a.Stack); err != nil {
		return "", project.Warnings, err
	}
	err = a.WithPlugins(ctx, project, func(p *plugins.Plugins) error {
		ds, err = validation.Check(ctx, project, stack, p, p.Evaluation())
		return err
	})
	return stack, ds, err
}

// report shows the problems. Its error is of errors that it has shown.
func (a commands) report(stack string, ds source.Diagnostics) error {
	err := ds.Err()
	if a.JSON {
		if err := a.WriteJSON(newValidated(ds)); err != nil {
			return err
		}
	} else {
		if len(ds) > 0 {
			display.WriteErrors(a.Errs, ds)
		}
		if err == nil {
			return a.Printf("The program is valid for the stack %s.\n", stack)
		}
	}
	if err != nil {
		return cli.Shown(err)
	}
	return nil
}

// validated is the JSON of a validation.
type validated struct {
	Valid       bool      `json:"valid"`
	Diagnostics []problem `json:"diagnostics"`
}

// problem is the JSON of a diagnostic. Line and column count from 1; they are left out for a whole file.
type problem struct {
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail,omitempty"`
}

func newValidated(ds source.Diagnostics) validated {
	v := validated{Valid: !ds.HasErrors(), Diagnostics: []problem{}}
	for _, d := range ds {
		v.Diagnostics = append(v.Diagnostics, problem{d.Severity.String(), d.File, d.Line, d.Column, d.Summary, d.Detail})
	}
	return v
}
