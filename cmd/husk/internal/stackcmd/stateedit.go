package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// editState changes the state of the stack to work on. do returns the new state and what to say of it.
func (a commands) editState(cmd *cobra.Command, do func(*state.Snapshot) (*state.Snapshot, string, error)) error {
	return a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
		done := ""
		err := w.Edit(ctx, stack, "state "+cmd.Name(), func(st *state.Stack) (edited *state.Snapshot, err error) {
			edited, done, err = do(st.Snapshot())
			return edited, err
		})
		if err == nil {
			a.Say("%s", done)
		}
		return err
	})(cmd, nil)
}

// agreeOn asks for confirmation of a change of resources, unless yes is set.
func (a commands) agreeOn(chosen []urn.URN, yes bool, command, question string) error {
	if !yes && a.IsInteractive() {
		for _, u := range chosen {
			a.Say("  %s", u)
		}
	}
	return a.Agree(yes, command, question)
}

func (a commands) stateDelete() *cobra.Command {
	var yes, force, dependents bool
	cmd := &cobra.Command{
		Use: "delete URN...", Aliases: []string{"rm"}, Short: "Remove resources from the state without deleting them",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.editState(cmd, func(s *state.Snapshot) (*state.Snapshot, string, error) {
				chosen, err := edit.Resolve(s, args...)
				if err != nil {
					return nil, "", err
				}
				if err := a.agreeOn(chosen, yes, "state delete", "Forget "+cli.Plural(len(chosen), "resource")+", which will go on to exist?"); err != nil {
					return nil, "", err
				}
				edited, err := edit.Delete(s, chosen, edit.DeleteOptions{Protected: force, Dependents: dependents})
				if err != nil {
					return nil, "", err
				}
				return edited, "Forgot " + cli.Plural(s.Len()-edited.Len(), "resource") + ".", nil
			})
		},
	}
	cli.AddYes(cmd, &yes)
	cmd.Flags().BoolVar(&force, "force", false, "remove protected resources as well")
	cmd.Flags().BoolVar(&dependents, "target-dependents", false, "also remove their dependents")
	return cmd
}

func (a commands) stateRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename URN NAME", Short: "Rename a resource to the name that the program uses now",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.editState(cmd, func(s *state.Snapshot) (*state.Snapshot, string, error) {
				u, err := edit.ResolveOne(s, args[0])
				if err != nil {
					return nil, "", err
				}
				edited, err := edit.Rename(s, u, args[1])
				return edited, fmt.Sprintf("Renamed %s to %s.", u, args[1]), err
			})
		},
	}
}

// stateMark makes a command that sets or removes a mark of resources.
func (a commands) stateMark(name, short, done string, mark func(*state.Snapshot, []urn.URN, bool) (*state.Snapshot, error), set bool) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: name + " [URN...]", Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usagef("name the resources, or give --all: see \"%s --help\"", cmd.CommandPath())
			}
			return a.editState(cmd, func(s *state.Snapshot) (*state.Snapshot, string, error) {
				chosen, err := edit.Resolve(s, args...)
				if err != nil {
					return nil, "", err
				}
				if all {
					chosen = everyCustom(s)
				}
				edited, err := mark(s, chosen, set)
				return edited, done + " " + cli.Plural(len(chosen), "resource") + ".", err
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all resources that a provider manages")
	return cmd
}

// everyCustom returns the resources that providers manage.
func everyCustom(s *state.Snapshot) []urn.URN {
	var out []urn.URN
	for _, r := range s.Resources() {
		if r.Custom && !r.IsProvider() && !r.Delete {
			out = append(out, r.URN)
		}
	}
	return out
}

func (a commands) stateMove() *cobra.Command {
	var yes bool
	var to string
	cmd := &cobra.Command{
		Use: "move URN... --to STACK", Short: "Move resources, and all below them, to another stack",
		Long: "Providers move along, unless the other stack has them. Secrets are encrypted with the other stack's key.\n" +
			"References between resources that move and resources that stay are dropped and reported.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return cli.Usagef("missing --to: %s", cmd.UseLine())
			}
			return a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
				from, err := w.NameOf(stack)
				if err != nil {
					return err
				}
				target, err := w.NameOf(to)
				if err != nil {
					return err
				}
				var moved *edit.Moved
				err = w.Move(ctx, stack, target, func(source, other *state.Snapshot) (*edit.Moved, error) {
					chosen, err := edit.Resolve(source, args...)
					if err != nil {
						return nil, err
					}
					if err := a.agreeOn(chosen, yes, "state move", "Move "+cli.Plural(len(chosen), "resource")+" to "+to+"?"); err != nil {
						return nil, err
					}
					moved, err = edit.Move(source, other, from, target, chosen)
					return moved, err
				})
				if err != nil {
					return err
				}
				for _, b := range moved.Broken {
					a.Say("%s no longer depends on %s, which is in the other stack.", b.From, b.To)
				}
				a.Say("Moved %s and %s to the stack %s.", cli.Plural(len(moved.Resources), "resource"), cli.Plural(len(moved.Providers), "provider"), target)
				return nil
			})(cmd, args)
		},
	}
	cli.AddYes(cmd, &yes)
	cmd.Flags().StringVar(&to, "to", "", "the stack to move to, as STACK or PROJECT/STACK")
	return cmd
}

