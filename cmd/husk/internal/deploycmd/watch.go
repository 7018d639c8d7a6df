package deploycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/watch"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/processgroup"
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
			if a.Untrusted && !a.Unconfined {
				return a.watchStranger(cmd, c.name, paths)
			}
			return a.watchFiles(a.watching(cmd.Context(), paths), func(<-chan struct{}) error { return a.deploy(cmd.Context(), c, f) })
		},
	}
	cmd.Flags().BoolVar(&update, "up", false, "update the stack instead of previewing, without confirmation")
	cmd.Flags().Var(cli.Repeated(&paths), "path", "watch this file or directory as well; can be repeated")
	f.add(cmd, updateFlags+shownFlags)
	a.AddLimits(cmd.Flags())
	return cmd
}

// watchStranger is watch for a project that is not trusted. The process that watches opens nothing of the project: each run is a
// command of its own, which confines itself. Interrupts are passed on to it.
func (a commands) watchStranger(cmd *cobra.Command, name string, paths []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := a.ProjectDir()
	if err != nil {
		return err
	}
	args := []string{name}
	if name == "up" {
		args = append(args, "--yes")
	}
	cli.Given(cmd, func(flag, value string) {
		if !slices.Contains([]string{"up", "path", "cwd"}, flag) {
			args = append(args, "--"+flag+"="+value)
		}
	})
	watched := []watch.Path{{Name: dir, Kinds: append([]string{".wasm"}, projectKinds...), Below: true}}
	for _, name := range paths {
		watched = append(watched, watch.Path{Name: name})
	}
	return a.watchFiles(func() []watch.Path { return watched }, func(interrupts <-chan struct{}) error {
		run := exec.Command(self, append(args, "--cwd="+dir)...)
		run.Args[0], run.Stdout, run.Stderr = os.Args[0], os.Stdout, os.Stderr
		processgroup.Own(run)
		if err := run.Start(); err != nil {
			return fmt.Errorf("beginning husk %s: %w", name, err)
		}
		ended := make(chan error, 1)
		go func() { ended <- run.Wait() }()
		for {
			select {
			case <-interrupts:
				processgroup.Interrupt(run.Process)
			case err := <-ended:
				switch exit := (*exec.ExitError)(nil); {
				case !errors.As(err, &exit):
					return err
				case exit.ExitCode() == cli.ExitChanges:
					return cli.ErrChanges
				}
				return cli.Shown(err)
			}
		}
	})
}

// watchFiles calls run now, and after each change of a file of paths, until an interrupt. A run that is interrupted ends as it would
// alone; it is told of each interrupt.
func (a commands) watchFiles(paths func() []watch.Path, run func(interrupts <-chan struct{}) error) error {
	files, err := watch.NewFiles()
	if err != nil {
		return err
	}
	defer files.Close()
	stop, interrupts := make(chan struct{}), make(chan struct{}, 2)
	tell := func() { interrupts <- struct{}{} }
	defer a.Heed(nil, cli.Stage{Do: func() { tell(); close(stop) }}, cli.Stage{Do: tell})()
	for {
		// The watch begins before the run, so no change is missed.
		if err := files.Watch(paths()); err != nil {
			return err
		}
		failed := run(interrupts)
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

// watching returns a function that lists the paths to watch.
func (a commands) watching(ctx context.Context, more []string) func() []watch.Path {
	return func() []watch.Path { return a.watched(ctx, more) }
}

// watched returns the paths of the program, as far as the project can be read.
func (a commands) watched(ctx context.Context, more []string) []watch.Path {
	paths := []watch.Path{{Name: a.watchedDir(), Kinds: projectKinds}}
	if project, err := a.Project(ctx); err == nil {
		for _, dir := range []string{project.ProgramDir, project.StackConfigDir} {
			paths = append(paths, watch.Path{Name: dir, Kinds: projectKinds})
		}
		if kinds := sourceKinds(project.Runtime); len(kinds) > 0 {
			paths = append(paths, watch.Path{Name: sourceDir(project), Kinds: kinds, Below: true, Without: builtDirs(sourceDir(project))})
		}
		for _, p := range project.Providers {
			paths = append(paths, watch.Path{Name: project.Path(p.Path), Without: builtDirs(project.Path(p.Path))})
		}
	}
	for _, name := range more {
		paths = append(paths, watch.Path{Name: name, Without: builtDirs(name)})
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
	case program.RuntimeWASM:
		return []string{".wasm", ".go", ".mod", ".sum", ".ts", ".tsx", ".js", ".mjs", ".json", ".rs", ".toml"}
	}
	return nil
}

// builtDirs returns the names of directories below one with source that hold packages or build results.
func builtDirs(source string) []string {
	names := []string{"node_modules", "venv", "__pycache__"}
	if _, err := os.Stat(filepath.Join(source, "Cargo.toml")); err == nil {
		names = append(names, "target")
	}
	return names
}

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
