// Package cli has the common parts of Husk's commands: the flags of all of them, output, questions, errors with their exit codes,
// and interrupts. Packages beside it have the commands. Package workspace has the projects and stacks that the commands work on,
// package display shows a deployment.
package cli

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/worker/start"
	"github.com/husk-dev/husk/internal/workspace"
)

// The exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // the command line itself is wrong
	// ExitChanges is the exit code of a success with changes, if --detailed-exitcode is set. The command line being wrong
	// is ExitFailed then.
	ExitChanges = 2
	// ExitBusy is the exit code of a command whose stack another run has, or has taken from it, or whose stacks could not be
	// reached for long: nothing is wrong with the command, and it may succeed later.
	ExitBusy = 3
	// ExitPending is the exit code of an update that has done nothing, as --stop-on-pending says, because it is not known what an
	// earlier run has created.
	ExitPending = 4
)

// App is one run of the command line.
type App struct {
	In        *os.File
	Out, Errs *display.Output
	// Waiting returns the display of what the command waits for.
	Waiting func() *display.Waiting
	// Secrets are hidden in the output of this run.
	Secrets *redact.Secrets
	// Store opens the store in a directory; nil stands for the store of files.
	Store func(directory string) state.Store
	// Parts are nil in a program that leaves them out, see [App.WithWhole].
	Parts *Parts
	// Continues is set if this process has taken the place of another one, whose messages the user has seen.
	Continues bool
	// Backends open backends other than directories, by the schemes of their URLs.
	Backends map[string]backend.Opener

	// Pulumi says that the command line is one of Pulumi's, which package pulumicmd has commands answer; nil for Husk's own.
	Pulumi *Pulumi

	// Setup has the settings from the worker that has begun this process, none otherwise. IsRun says whether one has.
	Setup start.Setup
	// Begins says that the process runs only the command, which can begin it anew.
	Begins bool
	IsRun  bool

	// The flags that every command has. Dir is the directory of the project, empty to look for one: see [App.ProjectDir].
	Dir   string
	Stack string
	JSON  bool
	// AsksNothing says that no question is asked, as if there were no terminal.
	AsksNothing bool
	// Untrusted says that the project is somebody else's; see [App.Root].
	Untrusted bool
	// Unconfined says that the command does not confine itself for such a project.
	Unconfined bool
	// OpensNone says that the command is not confined because it opens no such project: it gets none.
	OpensNone bool
	// replies reads the answers of the user, nil before the first question.
	replies *bufio.Reader
	// project returns the directory of the project.
	project func() (string, error)
	// limits are of commands that run providers.
	limits []string
	// StackVariable is the environment variable that names the stack, empty if none does.
	StackVariable string
	// signals end the compilers that a command has started, and the command unless it heeds them.
	signals processgroup.Signals
}

// ReadStackVariables takes the stack from the environment if --stack does not name it.
func (a *App) ReadStackVariables() {
	for _, name := range []string{"HUSK_STACK", "PULUMI_STACK"} {
		if a.Stack == "" && os.Getenv(name) != "" {
			a.Stack, a.StackVariable = os.Getenv(name), name
		}
	}
}

// NewApp returns a run that reads from in, and writes results to out and the rest to errs.
func NewApp(in, out, errs *os.File) *App {
	secrets := &redact.Secrets{}
	a := &App{In: in, Out: display.NewOutput(out, secrets), Errs: display.NewOutput(errs, secrets), Secrets: secrets}
	a.FindProjectAnew()
	a.Waiting = sync.OnceValue(func() *display.Waiting { return display.NewWaiting(a.Out, a.Errs) })
	return a
}

// FindProjectAnew has [App.ProjectDir] look for the project again, after a change of Dir.
func (a *App) FindProjectAnew() { a.project = sync.OnceValues(a.findProject) }

// DetailedExitCode is the flag with which commands return [ErrChanges].
const DetailedExitCode = "detailed-exitcode"

// ErrChanges is the error of a command that succeeded with changes, and only sets the exit code.
var ErrChanges = errors.New("there are changes")

// ErrUnexpected is the error of a command that found changes, if --expect-no-changes is set.
var ErrUnexpected = errors.New("there are changes, and --expect-no-changes was given")

// Events marks a command that writes events with --json, as an annotation.
const Events = "events"

// show shows an error: to programs, too, if they have got nothing else.
func (a *App) show(cmd *cobra.Command, args []string, err error) {
	wanted := a.JSON || slices.Contains(args, "--json") || slices.Contains(args, "--json=true") // which is not parsed behind a wrong flag
	toPrograms := wanted && !a.Out.Written()
	if toPrograms && cmd.Annotations[Events] != "" {
		display.NewJSON(a.Out).Close(err)
		return
	}
	display.WriteErrors(a.Errs, err)
	if toPrograms {
		_ = a.WriteJSON(map[string]any{"diagnostics": display.Diagnostics(a.Out, err)}) // who does not read it has the text
	}
}

// Run runs the root command and returns the exit code. It shows errors that no display has shown.
func (a *App) Run(root *cobra.Command, args []string) int {
	root.SetArgs(args)
	cmd, err := root, checkDashes(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(a.signals.With(context.Background()))
	}
	if errors.Is(err, ErrChanges) {
		return ExitChanges
	}
	if err != nil && !IsShown(err) && !errors.Is(err, display.ErrGone) {
		a.show(cmd, args, err)
	}
	if missing := (*workspace.NoStackError)(nil); errors.As(err, &missing) && a.StackVariable != "" && !a.JSON {
		a.Say("The environment variable %s names the stack.", a.StackVariable)
	}
	if a.Pulumi != nil {
		return a.Pulumi.ExitCode(err)
	}
	var pending *engine.PendingCreatesError
	switch {
	case err == nil:
		return ExitDone
	case IsUsage(err) && !slices.Contains(args, "--"+DetailedExitCode):
		return ExitUsage
	case errors.Is(err, state.ErrLocked), errors.Is(err, state.ErrFenced), errors.Is(err, backend.ErrUnreachable):
		return ExitBusy
	case errors.As(err, &pending):
		return ExitPending
	default:
		return ExitFailed
	}
}
