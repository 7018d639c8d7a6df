package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Run is the function of a command.
type Run = func(cmd *cobra.Command, args []string) error

// Group adds subcommands to a command. Without one, the command runs do, or shows its help if do is nil.
func Group(cmd *cobra.Command, do Run, subcommands ...*cobra.Command) *cobra.Command {
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
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// CheckArguments has commands take the arguments of their usage, such as "set KEY [VALUE]".
func CheckArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		CheckArguments(sub)
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
			return Usagef("missing argument %s: %s", strings.TrimSuffix(names[len(args)], "..."), cmd.UseLine())
		case len(args) > len(names) && !many:
			return Usagef("unexpected argument %q: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// Given calls do with each flag that was given, once for each value of one that can be repeated.
func Given(cmd *cobra.Command, do func(flag, value string)) { cmd.Flags().Visit(eachValue(do)) }

// NotForRuns annotates a flag that says nothing to the worker of a run.
const NotForRuns = "not for runs"

// Values is [Given] with the defaults of all other flags.
func Values(cmd *cobra.Command, do func(flag, value string)) { cmd.Flags().VisitAll(eachValue(do)) }

func eachValue(do func(flag, value string)) func(*pflag.Flag) {
	return func(flag *pflag.Flag) {
		if flag.Hidden { // another name of a flag, or one without effect
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			do(flag.Name, value)
		}
	}
}

type usageError struct{ err error }

// Usagef returns an error of the command line itself.
func Usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// Usage marks an error of the command line itself.
func Usage(err error) error { return &usageError{err} }

// IsUsage reports whether an error is one of the command line itself.
func IsUsage(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

type shownError struct{ err error }

// Shown marks an error that a display has shown.
func Shown(err error) error { return &shownError{err} }

// IsShown reports whether a display has shown an error.
func IsShown(err error) bool {
	_, ok := errors.AsType[*shownError](err)
	return ok
}

func (e *shownError) Error() string { return e.err.Error() }

func (e *shownError) Unwrap() error { return e.err }

// AddShowSecrets adds the flag of commands that mask secrets.
func AddShowSecrets(cmd *cobra.Command, show *bool) {
	cmd.Flags().BoolVar(show, "show-secrets", false, "show secrets in plain text")
}
