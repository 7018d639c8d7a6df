// Package providercmd has the commands for provider modules and packages.
package providercmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

// commands are those for provider modules and packages.
type commands struct{ *cli.App }

// Commands returns the commands of this package, with more commands for providers.
func Commands(a *cli.App, more ...*cobra.Command) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.providerCommand(more), c.packageCommand()}
}

func (a commands) providerCommand(more []*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: "provider", Short: "Build, inspect, and test provider modules"}
	a.AddLimits(cmd.PersistentFlags())
	return cli.Group(cmd, nil, append([]*cobra.Command{
		a.providerBuild(), a.providerPort(), a.providerCompile(), a.providerInspect(), a.providerSchema(), a.providerList(), a.providerMapping(),
		a.providerShow(), a.providerDocs(), a.providerCall(), a.providerInvoke(), a.providerTest(), a.providerAudit(), a.providerServe(), a.providerShim(), a.providerPlugin(),
	}, more...)...)
}

func (a commands) providerBuild() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "build DIR", Short: "Build a provider or policy pack from source into one .wasm file",
		Long: "Build a provider or policy pack from source into one .wasm file. The source is a main package in Go, the C\n" +
			"files of a directory, for which Zig must be installed (pip install ziglang), a crate in Rust, for which cargo and\n" +
			"its target wasm32-wasip1 must be, a package of npm in TypeScript or JavaScript that has the SDK and esbuild\n" +
			"installed, or a pyproject.toml with Python and a virtual environment .venv that has the SDK. Unlike go build,\n" +
			"this command writes name and version into the module, so that they can be read without running it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
				built, err := p.Build(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if out, err = cli.WriteModule(out, built.Manifest.Name, built.Bytes); err != nil {
					return err
				}
				if a.JSON {
					return a.WriteJSON(map[string]any{
						"name": built.Manifest.Name, "version": built.Manifest.Version,
						"path": out, "size": len(built.Bytes), "digest": built.Digest,
					})
				}
				return a.Printf("%s: %s, %s, %s\n", cmp.Or(strings.TrimSpace(built.Manifest.Name+" "+built.Manifest.Version), "program"), out, display.Megabytes(len(built.Bytes)), built.Digest)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file (default: the provider's name and .wasm)")
	return cmd
}

func (a commands) providerSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema FILE|NAME", Short: "Show the schema of a module, of Go source, or of a provider or package of the project",
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := a.projectOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.WithPlugins(cmd.Context(), project, func(p *plugins.Plugins) error {
				text, err := a.schemaOf(cmd.Context(), p, project, args[0])
				if errors.Is(err, abi.ErrUnimplemented) {
					return fmt.Errorf("%s has no schema", args[0])
				}
				if err != nil {
					return err
				}
				return a.WriteJSON(json.RawMessage(text))
			})
		},
	}
}

// projectOf returns the project that lists a name, nil if the name is the path of a module. A name that
// the project lists goes before a file of the same name.
func (a commands) projectOf(ctx context.Context, name string) (*program.Project, error) {
	_, missing := os.Stat(name)
	if missing == nil && strings.ContainsAny(name, `./\`) {
		return nil, nil
	}
	project, err := a.Project(ctx)
	if err == nil && (missing != nil || project.Provider(name) != nil || project.Package(name).Parameterized()) {
		return project, nil
	}
	if missing == nil {
		return nil, nil
	}
	var none *program.NoProjectError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("no file %s, and no project in %s that lists a provider with that name", name, none.Dir)
	}
	return nil, err
}

func (a commands) unlistedError(name string, project *program.Project) error {
	return fmt.Errorf("no file %s, and no provider or package with that name in %s", name, project.File.Name)
}

// schemaOf returns the schema of a provider or package of a project, or of a path for a nil project.
func (a commands) schemaOf(ctx context.Context, p *plugins.Plugins, project *program.Project, name string) ([]byte, error) {
	path := name
	if project != nil {
		if pkg := project.Package(name); pkg.Parameterized() {
			text, err := p.PackageSchema(ctx, pkg)
			if err != nil {
				return nil, fmt.Errorf("the package %q cannot be used: %w", name, err)
			}
			return text, nil
		}
		declared := project.Provider(name)
		if declared == nil {
			return nil, a.unlistedError(name, project)
		}
		var err error
		if path, err = p.Locate(ctx, declared); err != nil {
			return nil, err
		}
	}
	m, err := p.Module(ctx, "", path)
	if err != nil {
		return nil, err
	}
	return p.Schema(ctx, m)
}
