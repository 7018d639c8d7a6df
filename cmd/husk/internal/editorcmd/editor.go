// Package editorcmd has the commands for editors: the language server, and the JSON Schema of the project file.
package editorcmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.lsp(), c.schema()}
}

func (a commands) lsp() *cobra.Command {
	var stdio bool
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor as a language server",
		Long: "Serves an editor over standard input and output, with the Language Server Protocol.\n" +
			"Editors start it: see docs/editors.md. It checks projects as a preview does, while they are\n" +
			"typed, and completes and explains what the schemas of their providers have. It runs no\n" +
			"program, and needs neither a state nor a passphrase. Providers are loaded for their schemas.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if display.IsTerminal(a.In) {
				return cli.Usagef("husk lsp is for editors, which start it: see docs/editors.md; husk validate checks the project here")
			}
			if err := a.WithWhole("the language server"); err != nil {
				return err
			}
			o, err := a.PluginOptions()
			if err != nil {
				return err
			}
			o.Events = func(e engine.Event) {
				if _, shown := e.(engine.Preparing); !shown { // as progress, while some editors take this for errors
					a.SayEvent(e)
				}
			}
			return a.Parts.ServeEditor(cmd.Context(), a.App, o)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", true, "use standard input and output, as always: some editors add this flag")
	_ = cmd.Flags().MarkHidden("stdio")
	return cmd
}

func (a commands) schema() *cobra.Command {
	cmd := &cobra.Command{Use: "schema", Short: "Show JSON Schemas of the files that Husk reads"}
	a.AddLimits(cmd.PersistentFlags())
	return cli.Group(cmd, nil, a.schemaProject())
}

func (a commands) schemaProject() *cobra.Command {
	var withPackages bool
	cmd := &cobra.Command{
		Use:   "project",
		Short: "Show the JSON Schema of the project file",
		Long: "Writes the JSON Schema (draft 7) of the project file, for editors and other tools. In a project,\n" +
			"it has the types of the project's packages. --packages=false leaves them out, and loads no provider.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			project, err := a.Project(cmd.Context())
			none := (*program.NoProjectError)(nil)
			given := cmd.Flags().Changed("packages")
			var packages []*schema.Package
			switch {
			case !withPackages, errors.As(err, &none) && !given && a.Dir == "":
			case err != nil:
				return err
			default:
				if packages, err = a.packages(cmd.Context(), project); err != nil {
					return err
				}
			}
			text, err := projectschema.With(packages)
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return cli.Writing(err)
		},
	}
	cmd.Flags().BoolVar(&withPackages, "packages", true, "include the types of the project's packages")
	return cmd
}

// packages returns the packages of a project that have schemas.
func (a commands) packages(ctx context.Context, project *program.Project) (all []*schema.Package, err error) {
	err = a.WithPlugins(ctx, project, func(p *plugins.Plugins) error {
		seen := map[string]bool{}
		add := func(name string) error {
			if seen[name] {
				return nil
			}
			seen[name] = true
			s, err := p.Package(ctx, project.Package(name))
			if s != nil {
				all = append(all, s)
			}
			return err
		}
		var errs []error
		for _, declared := range project.Providers {
			errs = append(errs, add(declared.Name))
		}
		for _, declared := range project.Packages {
			errs = append(errs, add(declared.Name))
		}
		return errors.Join(errs...)
	})
	return all, err
}
