package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a *app) stackHistory() *cobra.Command {
	return &cobra.Command{
		Use: "history", Short: "List the changes of the stack: who, when, how long, and what", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			updates, damaged, err := w.History(cmd.Context(), stack)
			if err != nil {
				return err
			}
			if damaged > 0 {
				a.say("The history of the stack %s is damaged: %s cannot be read.", stack, plural(damaged, "update"))
			}
			if a.json {
				if updates == nil {
					updates = []workspace.Update{}
				}
				return a.writeJSON(updates)
			}
			if len(updates) == 0 && damaged == 0 {
				a.say("The stack %s has no history yet.", stack)
				return nil
			}
			t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "WHEN\tTOOK\tWHO\tWHAT\tRESULT")
			for _, u := range updates {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", u.Start.Local().Format(time.DateTime), took(u), display.Escape(who(u)), display.Escape(u.Kind), result(u))
			}
			return writing(t.Flush())
		},
	}
}

func took(u workspace.Update) string {
	return fmt.Sprintf("%.1fs", u.End.Sub(u.Start).Seconds())
}

func who(u workspace.Update) string {
	if u.Host == "" {
		return u.User
	}
	return u.User + "@" + u.Host
}

// result says how an update ended, and what it did until then.
func result(u workspace.Update) string {
	var parts []string
	if c := u.Changes; c != nil {
		for _, n := range []struct {
			count int
			what  string
		}{{c.Create, "created"}, {c.Update, "updated"}, {c.Replace, "replaced"}, {c.Delete, "deleted"}} {
			if n.count > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
			}
		}
		if len(parts) == 0 {
			parts = append(parts, "nothing changed")
		}
	}
	if u.Result != "succeeded" {
		parts = append([]string{u.Result}, parts...)
	}
	return strings.Join(parts, ", ")
}

func (a *app) stackRestore() *cobra.Command {
	var yes, list bool
	cmd := &cobra.Command{
		Use: "restore [BACKUP]", Short: "Restore an earlier state of the stack", Args: arguments(0, 1),
		Long: "Replace the state of the stack with the one before the last deployment or edit, or with any other\n" +
			"that --list shows. The replaced state can be restored in turn. No resource is changed: refresh\n" +
			"before the next update.\n\n" +
			"The command also works if the state is damaged or gone. It then restores the newest state that can\n" +
			"be read, and keeps the damaged files under other names. The next update reports resources that only\n" +
			"the damaged files name.",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			if list {
				return a.listBackups(cmd.Context(), w, stack)
			}
			id, which := "", "before the last change"
			if len(args) == 1 {
				id, which = args[0], "of the backup "+args[0]
			}
			if err := a.agree(yes, "stack restore", "Restore the state "+which+" of the stack "+stack+"?"); err != nil {
				return err
			}
			restored, err := w.Restore(cmd.Context(), stack, id)
			if err != nil {
				return err
			}
			if len(restored.Aside) > 0 {
				which = "of the backup " + restored.ID // which need not be that before the last change
			}
			a.say("Restored the stack %s to the state %s: %s.", stack, strings.Replace(which, "the last", "its last", 1), plural(restored.Resources, "resource"))
			a.sayAside(restored.Aside)
			for _, u := range restored.Unsure {
				a.say("The damaged state names %s, which the restored state lacks: the next update says what to do if it exists.", u)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "proceed without confirmation")
	cmd.Flags().BoolVar(&list, "list", false, "list the earlier states instead of restoring one")
	return cmd
}

func (a *app) listBackups(ctx context.Context, w *workspace.Workspace, stack string) error {
	backups, err := w.Backups(ctx, stack)
	if err != nil {
		return err
	}
	if a.json {
		if backups == nil {
			backups = []workspace.Backup{}
		}
		return a.writeJSON(backups)
	}
	if len(backups) == 0 {
		a.say("The stack %s has no earlier state.", stack)
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BACKUP\tWRITTEN\tRESOURCES")
	for _, b := range backups {
		resources := strconv.Itoa(b.Resources)
		if b.Damage != "" {
			resources = "damaged"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", b.ID, b.Written.Local().Format(time.DateTime), resources)
	}
	return writing(t.Flush())
}

// sayAside names the files under which damaged ones are kept.
func (a *app) sayAside(files []string) {
	for _, file := range files {
		a.say("Kept the damaged file as %s.", file)
	}
}
