package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
)

// precompiledModule describes a module that provider compile has compiled.
type precompiledModule struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

func (a *app) providerCompile() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "compile [FILE|DIR...] -o DIR", Short: "Compile modules ahead of time, for container images and edge devices",
		Long: "Compile modules ahead of time, for container images and edge devices: the named modules, or all providers\n" +
			"and policy packs that the project lists. If HUSK_PRECOMPILED_DIR names the directory, husk loads modules\n" +
			"from it, compiles none, writes nothing there, and needs no cache directory.\n\n" +
			"The code works only on this platform, this kind of processor, and this version of husk. Husk runs it\n" +
			"unchecked, so use only directories that you have filled yourself. The modules are still needed, because\n" +
			"husk finds the code by their digests.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("missing --output: name the directory for the compiled code")
			}
			project, err := a.projectToCompile(args)
			if err != nil {
				return err
			}
			o, err := a.pluginOptions()
			if err != nil {
				return err
			}
			o.Places.Precompiled = "" // it is to be filled
			if o.Places.Cache == "" {
				return errors.New("compiling needs a cache directory: set HUSK_CACHE_DIR")
			}
			return withPluginsBy(cmd.Context(), project, o, func(p *plugins.Plugins) error {
				return a.compileAhead(cmd.Context(), p, modulesToCompile(project, args), out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write compiled code to this directory, and keep what is there")
	return cmd
}

// projectToCompile returns the project whose modules are compiled, nil if paths name the modules.
func (a *app) projectToCompile(paths []string) (*program.Project, error) {
	if len(paths) > 0 {
		return nil, nil
	}
	project, err := program.LoadProject(a.dir)
	if none := (*program.NoProjectError)(nil); errors.As(err, &none) {
		return nil, fmt.Errorf("no project in %s: name the modules to compile", a.dir)
	}
	return project, err
}

// modulesToCompile returns the paths of the modules, each once.
func modulesToCompile(project *program.Project, paths []string) []string {
	if project == nil {
		return paths
	}
	seen := make(map[string]bool)
	add := func(path string) {
		if path = project.Path(path); !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	for _, declared := range project.Providers {
		add(declared.Path)
	}
	for _, declared := range project.Policies {
		add(declared.Path)
	}
	return paths
}

func (a *app) compileAhead(ctx context.Context, p *plugins.Plugins, paths []string, out string) error {
	compiled := []precompiledModule{}
	for _, path := range paths {
		m, err := p.Precompile(ctx, path, path, out)
		if err != nil {
			return err
		}
		one := precompiledModule{Name: m.Name, Version: m.Version, Digest: m.Info().Digest}
		compiled = append(compiled, one)
		if a.json {
			continue
		}
		if err := a.printf("%s %s: %s, in %s\n", one.Name, one.Version, one.Digest, out); err != nil {
			return err
		}
	}
	if a.json {
		return a.writeJSON(compiled)
	}
	return nil
}
