package stackcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a commands) stackHistory() *cobra.Command {
	return &cobra.Command{
		Use: "history", Short: "List the changes of the stack: who, when, how long, and what",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			updates, damaged, err := w.History(ctx, stack)
			if err != nil {
				return err
			}
			none := "The stack " + stack + " has no history yet."
			if damaged > 0 {
				none = ""
				a.Say("The history of the stack %s is damaged: %s cannot be read.", stack, cli.Plural(damaged, "update"))
			}
			return cli.WriteList(a.App, updates, none, []string{"WHEN", "TOOK", "WHO", "WHAT", "RESULT"}, func(u workspace.Update) []string {
				return []string{u.Start.Local().Format(time.DateTime), fmt.Sprintf("%.1fs", u.End.Sub(u.Start).Seconds()), who(u), u.Kind, result(u)}
			})
		}),
	}
}

func who(u workspace.Update) string {
	if u.Host == "" {
		return u.User
	}
	return u.User + "@" + u.Host
}

// result returns how an update ended, and its steps until then.
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

func (a commands) stackRestore() *cobra.Command {
	var yes, list bool
	cmd := &cobra.Command{
		Use: "restore [BACKUP]", Short: "Restore an earlier state of the stack",
		Long: "Replace the state of the stack with the one before the last deployment or edit, or with any other\n" +
			"that --list shows. The replaced state can be restored in turn. No resource is changed: refresh\n" +
			"before the next update.\n\n" +
			"The command also works if the state is damaged or gone. It then restores the newest state that can\n" +
			"be read, and keeps the damaged files under other names. The next update reports resources that only\n" +
			"the damaged files name.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if list {
				return a.listBackups(ctx, w, stack)
			}
			id, which := "", "before the last change"
			if len(args) == 1 {
				id, which = args[0], "of the backup "+args[0]
			}
			if err := a.Agree(yes, "stack restore", "Restore the state "+which+" of the stack "+stack+"?"); err != nil {
				return err
			}
			restored, err := w.Restore(ctx, stack, id)
			if err != nil {
				return err
			}
			if len(restored.Aside) > 0 {
				which = "of the backup " + restored.ID // which need not be that before the last change
			}
			a.Say("Restored the stack %s to the state %s: %s.", stack, strings.Replace(which, "the last", "its last", 1), cli.Plural(restored.Resources, "resource"))
			a.sayAside(restored.Aside)
			for _, u := range restored.Unsure {
				a.Say("The damaged state names %s, which the restored state lacks: the next update says what to do if it exists.", u)
			}
			return nil
		}),
	}
	cli.AddYes(cmd, &yes)
	cmd.Flags().BoolVar(&list, "list", false, "list the earlier states instead of restoring one")
	return cmd
}

func (a commands) listBackups(ctx context.Context, w *workspace.Workspace, stack string) error {
	backups, err := w.Backups(ctx, stack)
	if err != nil {
		return err
	}
	none := "The stack " + stack + " has no earlier state."
	return cli.WriteList(a.App, backups, none, []string{"BACKUP", "WRITTEN", "RESOURCES"}, func(b workspace.Backup) []string {
		resources := strconv.Itoa(b.Resources)
		if b.Damage != "" {
			resources = "damaged"
		}
		return []string{b.ID, b.Written.Local().Format(time.DateTime), resources}
	})
}

// sayAside names the files that keep damaged ones.
func (a commands) sayAside(files []string) {
	for _, file := range files {
		a.Say("Kept the damaged file as %s.", file)
	}
}
