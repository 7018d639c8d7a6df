// Package stackcmd has the commands for stacks, their states, and their configuration.
package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/stackgraph"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// commands are those for stacks, their states, and their configuration.
type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.cancel(), c.stackCommand(), c.stateCommand(), c.configCommand(), c.login(), c.logout(), c.whoami()}
}

func (a commands) stackCommand() *cobra.Command {
	var all, urns bool
	cmd := &cobra.Command{
		Use: "stack", Short: "Show and manage stacks",
		Long: "Without a command, show the resources of the stack by their parents.",
	}
	cmd.Flags().BoolVar(&all, "all", false, fmt.Sprintf("show all children of a resource, not %d at most", shownChildren))
	cmd.Flags().BoolVarP(&urns, "show-urns", "u", false, "show the URN of each resource")
	show := func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
		return a.showStack(ctx, w, stack, all, urns)
	}
	return cli.Group(cmd, a.OnStack(show),
		a.stackInit(), a.stackList(), a.stackSelect(), a.stackOutput(), a.stackExport(), a.stackImport(),
		a.stackRename(), a.stackMigrate(), a.changeSecretsProvider(), a.stackHistory(), a.stackRestore(), a.stackRemove())
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
	snapshot, _, err := w.Read(ctx, name, true)
	if err != nil {
		return stackInfo{Name: name, Selected: name == selected}, err
	}
	return stackInfoIn(snapshot, name, selected), nil
}

func stackInfoIn(snapshot *state.Snapshot, name, selected string) stackInfo {
	info := stackInfo{Name: name, Selected: name == selected}
	info.Resources = workspace.CountResources(snapshot)
	if t := snapshot.Manifest.Time; !t.IsZero() {
		info.Updated = &t
	}
	return info
}

// shownChildren bounds the lines of a tree: a resource with more children rarely has them for people.
const shownChildren = 50

func (a commands) showStack(ctx context.Context, w *workspace.Workspace, stack string, all, urns bool) error {
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return err
	}
	info := stackInfoIn(snapshot, stack, stack)
	if a.JSON {
		return a.WriteJSON(info)
	}
	if err := a.Printf("%s/%s: %s, kept in %s\n", w.Project.Name, stack, cli.Plural(info.Resources, "resource"), w.Place); err != nil {
		return err
	}
	most := shownChildren
	if all {
		most = 0
	}
	style := a.Out.Style()
	for _, b := range stackgraph.Tree(snapshot, most) {
		line := style.Faint(b.Prefix)
		if b.Resource == nil {
			line += style.Faint(fmt.Sprintf("… and %d more: husk stack --all, or husk state ls", b.More))
		} else if subject, marks := b.Subject(); marks == "" {
			line += subject
		} else {
			line += subject + " " + style.Faint("("+marks+")")
		}
		if urns && b.Resource != nil {
			line += " " + style.Faint(string(b.Resource.URN))
		}
		if _, err := fmt.Fprintln(a.Out, line); err != nil {
			return cli.Writing(err)
		}
	}
	return nil
}

func (a commands) stackInit() *cobra.Command {
	var noSelect bool
	cmd := &cobra.Command{
		Use: "init NAME", Short: "Create a stack and select it",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, stack, err := a.named(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := w.Init(cmd.Context(), stack); err != nil {
				return err
			}
			if noSelect {
				a.Say("Created the stack %s.", stack)
				return nil
			}
			return a.selectStack(cmd.Context(), w, stack, true)
		},
	}
	cmd.Flags().BoolVar(&noSelect, "no-select", false, "only create it")
	return cmd
}

func (a commands) stackSelect() *cobra.Command {
	var create bool
	cmd := &cobra.Command{
		Use: "select [NAME]", Short: "Select the stack that later commands use",
		Long: "Select the stack that later commands use, by its name or by --stack.",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := a.Stack
			if a.StackVariable != "" { // which says nothing of later commands
				name = ""
			}
			if len(args) == 1 {
				name = args[0]
			}
			if name == "" {
				return cli.Usagef("missing argument NAME: %s", cmd.UseLine())
			}
			w, stack, err := a.named(cmd.Context(), name)
			if err != nil {
				return err
			}
			err = a.selectStack(cmd.Context(), w, stack, false)
			if missing := (*workspace.NoStackError)(nil); !create || !errors.As(err, &missing) {
				return err
			}
			if err := w.Init(cmd.Context(), stack); err != nil {
				return err
			}
			return a.selectStack(cmd.Context(), w, stack, true)
		},
	}
	cmd.Flags().BoolVarP(&create, "create", "c", false, "create the stack if there is none of that name")
	return cmd
}

// named opens the project, and returns the name in it of a stack, which may have the project's before it.
func (a commands) named(ctx context.Context, name string) (*workspace.Workspace, string, error) {
	w, err := a.Workspace(ctx)
	if err != nil {
		return nil, "", err
	}
	stack, err := w.Stack(name)
	return w, stack, err
}

