package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/blocking"
)

// planFile is the file of a plan: a preview saves it, and an update keeps to it.
type planFile struct{ path string }

// addSave adds the flag of commands that preview.
func (p *planFile) addSave(cmd *cobra.Command, a *app) {
	cmd.Flags().StringVar(&p.path, "save-plan", "", "save the plan in this file, for husk up --plan")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil && p.path != "" {
			a.say("The plan is in %s: husk up --plan %[1]s carries it out, and nothing else.", p.path)
		}
		return err
	}
}

// saving is a preview whose plan is saved.
func (p *planFile) saving(preview operation) operation {
	return func(ctx context.Context, d engine.Deployment) (*engine.Result, error) {
		d.DraftPlan = p.path != ""
		result, err := preview(ctx, d)
		if err != nil || result.Plan == nil {
			return result, err
		}
		text, err := result.Plan.Encode(ctx, d.State.Codec())
		if err == nil {
			err = os.WriteFile(p.path, text, 0o600) // names and values are nobody else's business
		}
		if err != nil {
			err = fmt.Errorf("saving the plan: %w", err)
		}
		return result, err
	}
}

// addUse adds the flag of commands that update.
func (p *planFile) addUse(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.path, "plan", "", "do what the plan in this file says, and nothing else")
}

// use has a deployment keep to the plan.
func (p *planFile) use(ctx context.Context, o *opened) error {
	if p.path == "" {
		return nil
	}
	text, err := blocking.Call(ctx, func() ([]byte, error) { return os.ReadFile(p.path) }, nil)
	if err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if o.deployment.Plan, err = engine.DecodePlan(ctx, text, o.deployment.Stacks.Open); err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	return nil
}
