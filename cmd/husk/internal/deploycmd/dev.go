package deploycmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/plugins"
)

// exampleDir is the directory of the project that uses a provider, below the provider's.
const exampleDir = "example"

// ProviderDev returns husk provider dev, which belongs to the commands for providers.
func ProviderDev(app *cli.App) *cobra.Command {
	a, f := commands{app}, &deployFlags{}
	var native bool
	cmd := &cobra.Command{
		Use: "dev DIR", Short: "Build a provider and preview a project with it whenever a file changes",
		Long: "Builds the provider in DIR from source and previews a project with it, now and after each change of a\n" +
			"file of either. The project is the one in DIR/example, or in the directory of -C, and lists the provider\n" +
			"with its directory as path. The preview runs a new module of Go in the interpreter, at once. Husk compiles\n" +
			"it meanwhile, so that husk up in another terminal does not have to. Press Ctrl-C to end.\n\n" +
			"With --native, the provider is a process of this machine, to which a debugger can attach. It has\n" +
			"NO SANDBOX: it has all of your rights, and neither grants nor limits are enforced. It serves\n" +
			"previews only; husk up runs the module in its sandbox, as always.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.findDevProject(cmd.Context(), args[0]); err != nil {
				return err
			}
			if native {
				return a.devNative(cmd.Context(), args[0], f)
			}
			f.interpret = langbuild.Of(args[0]) == nil // the interpreter is for modules of Go
			ahead := &compiler{app: a, dir: args[0]}
			defer ahead.stop()
			return a.watchFiles(a.watching(cmd.Context(), args), func(<-chan struct{}) error {
				ahead.stop()
				if err := a.deploy(cmd.Context(), devPreview(f), f); err != nil {
					return err
				}
				ahead.start(cmd.Context())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&native, "native", false, "run the provider as a native process for a debugger: NOT sandboxed, no grants or limits")
	f.add(cmd, updateFlags+shownFlags)
	return cmd
}

func devPreview(f *deployFlags) command {
	return command{name: "preview", previewOnly: true, operation: f.update, program: true}
}

// findDevProject chooses the project for a provider, and checks that it uses the provider.
func (a commands) findDevProject(ctx context.Context, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return cli.Usagef("%s is not a directory: husk provider dev takes the directory of a provider's source", dir)
	}
	if a.Dir == "" {
		a.Dir = filepath.Join(dir, exampleDir)
		if !slices.ContainsFunc(program.FileNames(), func(name string) bool {
			_, err := os.Stat(filepath.Join(a.Dir, name))
			return err == nil
		}) {
			return fmt.Errorf("no project in %s to preview: name one with -C, or make one there that lists the provider with path: .. "+
				"(husk new provider makes both)", a.Dir)
		}
	}
	project, err := a.Project(ctx)
	if err != nil {
		return nil // each preview says so, until it is mended
	}
	for _, p := range project.Providers {
		if sameFile(project.Path(p.Path), dir) {
			return nil
		}
	}
	return fmt.Errorf("the project in %s does not use the provider in %s: list it under plugins.providers, with this directory as path", a.Dir, dir)
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// compiler compiles a provider in the background, for the runs of others.
type compiler struct {
	app    commands
	dir    string
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func (c *compiler) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	c.ended.Go(func() {
		o, err := c.app.PluginOptions()
		if err != nil {
			return // the preview has said so
		}
		o.Events = func(engine.Event) {}
		err = cli.WithPluginsBy(ctx, nil, o, func(p *plugins.Plugins) error {
			_, err := p.Module(ctx, "", c.dir)
			return err
		})
		if err != nil && ctx.Err() == nil {
			c.app.Say("Compiling the provider failed: %v", err)
		}
	})
}

// stop stops the started compilation, because its source has changed.
func (c *compiler) stop() {
	if c.cancel != nil {
		c.cancel()
		c.ended.Wait()
		c.cancel = nil
	}
}
