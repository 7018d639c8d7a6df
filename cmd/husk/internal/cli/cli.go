// Package cli is the command line of Husk: it reads arguments, asks, prints, and chooses the exit
// code. Package workspace has what the commands work on, package display how a deployment looks.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

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
	// secrets are hidden in what this run shows.
	secrets *redact.Secrets
	// store opens the store in a directory; nil stands for that of files.
	store func(directory string) state.Store

	// The flags that every command has.
	dir   string
	stack string
	json  bool
	// limits are of commands that run providers.
	limits []string
	// stackVariable is the environment variable that names the stack, empty if none does.
	stackVariable string
}

// readStackVariables takes the stack from the environment if --stack does not name it.
func (a *app) readStackVariables() {
	for _, name := range []string{"HUSK_STACK", "PULUMI_STACK"} {
		if a.stack == "" && os.Getenv(name) != "" {
			a.stack, a.stackVariable = os.Getenv(name), name
		}
	}
}

// Main runs the command line of the process and returns its exit code.
func Main() int {
	defer runtime.KeepAlive(tuneCollector())
	keepOutput()
	return newApp(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:])
}

func newApp(in, out, errs *os.File) *app {
	secrets := &redact.Secrets{}
	return &app{in: in, out: display.NewOutput(out, secrets), errs: display.NewOutput(errs, secrets), secrets: secrets}
}

func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	var shown *shownError
	if err != nil && !errors.As(err, &shown) && !errors.Is(err, display.ErrGone) {
		display.WriteErrors(a.errs, err)
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
		PersistentPreRun: func(*cobra.Command, []string) {
			a.readStackVariables()
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
	group(root, nil, a.up(), a.preview(), a.refresh(), a.destroy(), a.importCommand(), a.action(), a.watch(), a.cancel(),
		a.stackCommand(), a.stateCommand(), a.configCommand(), a.providerCommand(), a.packageCommand(),
		a.cacheCommand(), a.version())
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	checkArguments(root)
	return root
}

// run is what a command does.
type run = func(cmd *cobra.Command, args []string) error

// group adds subcommands to a command. Without one, the command runs do, or shows its help if do is nil.
func group(cmd *cobra.Command, do run, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(cmd, args[0])
		case do == nil:
			return cmd.Help()
		}
		return do(cmd, args)
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// onStack opens the project and the stack that the flags name.
func (a *app) onStack(do func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error) run {
	return func(cmd *cobra.Command, args []string) error {
		w, stack, err := a.currentStack(cmd.Context())
		if err != nil {
			return err
		}
		return do(cmd.Context(), w, stack, args)
	}
}

// flagError returns the error of a flag in the words of its user. The parser's error names functions of Go.
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

// checkArguments has commands take the arguments of their usage, such as "set KEY [VALUE]".
func checkArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		checkArguments(sub)
	}
	if cmd.Args != nil {
		return
	}
	usage, _, _ := strings.Cut(cmd.Use, " -")
	names := strings.Fields(usage)[1:]
	required, _, _ := strings.Cut(usage, " [")
	least, many := len(strings.Fields(required))-1, strings.Contains(usage, "...")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("missing argument %s: %s", strings.TrimSuffix(names[len(args)], "..."), cmd.UseLine())
		case len(args) > len(names) && !many:
			return usagef("unexpected argument %q: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

type usageError struct{ err error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

type shownError struct{ err error }

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// say writes a remark for people, which is never part of a result. Arguments may be text of strangers.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.errs, format+"\n", escapeArgs(args)...)
}

// remark writes a remark of several lines.
func (a *app) remark(text string) { fmt.Fprintln(a.errs, display.EscapeLines(text)) }

// printf writes a result. Arguments may be text of strangers.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, escapeArgs(args)...)
	return writing(err)
}

// escapeArgs returns arguments whose texts fit on one line and control no terminal.
func escapeArgs(args []any) []any {
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

// write writes a result: as it is to programs, escaped to a terminal.
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

// readAll reads text from standard input, without the line end that an editor or echo adds.
func (a *app) readAll() (string, error) {
	data, err := io.ReadAll(a.in)
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// table writes rows of cells in columns. Cells may be text of strangers.
func (a *app) table(rows [][]string) error {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = display.Escape(cell)
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return writing(t.Flush())
}

// rows are the lines of a table of names and values.
type rows [][]string

// add adds a name with its values, one on each line. It leaves out empty values.
func (r *rows) add(name string, values ...string) {
	for _, v := range values {
		if v != "" {
			*r = append(*r, []string{name, v})
			name = ""
		}
	}
}

// writeList writes a list: JSON to programs, a table to people. none is the remark for an empty list.
func writeList[T any](a *app, list []T, none string, heading []string, row func(T) []string) error {
	if a.json {
		return a.writeJSON(append([]T{}, list...))
	}
	if len(list) == 0 {
		if none != "" {
			a.say("%s", none)
		}
		return nil
	}
	var rows [][]string
	if heading != nil {
		rows = append(rows, heading)
	}
	for _, item := range list {
		rows = append(rows, row(item))
	}
	return a.table(rows)
}

// writeJSON writes a result as JSON for programs, readable for people.
func (a *app) writeJSON(v any) error { return a.writeJSONBy(v, "  ") }

// writeJSONBy writes a result as JSON with an indentation, in one line if that is empty.
func (a *app) writeJSONBy(v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(v)
	if err == nil {
		err = a.out.WriteData(display.EscapeJSON(a.secrets.InJSON(b.Bytes())))
	}
	return writing(err)
}

// plural returns a count of things in words.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
