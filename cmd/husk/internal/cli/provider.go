package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a *app) providerCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "provider", Short: "Build, inspect, and test provider modules"}
	a.addLimits(cmd.PersistentFlags())
	return group(cmd, nil, a.providerBuild(), a.providerPort(), a.providerCompile(), a.providerInspect(), a.providerSchema(), a.providerList(), a.providerMapping(),
		a.providerCall(), a.providerInvoke(), a.providerTest(), a.providerAudit())
}

// pluginOptions returns the options of all commands: limits, directories, and messages to the user.
func (a *app) pluginOptions() (plugins.Options, error) {
	limits, err := a.givenLimits()
	if err != nil {
		return plugins.Options{}, err
	}
	places, err := plugins.FindPlaces()
	if err != nil {
		return plugins.Options{}, err
	}
	return plugins.Options{Places: places, Limits: limits, Secrets: a.secrets, Events: a.sayEvent}, nil
}

// sayEvent writes a message of a provider, or what is built or compiled.
func (a *app) sayEvent(e engine.Event) {
	switch e := e.(type) {
	case engine.Preparing:
		if !e.Done {
			a.say("%s %s…", e.Doing, e.Provider)
		}
	case engine.Diagnostic:
		mark := ":"
		if e.Guest {
			mark = " |"
		}
		a.say("%s%s %s", e.Provider, mark, e.Message)
	}
}

// withPlugins calls do with the providers of a project, nil for none.
func (a *app) withPlugins(ctx context.Context, project *program.Project, do func(*plugins.Plugins) error) error {
	o, err := a.pluginOptions()
	if err != nil {
		return err
	}
	return withPluginsBy(ctx, project, o, do)
}

// withPluginsBy is withPlugins with options that the caller has changed.
func withPluginsBy(ctx context.Context, project *program.Project, o plugins.Options, do func(*plugins.Plugins) error) error {
	p, err := plugins.Open(ctx, project, o)
	if err != nil {
		return err
	}
	return errors.Join(do(p), p.Close(context.WithoutCancel(ctx)))
}

func (a *app) providerBuild() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "build DIR", Short: "Build a provider or policy pack from Go source into one .wasm file",
		Long: "Build a provider or policy pack from Go source into one .wasm file. Unlike go build, this command writes\n" +
			"name and version into the module, so that they can be read without running it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
				built, err := p.Build(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if out == "" {
					out = built.Manifest.Name + ".wasm"
				}
				if err := os.WriteFile(out, built.Bytes, 0o644); err != nil {
					return fmt.Errorf("writing the module: %w", err)
				}
				if a.json {
					return a.writeJSON(map[string]any{
						"name": built.Manifest.Name, "version": built.Manifest.Version,
						"path": out, "size": len(built.Bytes), "digest": built.Digest,
					})
				}
				return a.printf("%s %s: %s, %s, %s\n", built.Manifest.Name, built.Manifest.Version, out, megabytes(len(built.Bytes)), built.Digest)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file (default: the provider's name and .wasm)")
	return cmd
}

func megabytes[N int | int64](bytes N) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

func (a *app) providerSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema FILE|NAME", Short: "Show the schema of a module, of Go source, or of a provider or package of the project",
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := a.projectOf(args[0])
			if err != nil {
				return err
			}
			return a.withPlugins(cmd.Context(), project, func(p *plugins.Plugins) error {
				text, err := a.schemaOf(cmd.Context(), p, project, args[0])
				if errors.Is(err, abi.ErrUnimplemented) {
					return fmt.Errorf("%s has no schema", args[0])
				}
				if err != nil {
					return err
				}
				return a.writeJSON(json.RawMessage(text))
			})
		},
	}
}

// projectOf returns the project that lists a name, nil if the name is the path of a module. A name that
// the project lists goes before a file of the same name.
func (a *app) projectOf(name string) (*program.Project, error) {
	_, missing := os.Stat(name)
	if missing == nil && strings.ContainsAny(name, `./\`) {
		return nil, nil
	}
	project, err := program.LoadProject(a.dir)
	if err == nil && (missing != nil || project.Provider(name) != nil || project.Package(name).Parameterized()) {
		return project, nil
	}
	if missing == nil {
		return nil, nil
	}
	var none *program.NoProjectError
	if errors.As(err, &none) {
		return nil, fmt.Errorf("no file %s, and no project in %s that lists a provider with that name", name, a.dir)
	}
	return nil, err
}

func (a *app) unlistedError(name string, project *program.Project) error {
	return fmt.Errorf("no file %s, and no provider or package with that name in %s", name, filepath.Join(a.dir, project.File.Name))
}

// schemaOf returns the schema of a provider or package of a project, or of a path for a nil project.
func (a *app) schemaOf(ctx context.Context, p *plugins.Plugins, project *program.Project, name string) ([]byte, error) {
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
		path = project.Path(declared.Path)
	}
	m, err := p.Module(ctx, "", path)
	if err != nil {
		return nil, err
	}
	return p.Schema(ctx, m)
}
