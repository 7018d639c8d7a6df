package deploycmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/display"
)

func (a commands) plan() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "plan", Short: "Show what husk preview --save-plan saved",
		Long: "Shows plans. husk preview --save-plan FILE makes one, and husk up --plan FILE executes it exactly.",
	}, func(*cobra.Command, []string) error {
		return cli.Usagef("husk plan shows saved plans, with husk plan show FILE; husk preview shows what an update would do now")
	}, a.planShow())
}

func (a commands) planShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Show what a plan would do",
		Long: "Shows what an update with the plan would do: each resource that it changes, with its inputs. Deletions\n" +
			"and replacements come last. Secrets are masked, so no key is needed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("reading the plan: %w", err)
			}
			p, err := engine.DecodePlan(cmd.Context(), text, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if a.JSON {
				return a.WriteJSON(map[string]any{"project": p.Project, "stack": p.Stack, "steps": display.PlannedSteps(p)})
			}
			return cli.Writing(display.WritePlan(a.Out, p))
		},
	}
}
