package deploycmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/watch"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display"
)

func (a commands) watch() *cobra.Command {
	f := &deployFlags{}
	var update bool
	var paths []string
	cmd := &cobra.Command{
		Use: "watch", Short: "Preview the program again whenever one of its files changes",
		Long: "Husk watches the program, the stack's configuration, the modules or sources of providers, and\n" +
			"the paths of --path. It waits for the next change after each run, even if the run failed.\n" +
			"Press Ctrl-C to end.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := command{name: "preview", previewOnly: true, operation: f.update, program: true}
			if update {
				c.name, c.previewOnly, f.yes = "up", false, true
			}
			return a.watchFiles(cmd.Context(), paths, func() error { return a.deploy(cmd.Context(), c, f) })
		},
	}
	cmd.Flags().BoolVar(&update, "up", false, "update the stack instead of previewing, without confirmation")
	cmd.Flags().StringArrayVar(&paths, "path", nil, "watch this file or directory as well; can be repeated")
	f.add(cmd, updateFlags+shownFlags)
	a.AddLimits(cmd.Flags())
	return cmd
}

// watchFiles calls run now, and after each change of a file of the project or of the paths, until an
// interrupt. A run that is interrupted ends as it would alone.
func (a commands) watchFiles(ctx context.Context, paths []string, run func() error) error {
	files, err := watch.NewFiles()
	if err != nil {
		return err
	}
	defer files.Close()
	stop, end := a.OnInterrupt()
	defer end()
	for {
		// The watch begins before the run, so no change is missed.
		if err := files.Watch(a.watched(ctx, paths)); err != nil {
			return err
		}
		failed := run()
		select {
		case <-stop:
			return failed
		default:
		}
		if failed != nil && !cli.IsShown(failed) {
			display.WriteErrors(a.Errs, failed)
		}
		a.Say("Watching for changes. Press Ctrl-C to end.")
		changed, err := files.Wait(stop)
		switch {
		case errors.Is(err, watch.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		a.Say("\nChanged: %s", a.listed(changed))
	}
}

// projectKinds are the suffixes of the files of a project.
var projectKinds = []string{".yaml", ".yml", ".json"}

// watched returns the paths of the program, as far as the project can be read.
func (a commands) watched(ctx context.Context, more []string) []watch.Path {
	paths := []watch.Path{{Name: a.watchedDir(), Kinds: projectKinds}}
	if project, err := a.Project(ctx); err == nil {
		for _, dir := range []string{project.ProgramDir, project.StackConfigDir} {
			paths = append(paths, watch.Path{Name: dir, Kinds: projectKinds})
		}
		if kinds := sourceKinds(project.Runtime); len(kinds) > 0 {
			paths = append(paths, watch.Path{Name: sourceDir(project), Kinds: kinds, Below: true, Without: installedDirs})
		}
		for _, p := range project.Providers {
			paths = append(paths, watch.Path{Name: project.Path(p.Path)})
		}
	}
	for _, name := range more {
		paths = append(paths, watch.Path{Name: name})
	}
	return paths
}

// sourceKinds returns the suffixes of the files that programs of a runtime are made of, none if that is not known.
func sourceKinds(runtime string) []string {
	switch runtime {
	case "nodejs":
		return []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".json"}
	case "python":
		return []string{".py", ".toml", ".txt"}
	case "go":
		return []string{".go", ".mod", ".sum"}
	}
	return nil
}

// installedDirs are the names of directories with packages or with what is made of the source.
var installedDirs = []string{"node_modules", "venv", "__pycache__"}

// sourceDir returns the directory with the source of a program.
func sourceDir(p *program.Project) string {
	if info, err := p.Root.Stat(p.ProgramDir); err == nil && !info.IsDir() {
		return filepath.Dir(p.ProgramDir)
	}
	return p.ProgramDir
}

// watchedDir returns the directory of the project, even if its project file cannot be used yet.
func (a commands) watchedDir() string {
	if dir, err := a.ProjectDir(); err == nil {
		return dir
	}
	return "."
}

// maxListed bounds the files that are listed by name.
const maxListed = 3

func (a commands) listed(changed []string) string {
	if len(changed) == 0 {
		return "many files"
	}
	rest := ""
	if len(changed) > maxListed {
		rest = " and " + cli.Plural(len(changed)-maxListed, "other")
		changed = changed[:maxListed]
	}
	dir, err := filepath.Abs(a.watchedDir())
	names := make([]string, len(changed))
	for i, name := range changed {
		if short, relErr := filepath.Rel(dir, name); err == nil && relErr == nil {
			name = short
		}
		names[i] = display.Escape(name)
	}
	return strings.Join(names, ", ") + rest
}
