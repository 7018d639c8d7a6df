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
			a.say("Saved the plan in %s: husk up --plan %[1]s does exactly that.", p.path)
		}
		return err
	}
}

// drafting has a preview make the plan of an update.
func (p *planFile) drafting(update makeUp) makeOperation {
	return func(ctx context.Context, o *opened) (engine.Operation, error) {
		up, err := update(ctx, o)
		up.DraftPlan = p.path != ""
		return up, err
	}
}

// save saves the plan that a preview has made.
func (p *planFile) save(ctx context.Context, o *opened, result *engine.Result) error {
	if result.Plan == nil {
		return nil
	}
	text, err := result.Plan.Encode(ctx, o.Deployment.State.Codec())
	if err == nil {
		err = os.WriteFile(p.path, text, 0o600) // names and values are nobody else's business
	}
	if err != nil {
		err = fmt.Errorf("saving the plan: %w", err)
	}
	return err
}

// addUse adds the flag of commands that update.
func (p *planFile) addUse(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.path, "plan", "", "do exactly what the plan in this file says")
}

// keeping has an update keep to the plan.
func (p *planFile) keeping(update makeUp) makeOperation {
	return func(ctx context.Context, o *opened) (engine.Operation, error) {
		up, err := update(ctx, o)
		if err != nil || p.path == "" {
			return up, err
		}
		text, err := blocking.Call(ctx, func() ([]byte, error) { return os.ReadFile(p.path) }, nil)
		if err != nil {
			return nil, fmt.Errorf("reading the plan: %w", err)
		}
		if up.Plan, err = engine.DecodePlan(ctx, text, o.Deployment.Stacks.Open); err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		return up, nil
	}
}
