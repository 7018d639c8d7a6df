package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a *app) stackCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stack", Short: "Show and manage stacks"}
	return group(cmd, a.onStack(a.showStack),
		a.stackInit(), a.stackList(), a.stackSelect(), a.stackOutput(), a.stackExport(), a.stackImport(),
		a.stackRename(), a.stackHistory(), a.stackRestore(), a.stackRemove())
}

type stackInfo struct {
	Name      string     `json:"name"`
	Selected  bool       `json:"selected"`
	Resources int        `json:"resources"`
	Updated   *time.Time `json:"updated,omitempty"`
	// Error is why the state cannot be read, empty if it can.
	Error string `json:"error,omitempty"`
}

func stackInfoOf(ctx context.Context, w *workspace.Workspace, name, selected string) (stackInfo, error) {
	info := stackInfo{Name: name, Selected: name == selected}
	snapshot, _, err := w.Read(ctx, name, true)
	if err != nil {
		return info, err
	}
	info.Resources = workspace.CountResources(snapshot)
	if t := snapshot.Manifest.Time; !t.IsZero() {
		info.Updated = &t
	}
	return info, nil
}

func (a *app) showStack(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
	info, err := stackInfoOf(ctx, w, stack, stack)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(info)
	}
	return a.printf("%s/%s: %s, kept in %s\n", w.Project.Name, stack, plural(info.Resources, "resource"), w.Place)
}

// currentStack opens the project and returns the stack to work on.
func (a *app) currentStack(ctx context.Context) (*workspace.Workspace, string, error) {
	w, err := a.workspace(ctx)
	if err != nil {
		return nil, "", err
	}
	stack, err := w.Stack(a.stack)
	return w, stack, err
}

func (a *app) stackInit() *cobra.Command {
	return &cobra.Command{
		Use: "init NAME", Short: "Create a stack and select it",
		RunE: func(cmd *cobra.Command, args []string) error { return a.selectStack(cmd.Context(), args[0], true) },
	}
}

func (a *app) stackSelect() *cobra.Command {
	return &cobra.Command{
		Use: "select NAME", Short: "Select the stack that later commands use",
		RunE: func(cmd *cobra.Command, args []string) error { return a.selectStack(cmd.Context(), args[0], false) },
	}
}

// selectStack selects a stack, which it creates first if create is set.
func (a *app) selectStack(ctx context.Context, stack string, create bool) error {
	w, err := a.workspace(ctx)
	if err == nil && create {
		err = w.Init(ctx, stack)
	}
	if err == nil {
		err = w.Select(ctx, stack)
	}
	if err != nil {
		return err
	}
	if create {
		a.say("Created the stack %s and selected it.", stack)
	}
	if a.stackVariable != "" {
		a.say("%s is set, so husk still uses the stack %s.", a.stackVariable, a.stack)
	}
	return nil
}

func (a *app) stackList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the project's stacks",
		RunE: a.onStack(func(ctx context.Context, w *workspace.Workspace, selected string, _ []string) error {
			names, err := w.Stacks(ctx)
			if err != nil {
				return err
			}
			infos := make([]stackInfo, len(names))
			for i, name := range names {
				if infos[i], err = stackInfoOf(ctx, w, name, selected); err != nil {
					infos[i].Error = err.Error() // a stack that cannot be read does not hide the others
				}
			}
			none := "No stacks yet: husk up creates \"" + workspace.DefaultStack + "\", husk stack init creates others."
			if err := writeList(a, infos, none, []string{"  NAME", "RESOURCES", "UPDATED"}, stackRow); err != nil || a.json {
				return err
			}
			for _, s := range infos {
				if s.Error != "" {
					a.say("The stack %s cannot be read: %s", s.Name, s.Error)
				}
			}
			return nil
		}),
	}
}

func stackRow(s stackInfo) []string {
	mark, updated := "  ", "never"
	if s.Selected {
		mark = "* "
	}
	if s.Updated != nil {
		updated = s.Updated.Local().Format(time.DateTime)
	}
	if s.Error != "" {
		return []string{mark + s.Name, "?", "cannot be read"}
	}
	return []string{mark + s.Name, strconv.Itoa(s.Resources), updated}
}

func (a *app) stackRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME", Short: "Rename the stack, also in its state",
		RunE: a.onStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if err := w.Rename(ctx, stack, args[0]); err != nil {
				return err
			}
			a.say("Renamed the stack %s to %s.", stack, args[0])
			return nil
		}),
	}
}

func (a *app) stackRemove() *cobra.Command {
	var force bool
	remove := a.onStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
		if err := w.Remove(ctx, stack, force); err != nil {
			return err
		}
		a.say("Removed the stack %s.", stack)
		a.collectModules(ctx, w)
		return w.Forget(stack)
	})
	cmd := &cobra.Command{
		Use: "rm [NAME]", Short: "Remove a stack that has no resources",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.stack = args[0]
			}
			return remove(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove the stack even if it has resources; they are not deleted")
	return cmd
}

// collectModules removes the modules that no stack needs any more.
func (a *app) collectModules(ctx context.Context, w *workspace.Workspace) {
	inUse := func() (map[string]bool, error) { return w.ModulesInUse(ctx, nil) }
	if err := plugins.CollectModules(w.ModulesDir(), inUse); err != nil {
		a.say("%s", stackrun.NotCollected(err))
	}
}

func (a *app) cancel() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel", Short: "Release the lock of a stuck run",
		Long: "A lock ends with the process that holds it. Use this command if that process hangs, or if it ran\n" +
			"on another machine that shares the directory. Further writes of that run are refused. Calls that it\n" +
			"has started go on, and their outcome is not recorded: refresh before the next update.",
		RunE: a.onStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			if err := a.agree(yes, "cancel", "Release the lock of the stack "+stack+"?"); err != nil {
				return err
			}
			if err := w.Break(ctx, stack); err != nil {
				return err
			}
			a.say("Released the lock of the stack %s.", stack)
			return nil
		}),
	}
	addYes(cmd, &yes)
	return cmd
}

// addYes adds the flag of commands that ask for confirmation.
func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "proceed without confirmation")
}

// addShowSecrets adds the flag of commands that mask secrets.
func addShowSecrets(cmd *cobra.Command, show *bool) {
	cmd.Flags().BoolVar(show, "show-secrets", false, "show secrets in plain text")
}
