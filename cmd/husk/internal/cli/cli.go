// Package cli is the command line of Husk: it reads arguments, asks, prints, and
// chooses the exit code. What the commands work on is in package workspace, how a
// deployment looks in package display.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // the command line itself is wrong
)

// app is one run of the command line.
type app struct {
	in        *os.File
	out, errs *display.Output
	// secrets are those that this run knows, which it does not show.
	secrets *redact.Secrets
	// store opens the store in a directory; nil is that of files.
	store func(directory string) state.Store

	// The flags that every command has.
	dir   string
	stack string
	json  bool
	// limits are those that commands which run providers are given.
	limits []string
	// stackVariable is the environment variable that names the stack, empty if the flag does or
	// nothing.
	stackVariable string
}

// stackVariables name the stack to work on if --stack does not. The first that is set counts.
var stackVariables = []string{"HUSK_STACK", "PULUMI_STACK"}

// readStackVariables takes the stack from the environment.
func (a *app) readStackVariables() {
	for _, name := range stackVariables {
		if a.stack == "" && os.Getenv(name) != "" {
			a.stack, a.stackVariable = os.Getenv(name), name
		}
	}
}

// tellOverridden tells that the selection of a stack does not count while a variable names one.
func (a *app) tellOverridden() {
	if a.stackVariable != "" {
		a.say("%s is set, so husk still uses the stack %s.", a.stackVariable, a.stack)
	}
}

// Main runs the command line of the process and returns its exit code.
func Main() int {
	defer runtime.KeepAlive(tuneCollector())
	keepOutput()
	return newApp(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:])
}

// newApp returns an app that reads and writes these files.
func newApp(in, out, errs *os.File) *app {
	secrets := &redact.Secrets{}
	return &app{in: in, out: display.NewOutput(out, secrets), errs: display.NewOutput(errs, secrets), secrets: secrets}
}

// run runs a command line and returns its exit code.
func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var shown *shownError
	if err != nil && !errors.As(err, &shown) && !errors.Is(err, display.ErrGone) {
		display.WriteErrors(a.errs, a.errs.Style(), err)
	}
	if missing := (*workspace.NoStackError)(nil); errors.As(err, &missing) && a.stackVariable != "" && !a.json {
		a.say("The environment variable %s names the stack.", a.stackVariable)
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "husk",
		Short: "Deploy infrastructure with providers that run as WebAssembly modules",
		Long: "Husk deploys what a project file (Husk.yaml) declares, with providers that run as\n" +
			"WebAssembly modules and may do only what the project grants them.",
		Example:       "  husk preview           show what an update would do\n  husk up                do it\n  husk stack output      show the results\n  husk destroy           delete everything",
		SilenceErrors: true, // Main shows them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.readStackVariables()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w: see \"%s --help\"", flagError(err), cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "cwd", "C", ".", "run in this directory, which contains the project file")
	flags.StringVarP(&a.stack, "stack", "s", "", "use this stack (default: $HUSK_STACK or $PULUMI_STACK, else the selected stack, else \"dev\")")
	flags.BoolVar(&a.json, "json", false, "write only JSON to standard output")
	root.AddCommand(a.up(), a.preview(), a.refresh(), a.destroy(), a.importCommand(), a.watch(), a.cancel(),
		a.stackCommand(), a.stateCommand(), a.configCommand(), a.providerCommand(), a.packageCommand(),
		a.cacheCommand(), a.version())
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// group makes a command that only has subcommands, or a default of its own.
func group(cmd *cobra.Command, run func(cmd *cobra.Command) error, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return run(cmd)
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// flagError says what a flag takes that is not a text, as its parser names functions of Go.
func flagError(err error) error {
	_, notParsed := errors.AsType[*strconv.NumError](err)
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok || !notParsed {
		return err
	}
	flag, wanted := wrong.GetFlag(), "a whole number"
	if flag.Value.Type() == "bool" {
		wanted = "true or false"
	}
	return fmt.Errorf("--%s %s: must be %s", flag.Name, wrong.GetValue(), wanted)
}

func unknownCommand(cmd *cobra.Command, name string) error {
	near := ""
	if names := cmd.SuggestionsFor(name); len(names) > 0 {
		near = fmt.Sprintf(", did you mean %q?", strings.Join(names, "\" or \""))
	}
	return usagef("unknown command %q for %q%s: see \"%s --help\"", name, cmd.CommandPath(), near, cmd.CommandPath())
}

// arguments takes between least and most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		if len(args) > most {
			return usagef("unexpected argument %q: %s", args[most], cmd.UseLine())
		}
		missing := strings.Fields(cmd.Use)[1+len(args)]
		return usagef("missing argument %s: %s", strings.TrimSuffix(missing, "..."), cmd.UseLine())
	}
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// shownError is an error that a display has shown.
type shownError struct{ err error }

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// say writes a remark for people, which is never part of a result. Its arguments may be anybody's
// text.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.errs, format+"\n", escaped(args)...)
}

// remark writes a remark of several lines.
func (a *app) remark(text string) { fmt.Fprintln(a.errs, display.EscapeLines(text)) }

// printf writes a result. Its arguments may be anybody's text.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, escaped(args)...)
	return writing(err)
}

// escaped are arguments whose texts fit one line, and do nothing to a terminal.
func escaped(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			arg = v.String()
		}
		switch v := arg.(type) {
		case string:
			out[i] = display.Escape(v)
		case error, fmt.Stringer:
			out[i] = display.Escape(fmt.Sprint(v))
		default:
			out[i] = arg
		}
	}
	return out
}

// write writes a result, to programs as it is. What may be of providers or of files does
// nothing to a terminal.
func (a *app) write(data []byte) error {
	if a.out.IsTerminal() {
		_, err := a.out.Write([]byte(display.EscapeLines(string(data))))
		return writing(err)
	}
	return writing(a.out.WriteData(data))
}

func writing(err error) error {
	if err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}
	return nil
}

// readAll reads text from standard input, without the line end that an editor or
// echo adds.
func (a *app) readAll() (string, error) {
	data, err := io.ReadAll(a.in)
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}
