// Package root is the command line of Husk: the root command, and the commands that belong to no other.
package root

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/consolecmd"
	"github.com/husk-dev/husk/cmd/husk/internal/deploycmd"
	"github.com/husk-dev/husk/cmd/husk/internal/editorcmd"
	"github.com/husk-dev/husk/cmd/husk/internal/newcmd"
	"github.com/husk-dev/husk/cmd/husk/internal/providercmd"
	"github.com/husk-dev/husk/cmd/husk/internal/registrycmd"
	"github.com/husk-dev/husk/cmd/husk/internal/remotecmd"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/worker/start"
)

// commands are those about Husk itself.
type commands struct{ *cli.App }

// Main runs the command line of the process and returns its exit code. parts are nil for a program without them.
func Main(parts *cli.Parts) int {
	run, err := start.Receive() // before anything else, with few threads and nothing open
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return cli.ExitFailed
	}
	return begin(run, parts)
}

func begin(given *start.Setup, parts *cli.Parts) int {
	tuneCollector()
	keepOutput()
	a := newApp(os.Stdin, os.Stdout, os.Stderr, parts)
	a.Begins = true
	if given != nil {
		a.Setup, a.IsRun = *given, !given.Own
	}
	continues, err := cli.Continued()
	if err != nil {
		display.WriteErrors(a.Errs, err)
		return cli.ExitFailed
	}
	a.Continues = continues
	if isPulumi(os.Args[0]) && !slices.Equal(os.Args[1:min(2, len(os.Args))], []string{pulumi}) {
		os.Args = slices.Insert(os.Args, 1, pulumi) // for a program that takes the place of this one
	}
	args := os.Args[1:]
	if given, is := providercmd.PluginArguments(os.Args); is {
		args = given
	}
	if len(args) > 0 && args[0] == pulumi {
		if err := a.WithWhole("Pulumi's command line"); err != nil {
			display.WriteErrors(a.Errs, err)
			return cli.ExitFailed
		}
		a.Pulumi, args = new(cli.Pulumi), args[1:]
	}
	return run(a, args)
}

// pulumi is the first argument of a command line that is one of Pulumi's, which a program of that name needs not.
const pulumi = "pulumi"

func isPulumi(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pulumi
}

// newApp returns a run with the parts of its program.
func newApp(in, out, errs *os.File, parts *cli.Parts) *cli.App {
	a := cli.NewApp(in, out, errs)
	a.Parts, a.Backends = parts, make(map[string]backend.Opener)
	for _, scheme := range remote.Schemes {
		a.Backends[scheme] = remote.Open
	}
	if parts != nil {
		maps.Copy(a.Backends, parts.Backends)
		return a
	}
	for _, scheme := range wholeBackends {
		a.Backends[scheme] = func(context.Context, named.URL, string) (*backend.Backend, error) {
			return nil, a.WithWhole("a backend " + scheme + "://")
		}
	}
	return a
}

// wholeBackends are the schemes of the backends that only the whole program has.
var wholeBackends = []string{"s3", "postgres", "postgresql"}

func run(a *cli.App, args []string) int {
	root := command(a)
	if slices.ContainsFunc(args, asksForWords) {
		complete(a, root)
	}
	return a.Run(root, args)
}

// command returns the root command.
func command(a *cli.App) *cobra.Command {
	cobra.EnableCommandSorting = false // groups have an order of their own
	cell := &confinement{App: a}
	root := &cobra.Command{
		Use:   "husk",
		Short: "Deploy infrastructure with providers that run as WebAssembly modules",
		Long: "Husk deploys what a project file (Husk.yaml) declares, with providers that run as\n" +
			"WebAssembly modules and may do only what the project grants them.",
		Version:       thisBuild().String(),
		SilenceErrors: true, // Main shows them
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := cell.enter(cmd, args); err != nil {
				return err
			}
			a.ReadStackVariables()
			return nil
		},
	}
	root.SetOut(a.Out)
	root.SetErr(a.Errs)
	root.SetFlagErrorFunc(cli.FlagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.Dir, "cwd", "C", "", "use the project in this directory (default: the nearest at or above the current one)")
	flags.StringVarP(&a.Stack, "stack", "s", "", "use this stack (default: $HUSK_STACK or $PULUMI_STACK, else the selected stack, else \"dev\")")
	flags.BoolVar(&a.Untrusted, "untrusted-project", false, "the project is somebody else's: nothing of it runs outside the sandbox, and it gets no files, variables,\nor addresses of this machine and its network, whatever it names or grants")
	cell.add(flags)
	flags.BoolVar(&a.JSON, "json", false, "write only JSON to standard output")
	flags.Var(&colour{app: a, when: "auto"}, "color", "colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)")
	root.Flags().Bool("version", false, "show the version of Husk")
	flags.BoolVar(&a.AsksNothing, "non-interactive", false, "ask nothing, as if there were no terminal")
	for _, name := range execFlags {
		flags.String(name, "", "accept the `NAME` that tools which run Pulumi's command tell of themselves")
		_ = flags.MarkHidden(name) // it exists
	}
	c := commands{a}
	cli.Group(root, nil, slices.Concat(deploycmd.Commands(a), stackcmd.Commands(a), providercmd.Commands(a, append(registrycmd.ProviderCommands(a), deploycmd.ProviderDev(a))...), registrycmd.Commands(a), consolecmd.Commands(a), remotecmd.Commands(a), newcmd.Commands(a), editorcmd.Commands(a), []*cobra.Command{c.cacheCommand(), c.doctor(), c.version()})...)
	root.AddCommand(c.man(root))
	root.InitDefaultCompletionCmd()
	groupCommands(root)
	if a.Pulumi != nil {
		a.Parts.AnswerPulumi(a, root)
	}
	setHelp(a, root)
	cli.CheckArguments(root)
	return root
}

// execFlags are the flags that Pulumi's Automation API passes to each command. They have no effect.
var execFlags = []string{"exec-kind", "exec-agent"}

// colour is the value of --color. It decides for whatever is written after it was read.
type colour struct {
	app  *cli.App
	when string
}

func (c *colour) String() string { return c.when }
func (c *colour) Type() string   { return "WHEN" }

// Words implements [cli.Words].
func (c *colour) Words() []string { return display.Colours }

func (c *colour) Set(when string) error {
	if err := c.app.Out.SetColour(when); err != nil {
		return err
	}
	c.when = when
	return c.app.Errs.SetColour(when)
}

// keepOutput makes a write to a pipe without a reader fail, instead of ending the process: see
// [display.Output.OnGone].
func keepOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
