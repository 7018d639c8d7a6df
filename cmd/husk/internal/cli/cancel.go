package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) cancel() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel", Short: "Release the lock of a stuck run", Args: arguments(0, 0),
		Long: "A lock ends with the process that holds it. Use this command if that process hangs, or if it ran\n" +
			"on another machine that shares the directory. Further writes of that run are refused. Calls that it\n" +
			"has started go on, and their outcome is not recorded: refresh before the next update.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.agree(yes, "cancel", "Release the lock of the stack "+stack+"?"); err != nil {
				return err
			}
			if err := w.Break(cmd.Context(), stack); err != nil {
				return err
			}
			a.say("Released the lock of the stack %s.", stack)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "proceed without confirmation")
	return cmd
}
