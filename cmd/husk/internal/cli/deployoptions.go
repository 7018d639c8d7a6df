package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// deployOptions are the flags that change what a deployment does.
type deployOptions struct {
	selectionFlags
	continueOnError, ignoreProtect, updateOnImport, legacyDiff, runProgram bool
	clearPendingCreates, stopOnPending                                     bool
	adopt                                                                  []string
	// adopted is what parse made of adopt.
	adopted map[urn.URN]string
}

// addUpdate adds the flags of commands that update resources.
func (o *deployOptions) addUpdate(cmd *cobra.Command) {
	o.addFailures(cmd)
	o.addReplace(cmd)
	cmd.Flags().BoolVar(&o.updateOnImport, "update-on-import", false,
		"update an imported resource that differs from the program, instead of failing")
	cmd.Flags().BoolVar(&o.stopOnPending, "stop-on-pending", false,
		"fail if an earlier run was interrupted while it created resources")
	cmd.Flags().BoolVar(&o.legacyDiff, "legacy-diff", false, "call Diff of providers only if inputs changed")
}

// addFailures adds the flags of commands that delete resources.
func (o *deployOptions) addFailures(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.continueOnError, "continue-on-error", false, "after a failure, continue with resources that do not depend on the failed one")
	cmd.Flags().BoolVar(&o.ignoreProtect, "ignore-protect", false, "delete and replace protected resources as well")
}

// addRunProgram adds the flag of commands that work without the program.
func (o *deployOptions) addRunProgram(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.runProgram, "run-program", false,
		"run the program, so that providers get their current configuration")
}

// addPending adds the flags about creations that were cut off.
func (o *deployOptions) addPending(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.clearPendingCreates, "clear-pending-creates", false,
		"forget creations that an earlier run did not finish (first check what they created)")
	cmd.Flags().StringArrayVar(&o.adopt, "adopt-pending-creates", nil,
		"adopt the object of a creation that an earlier run did not finish: URN=ID; can be repeated")
}

// parse reads the flags that are more than words.
func (o *deployOptions) parse() error {
	o.adopted = make(map[urn.URN]string)
	for _, text := range o.adopt {
		i := strings.LastIndex(text, "=")
		if i < 0 || i == len(text)-1 {
			return usagef("--adopt-pending-creates %s: must have the form <urn>=<id>", text)
		}
		u, err := urn.Parse(text[:i])
		if err != nil {
			return usagef("--adopt-pending-creates: %v", err)
		}
		o.adopted[u] = text[i+1:]
	}
	return o.selectionFlags.parse()
}

// up makes an update of the flags.
func (f *deployFlags) up(ctx context.Context, o *opened) (engine.Up, error) {
	policies, err := f.policies.open(ctx, o.Plugins)
	return engine.Up{
		Program: o.Program, Policies: policies, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
		Selection: f.selection, Replace: f.replaced, IgnoreProtect: f.ignoreProtect, LegacyDiff: f.legacyDiff,
		UpdateOnImport: f.updateOnImport, StopOnPending: f.stopOnPending,
	}, err
}

func (f *deployFlags) refreshing(_ context.Context, o *opened) (engine.Operation, error) {
	return engine.Refresh{
		Program: o.Program, Selection: f.selection, ClearPendingCreates: f.clearPendingCreates, AdoptPendingCreates: f.adopted,
	}, nil
}

func (f *deployFlags) destroying(_ context.Context, o *opened) (engine.Operation, error) {
	return engine.Destroy{
		Program: o.Program, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
		Selection: f.selection, IgnoreProtect: f.ignoreProtect,
	}, nil
}

func (f *deployFlags) refreshesFirst(o *opened) bool { return f.refreshes(o.Workspace.Project) }
