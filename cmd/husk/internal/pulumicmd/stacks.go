package pulumicmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/workspace"
)

// stackSummary is a stack in Pulumi's list.
type stackSummary struct {
	Name             string `json:"name"`
	Current          bool   `json:"current"`
	LastUpdate       string `json:"lastUpdate,omitempty"`
	UpdateInProgress bool   `json:"updateInProgress"`
	ResourceCount    *int   `json:"resourceCount,omitempty"`
}

func (a *answers) stacks(ctx context.Context, w *workspace.Workspace, selected string, _ []string) error {
	ctx = state.Together(ctx)
	summaries := []stackSummary{}
	add := func(name string, current bool, snapshot *state.Snapshot, err error) {
		s := stackSummary{Name: name, Current: current}
		if err != nil {
			a.Say("The stack %s cannot be read: %v", name, err)
		} else {
			n := workspace.CountResources(snapshot)
			s.ResourceCount = &n
			if t := snapshot.Manifest.Time; !t.IsZero() {
				s.LastUpdate = t.UTC().Format(timeLayout)
			}
		}
		summaries = append(summaries, s)
	}
	if a.find("stack ls").Flag("all").Changed {
		names, err := w.Everything(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			snapshot, err := w.ReadAny(ctx, name)
			add(state.Organization+"/"+name.String(), name.Project == w.Project.Name && name.Name == selected, snapshot, err)
		}
		return a.WriteJSON(summaries)
	}
	names, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		snapshot, _, err := w.Read(ctx, name, true)
		add(name, name == selected, snapshot, err)
	}
	return a.WriteJSON(summaries)
}

// encrypted has a command that makes a stack also choose the provider of its secrets.
func (a *answers) encrypted(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen := cmd.Flag("secrets-provider").Value.String()
		if chosen == "passphrase" && !slices.ContainsFunc(passphrases, isSet) {
			return errors.New("--secrets-provider passphrase: set the passphrase in PULUMI_CONFIG_PASSPHRASE, or name a file that holds it in PULUMI_CONFIG_PASSPHRASE_FILE")
		}
		if err := run(cmd, args); err != nil || chosen == "" || chosen == "default" || chosen == "passphrase" {
			return err
		}
		a.Stack = args[0]
		change := a.find("stack change-secrets-provider")
		change.SetContext(cmd.Context())
		if err := change.RunE(change, []string{chosen}); err != nil {
			w, stack, again := a.CurrentStack(cmd.Context())
			if again == nil {
				again = w.Remove(cmd.Context(), stack, nil) // which would encrypt in another way than was asked for
			}
			return errors.Join(err, again)
		}
		return nil
	}
}

// passphrases are the variables that give the passphrase of a stack's secrets, which may be empty.
var passphrases = []string{"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "HUSK_CONFIG_PASSPHRASE", "HUSK_CONFIG_PASSPHRASE_FILE"}

func isSet(variable string) bool {
	_, is := os.LookupEnv(variable)
	return is
}

// readPassphrase reads the new passphrase of a stack from standard input, as Pulumi does, unless a variable gives it.
func (a *answers) readPassphrase(_ *cobra.Command, args []string) error {
	if args[0] != "passphrase" || isSet(stackcmd.NewPassphraseVariable) || isSet(stackcmd.NewPassphraseFile) || display.IsTerminal(a.In) {
		return nil
	}
	text, err := a.ReadAll()
	if err != nil || text == "" {
		return err
	}
	return os.Setenv(stackcmd.NewPassphraseVariable, text)
}

// removed has a command that removes a stack remove its configuration, too.
func (a *answers) removed(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			a.Stack = args[0]
		}
		w, stack, err := a.CurrentStack(cmd.Context())
		if err != nil {
			return err
		}
		done := run(cmd, args)
		if done != nil && !errors.Is(done, cli.ErrChanges) || !isGone(cmd) {
			return done
		}
		file, err := w.Project.StackConfig(stack)
		if err != nil {
			return err
		}
		if err := w.Project.Root.Remove(file.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the configuration of the stack: %w", err)
		}
		return done
	}
}

// isGone reports whether the flags of a command remove the configuration of the stack.
func isGone(cmd *cobra.Command) bool {
	given := func(flag string) bool {
		on, _ := cmd.Flags().GetBool(flag) // which rm lacks some of
		return on
	}
	return !given("preserve-config") && (cmd.Name() == "rm" || given("remove") && !given("preview-only"))
}
