package providercmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a commands) providerCompile() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "compile [FILE|DIR...] -o DIR", Short: "Compile modules ahead of time, for container images and edge devices",
		Long: "Compile modules ahead of time, for container images and edge devices: the named modules, or all providers\n" +
			"and policy packs that the project lists. If HUSK_PRECOMPILED_DIR names the directory, husk loads modules\n" +
			"from it, compiles none, writes nothing there, and needs no cache directory.\n\n" +
			"The code works only on this platform, this kind of processor, and this version of husk. Husk runs it\n" +
			"unchecked, so use only directories that you have filled yourself. The modules are still needed, because\n" +
			"husk finds the code by their digests.",
		RunE: func(cmd *cobra.Command, paths []string) error {
			if out == "" {
				return cli.Usagef("missing --output: name the directory for the compiled code")
			}
			var project *program.Project
			if len(paths) == 0 {
				var err error
				if project, err = a.projectToCompile(cmd.Context()); err != nil {
					return err
				}
			}
			o, err := a.PluginOptions()
			if err != nil {
				return err
			}
			o.Places.Precompiled = "" // this command fills it
			if o.Places.Cache == "" {
				return errors.New("compiling needs a cache directory: set HUSK_CACHE_DIR")
			}
			return cli.WithPluginsBy(cmd.Context(), project, o, func(p *plugins.Plugins) error {
				if project != nil {
					var err error
					if paths, err = modulesOf(cmd.Context(), p, project); err != nil {
						return err
					}
				}
				var compiled []map[string]string
				for _, path := range paths {
					m, err := p.Precompile(cmd.Context(), path, path, out)
					if err != nil {
						return err
					}
					compiled = append(compiled, map[string]string{"name": m.Name, "version": m.Version, "digest": m.Info().Digest})
				}
				return cli.WriteList(a.App, compiled, "", nil, func(m map[string]string) []string {
					return []string{fmt.Sprintf("%s %s: %s, in %s", m["name"], m["version"], m["digest"], out)}
				})
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write compiled code to `DIR`, and keep its other files")
	return cmd
}

// projectToCompile returns the project.
func (a commands) projectToCompile(ctx context.Context) (*program.Project, error) {
	project, err := a.Project(ctx)
	if none := (*program.NoProjectError)(nil); errors.As(err, &none) {
		return nil, fmt.Errorf("no project in %s: name the modules to compile", none.Dir)
	}
	return project, err
}

// modulesOf returns the path of each module of a project.
func modulesOf(ctx context.Context, p *plugins.Plugins, project *program.Project) (paths []string, err error) {
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for i := range project.Providers {
		if project.Providers[i].Native {
			continue // there is nothing to compile
		}
		path, err := p.Locate(ctx, &project.Providers[i])
		if err != nil {
			return nil, err
		}
		add(path)
	}
	for _, declared := range project.Policies {
		if path := project.Path(declared.Path); !program.IsPolicyProgram(project.Root, path) {
			add(path)
		}
	}
	return paths, nil
}
