package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) cancel() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel", Short: "Take the lock of the stack away from a run that does not end", Args: arguments(0, 0),
		Long: "A lock ends with the process that holds it, so this is for a process that hangs, or runs on\n" +
			"another machine that shares the directory. Whatever that run would still record is refused;\n" +
			"what it is doing goes on, and the next run does not know how it ended: refresh first.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			if err := a.agree(yes, "cancel", "Take the lock of the stack "+stack+" away?"); err != nil {
				return err
			}
			if err := w.Break(cmd.Context(), stack); err != nil {
				return err
			}
			a.say("The stack %s is no longer locked.", stack)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "go ahead without asking")
	return cmd
}