func (a commands) stateRepair() *cobra.Command {
	var yes, journal bool
	var providers []string
	cmd := &cobra.Command{
		Use: "repair", Short: "Make an inconsistent state consistent",
		Long: "Make an inconsistent state consistent: drop references to missing resources, drop exact duplicates,\n" +
			"and recover missing providers from an earlier state. If no earlier state has a missing provider, only\n" +
			"--provider replaces it, because another provider may manage other objects.\n\n" +
			"--journal repairs a state that cannot be read because its journal is damaged. The command keeps the\n" +
			"records before the damage, and lists the changes that are lost. The next update reports the affected\n" +
			"resources. If a checkpoint is damaged, use husk stack restore.",
		RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
			if journal && len(providers) > 0 {
				return cli.Usagef("--journal and --provider exclude each other")
			}
			if journal {
				return a.repairJournal(ctx, w, stack, yes)
			}
			return w.Edit(ctx, stack, "state repair", func(st *state.Stack) (repaired *state.Snapshot, err error) {
				options := edit.RepairOptions{Earlier: w.Earlier(ctx, stack)}
				if options.Providers, err = substitutes(providers); err != nil {
					return nil, err
				}
				repaired, done, left := edit.Repair(st.Snapshot(), options)
				if repaired == nil {
					return nil, left
				}
				if len(done) == 0 && left == nil {
					a.Say("The state is consistent: nothing to repair.")
					return nil, nil
				}
				for _, text := range done {
					a.Say("  %s", text)
				}
				if undecided, ok := errors.AsType[*edit.UndecidedError](left); ok {
					a.sayUndecided(undecided)
					if len(done) == 0 {
						return nil, left
					}
				}
				if err := a.Agree(yes, "state repair", "Save these changes?"); err != nil {
					return nil, err
				}
				if left != nil {
					a.Say("Problems that need your decision (husk state edit):")
					display.WriteErrors(a.Errs, left)
				}
				return repaired, nil
			})
		}),
	}
	cli.AddYes(cmd, &yes)
	cmd.Flags().Var(cli.Repeated(&providers), "provider", "MISSING=REFERENCE: the provider to use in place of a missing one, as <urn>::<id> or \"default\"; can be repeated")
	cmd.Flags().BoolVar(&journal, "journal", false, "keep the records before the damage in the journal, and list the lost changes")
	return cmd
}

// substitutes reads the values of --provider. A URN may hold an equals sign, and so may an ID.
func substitutes(texts []string) (map[string]string, error) {
	out := make(map[string]string)
	for _, text := range texts {
		missing, by, ok := strings.Cut(text, "=urn:")
		if ok {
			by = "urn:" + by
		} else if missing, ok = strings.CutSuffix(text, "="+edit.DefaultProvider); ok {
			by = edit.DefaultProvider
		}
		if !ok || missing == "" {
			return nil, cli.Usagef("--provider %s: must have the form <urn>::<id>=<urn>::<id>, or <urn>::<id>=default", text)
		}
		out[missing] = by
	}
	return out, nil
}

// sayUndecided lists what a repair leaves to the user, with the flags that decide it.
func (a commands) sayUndecided(e *edit.UndecidedError) {
	for _, m := range e.Providers {
		a.Say("  the provider %s is missing, and no earlier state has it. It is named by:", m.Reference)
		for _, u := range m.Users {
			a.Say("      %s", u)
		}
		a.Say("    Another provider may have another configuration, and manage other objects. Choose one:")
		for _, candidate := range m.Candidates {
			a.Say("      husk state repair --provider '%s=%s'   %s", m.Reference, candidate.Reference(), property.Render(property.Object(candidate.Inputs)))
		}
		a.Say("      husk state repair --provider '%s=%s'   (configured by the stack)", m.Reference, edit.DefaultProvider)
	}
}

// repairJournal saves the changes that a damaged journal has before the damage.
func (a commands) repairJournal(ctx context.Context, w *workspace.Workspace, stack string, yes bool) error {
	salvage, aside, err := w.SalvageJournal(ctx, stack, func(s *state.Salvage) error {
		a.Say("%s is damaged at byte %d: %s.", s.Damage.File, s.Damage.Offset, s.Damage.Reason)
		a.Say("%s before the damage can be kept. Lost:", cli.Plural(s.Kept, "record"))
		for _, lost := range s.Lost {
			if lost.Changes == nil {
				a.Say("  record %d (cannot be read)", lost.Sequence)
			}
			for _, change := range lost.Changes {
				a.Say("  record %d: %s", lost.Sequence, change)
			}
		}
		return a.Agree(yes, "state repair", "Save these changes?")
	})
	if err != nil {
		return err
	}
	if salvage.Damage == nil {
		a.Say("The journal is intact: nothing to repair.")
		return nil
	}
	a.Say("Restored the state of the stack %s up to the damage: %s. Refresh before the next update.", stack, cli.Plural(salvage.Snapshot.Len(), "resource"))
	a.sayAside(aside)
	return nil
}
