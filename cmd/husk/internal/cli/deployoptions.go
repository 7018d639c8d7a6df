package cli

import (
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
}

// addUpdate adds the flags of commands that update resources.
func (o *deployOptions) addUpdate(cmd *cobra.Command) {
	o.addFailures(cmd)
	o.addReplace(cmd)
	cmd.Flags().BoolVar(&o.updateOnImport, "update-on-import", false,
		"update an imported resource to what the program says where it differs, instead of refusing it")
	cmd.Flags().BoolVar(&o.stopOnPending, "stop-on-pending", false,
		"do nothing while there are creations that an earlier run was cut off in")
	cmd.Flags().BoolVar(&o.legacyDiff, "legacy-diff", false, "ask providers what differs only where inputs changed")
}

// addFailures adds the flags of commands that delete resources.
func (o *deployOptions) addFailures(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.continueOnError, "continue-on-error", false, "after a failure, go on with what does not depend on it")
	cmd.Flags().BoolVar(&o.ignoreProtect, "ignore-protect", false, "delete and replace protected resources as well")
}

// addRunProgram adds the flag of commands that work without the program.
func (o *deployOptions) addRunProgram(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.runProgram, "run-program", false,
		"run the program, which gives providers the configuration that they have now")
}

// addPending adds the flags about creations that were cut off.
func (o *deployOptions) addPending(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.clearPendingCreates, "clear-pending-creates", false,
		"forget creations that an earlier run was cut off in (look for what they made first)")
	cmd.Flags().StringArrayVar(&o.adopt, "adopt-pending-creates", nil,
		"take over what a creation made that an earlier run was cut off in: URN=ID; can be repeated")
}

// apply puts the flags into a deployment.
func (o *deployOptions) apply(d *engine.Deployment) error {
	d.ContinueOnError, d.IgnoreProtect = o.continueOnError, o.ignoreProtect
	d.UpdateOnImport, d.LegacyDiff = o.updateOnImport, o.legacyDiff
	d.RunProgram, d.ClearPendingCreates, d.StopOnPending = o.runProgram, o.clearPendingCreates, o.stopOnPending
	if err := o.selectionFlags.apply(d); err != nil {
		return err
	}
	for _, text := range o.adopt {
		i := strings.LastIndex(text, "=")
		if i < 0 || i == len(text)-1 {
			return usagef("--adopt-pending-creates %s: must have the form <urn>=<id>", text)
		}
		u, err := urn.Parse(text[:i])
		if err != nil {
			return usagef("--adopt-pending-creates: %v", err)
		}
		if d.AdoptPendingCreates == nil {
			d.AdoptPendingCreates = make(map[urn.URN]string)
		}
		d.AdoptPendingCreates[u] = text[i+1:]
	}
	return nil
}
