package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

func (a *app) stackCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stack", Short: "Show and manage stacks"}
	return group(cmd, a.showStack,
		a.stackInit(), a.stackList(), a.stackSelect(), a.stackOutput(), a.stackExport(), a.stackImport(),
		a.stackRename(), a.stackHistory(), a.stackRestore(), a.stackRemove())
}

// stackInfo is what lists tell of a stack.
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
		return stackInfo{}, err
	}
	info := stackInfo{Name: name, Selected: name == selected, Resources: workspace.CountResources(snapshot)}
	if t := snapshot.Manifest.Time; !t.IsZero() {
		info.Updated = &t
	}
	return info, nil
}

func (a *app) showStack(cmd *cobra.Command) error {
	w, stack, err := a.currentStack(cmd.Context())
	if err != nil {
		return err
	}
	info, err := stackInfoOf(cmd.Context(), w, stack, stack)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(info)
	}
	return a.printf("%s/%s: %s, kept in %s\n", w.Project.Name, stack, plural(info.Resources, "resource"), w.Place)
}

// currentStack opens the project and says which stack to work on.
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
		Use: "init NAME", Short: "Create a stack and select it", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			if err := w.Init(cmd.Context(), args[0]); err != nil {
				return err
			}
			if err := w.Select(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.say("Created the stack %s and selected it.", args[0])
			a.tellOverridden()
			return nil
		},
	}
}

func (a *app) stackList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the project's stacks", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, selected, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			names, err := w.Stacks(cmd.Context())
			if err != nil {
				return err
			}
			infos := make([]stackInfo, len(names))
			for i, name := range names {
				if infos[i], err = stackInfoOf(cmd.Context(), w, name, selected); err != nil {
					// One that cannot be read does not hide the others.
					infos[i] = stackInfo{Name: name, Selected: name == selected, Error: err.Error()}
				}
			}
			if a.json {
				return a.writeJSON(infos)
			}
			return a.writeStacks(infos)
		},
	}
}

func (a *app) writeStacks(infos []stackInfo) error {
	if len(infos) == 0 {
		a.say("No stacks yet: husk up creates %q, husk stack init creates others.", workspace.DefaultStack)
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  NAME\tRESOURCES\tUPDATED")
	for _, s := range infos {
		mark, updated := " ", "never"
		if s.Selected {
			mark = "*"
		}
		if s.Updated != nil {
			updated = s.Updated.Local().Format(time.DateTime)
		}
		resources := strconv.Itoa(s.Resources)
		if s.Error != "" {
			resources, updated = "?", "cannot be read"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\n", mark, s.Name, resources, updated)
	}
	if err := t.Flush(); err != nil {
		return writing(err)
	}
	for _, s := range infos {
		if s.Error != "" {
			a.say("The stack %s cannot be read: %s", s.Name, s.Error)
		}
	}
	return nil
}

func (a *app) stackSelect() *cobra.Command {
	return &cobra.Command{
		Use: "select NAME", Short: "Select the stack that later commands use", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.workspace(cmd.Context())
			if err != nil {
				return err
			}
			if err := w.Select(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.tellOverridden()
			return nil
		},
	}
}

func (a *app) stackRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME", Short: "Rename the stack, also in its state", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			if err := w.Rename(cmd.Context(), stack, args[0]); err != nil {
				return err
			}
			a.say("Renamed the stack %s to %s.", stack, args[0])
			return nil
		},
	}
}

func (a *app) stackRemove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "rm [NAME]", Short: "Remove a stack that has no resources", Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.stack = args[0]
			}
			w, stack, err := a.currentStack(cmd.Context())
			if err != nil {
				return err
			}
			if err := w.Remove(cmd.Context(), stack, force); err != nil {
				return err
			}
			a.say("Removed the stack %s.", stack)
			a.collectModules(cmd.Context(), w)
			return w.Forget(stack)
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

// writeJSON writes a result as JSON for programs, readable for people.
func (a *app) writeJSON(v any) error { return a.writeJSONBy(v, "  ") }

// writeJSONBy writes a result as JSON that is indented by so much, in one line if that is nothing.
func (a *app) writeJSONBy(v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(v)
	if err == nil {
		err = a.out.WriteData(display.EscapeJSON(a.secrets.InJSON(b.Bytes())))
	}
	return writing(err)
}

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
