package providercmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a commands) packageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "package", Short: "Add packages that a provider serves when it is parameterized"}
	a.AddLimits(cmd.PersistentFlags())
	return cli.Group(cmd, nil, a.packageAdd(), a.providerSchema(), a.packageGenSDK())
}

func (a commands) packageAdd() *cobra.Command {
	var extension bool
	cmd := &cobra.Command{
		Use: "add PROVIDER [PARAMETER...]", Short: "Add a package to the project",
		Long: "Add a package to the project file. The provider is parameterized with the arguments, and returns\n" +
			"the package's name, its version, and a value that recreates it. The project file records them, so\n" +
			"files that the parameters name are not needed again. PROVIDER is a provider that the project lists\n" +
			"or, to extend it, a package of the project. A directory with components and a file PulumiPlugin.yaml\n" +
			"is added as it is. Put two dashes before parameters that begin with a dash.",
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := a.Project(cmd.Context())
			if err != nil {
				return err
			}
			if extension && len(args) < 2 {
				return cli.Usagef("an extension needs parameters: %s", cmd.UseLine())
			}
			if dir, ok, err := componentsIn(project, args[0]); err != nil {
				return err
			} else if ok {
				if len(args) > 1 || extension {
					return cli.Usagef("%s has components, which take no parameters", args[0])
				}
				pkg, err := project.AddLocalPackage(cmd.Context(), dir)
				if err != nil {
					return err
				}
				return a.added(project, &plugins.MadePackage{Package: pkg, Version: pkg.Version})
			}
			var made *plugins.MadePackage
			err = a.WithPlugins(cmd.Context(), project, func(p *plugins.Plugins) error {
				if err := checkListed(cmd.Context(), p, project, args[0]); err != nil {
					return err
				}
				made, err = p.MakePackage(cmd.Context(), args[0], args[1:], extension)
				return err
			})
			if err != nil {
				return err
			}
			if err := project.AddPackage(cmd.Context(), made.Package); err != nil {
				return err
			}
			return a.added(project, made)
		},
	}
	cmd.Flags().BoolVar(&extension, "extension", false, "add the package to the provider as an extension, beside its own package")
	return cmd
}

// added says that a package was added.
func (a commands) added(project *program.Project, pkg *plugins.MadePackage) error {
	if a.JSON {
		return a.WriteJSON(map[string]any{"name": pkg.Name, "version": pkg.Version, "source": pkg.Source, "extension": pkg.Extension != nil})
	}
	a.Say("Added the package %s to %s.", strings.TrimSpace(pkg.Name+" "+pkg.Version), project.File.Name)
	return nil
}

// isPath reports whether the argument is the path of a file or directory, and names no provider or package of the project.
func isPath(project *program.Project, given string) bool {
	_, err := os.Stat(given)
	return err == nil && project.Provider(given) == nil && !project.Package(given).Parameterized()
}

// fromProject returns a path relative to the directory of the project, with forward slashes.
func fromProject(project *program.Project, given string) (string, error) {
	path, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(project.Dir)
	if err != nil {
		return "", err
	}
	if relative, err := filepath.Rel(dir, path); err == nil {
		path = filepath.ToSlash(relative)
	}
	return path, nil
}

// componentsIn reports whether the argument is a directory with a package of components, and where it is from the project.
func componentsIn(project *program.Project, given string) (dir string, ok bool, err error) {
	if _, err := os.Stat(filepath.Join(given, program.PluginFile)); err != nil || !isPath(project, given) {
		return "", false, nil
	}
	dir, err = fromProject(project, given)
	return dir, err == nil, err
}

// checkListed returns an error if the argument is a provider's path in place of its listed name.
func checkListed(ctx context.Context, p *plugins.Plugins, project *program.Project, given string) error {
	if !isPath(project, given) {
		return nil
	}
	m, err := p.Module(ctx, "", given)
	if err != nil {
		return err
	}
	path, err := fromProject(project, given)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is a path; list the provider in %s, under plugins.providers:\n  - name: %s\n    path: %s\nand give its name: husk package add %[3]s",
		given, project.File.Name, display.Escape(m.Name), path)
}