// selectStack selects a stack, which may have been created just now.
func (a commands) selectStack(ctx context.Context, w *workspace.Workspace, stack string, created bool) error {
	if err := w.Select(ctx, stack); err != nil {
		return err
	}
	if created {
		a.Say("Created the stack %s and selected it.", stack)
	}
	if a.StackVariable != "" {
		a.Say("%s is set, so husk still uses the stack %s.", a.StackVariable, a.Stack)
	}
	return nil
}

func (a commands) stackList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List the project's stacks",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, selected string, _ []string) error {
			ctx = state.Together(ctx)
			if all {
				return a.listAll(ctx, w)
			}
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
			if elsewhere := w.NotedElsewhere(); elsewhere != nil {
				none = "No stacks here: " + elsewhere.Error()
			}
			return a.listStacks(infos, none)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the stacks of all projects in the backend, as PROJECT/STACK")
	return cmd
}

// listAll lists the stacks of all projects in the backend.
func (a commands) listAll(ctx context.Context, w *workspace.Workspace) error {
	names, err := w.Everything(ctx)
	if err != nil {
		return err
	}
	infos := make([]stackInfo, len(names))
	for i, name := range names {
		snapshot, err := w.ReadAny(ctx, name)
		if err != nil {
			infos[i] = stackInfo{Name: name.String(), Error: err.Error()}
			continue
		}
		infos[i] = stackInfoIn(snapshot, name.String(), "")
	}
	return a.listStacks(infos, "There are no stacks in "+w.Place+".")
}

func (a commands) listStacks(infos []stackInfo, none string) error {
	if err := cli.WriteList(a.App, infos, none, []string{"  NAME", "RESOURCES", "UPDATED"}, stackRow); err != nil || a.JSON {
		return err
	}
	for _, s := range infos {
		if s.Error != "" {
			a.Say("The stack %s cannot be read: %s", s.Name, s.Error)
		}
	}
	return nil
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

func (a commands) stackRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME", Short: "Rename the stack, also in its state",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			if err := w.Rename(ctx, stack, args[0]); err != nil {
				return err
			}
			a.Say("Renamed the stack %s to %s.", stack, args[0])
			return nil
		}),
	}
}

func (a commands) stackRemove() *cobra.Command {
	var force, yes bool
	remove := a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
		var forget func([]*state.Resource, error) error
		if force {
			forget = func(objects []*state.Resource, err error) error {
				if err != nil {
					a.Say("The stack %s cannot be read: %v", stack, err)
				} else {
					a.sayForgotten(stack, objects)
				}
				return a.Agree(yes, "stack rm", "Forget what the stack "+stack+" has? Nothing will delete it.")
			}
		}
		return Remove(ctx, a.App, w, stack, forget)
	})
	cmd := &cobra.Command{
		Use: "rm [NAME]", Short: "Remove a stack that has no resources",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.Stack = args[0]
			}
			return remove(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove the stack even if it has resources; they are listed, and not deleted")
	cli.AddYes(cmd, &yes)
	return cmd
}

// Remove removes a stack without resources, or one whose resources forget agrees to forget.
func Remove(ctx context.Context, a *cli.App, w *workspace.Workspace, stack string, forget func([]*state.Resource, error) error) error {
	if err := w.Remove(ctx, stack, forget); err != nil {
		return err
	}
	a.Say("Removed the stack %s.", stack)
	commands{a}.collectModules(ctx, w)
	return w.Forget(stack)
}

// shownForgotten bounds the list of resources that a command forgets.
const shownForgotten = 20

// sayForgotten lists what a stack that is about to be forgotten has.
func (a commands) sayForgotten(stack string, objects []*state.Resource) {
	a.Say("The stack %s still has %s:", stack, cli.Plural(len(objects), "resource"))
	for i, r := range objects {
		if i == shownForgotten {
			a.Say("  … and %d more: husk state ls", len(objects)-i)
			return
		}
		id := string(r.ID)
		if id == "" {
			id = "its run was cut off"
		}
		a.Say("  %s (%s)", display.Subject(r.Type, r.URN.Name()), id)
	}
}

// collectModules removes the modules that no stack needs any more.
func (a commands) collectModules(ctx context.Context, w *workspace.Workspace) {
	collect := func() error {
		if w.SharedModules() != nil {
			return w.CollectShared(ctx)
		}
		return plugins.CollectModules(w.ModulesDir(), func() (map[string]bool, error) { return w.ModulesInUse(ctx, nil) })
	}
	if err := collect(); err != nil {
		a.Say("%s", stackrun.NotCollected(err))
	}
}

func (a commands) cancel() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "cancel", Short: "Release the lock of a stuck run",
		Long: "A lock ends with the process that holds it. Use this command if that process hangs, or if it ran\n" +
			"on another machine that shares the directory. Further writes of that run are refused. Calls that it\n" +
			"has started go on, and their outcome is not recorded: refresh before the next update.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			if err := a.Agree(yes, "cancel", "Release the lock of the stack "+stack+"?"); err != nil {
				return err
			}
			if err := w.Break(ctx, stack); err != nil {
				return err
			}
			a.Say("Released the lock of the stack %s.", stack)
			return nil
		}),
	}
	cli.AddYes(cmd, &yes)
	return cmd
}
