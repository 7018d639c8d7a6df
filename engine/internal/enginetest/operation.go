package enginetest

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// Deployment has the options of all operations, so that a test can set one for those that it runs.
// An operation takes its own.
type Deployment struct {
	engine.Deployment
	engine.Up
	// RunProgram has a refresh or destruction run the program.
	RunProgram          bool
	ClearPendingCreates bool
	AdoptPendingCreates map[urn.URN]string
	Imports             []engine.ImportTarget
}

// Operation runs an operation, or a preview of it.
type Operation func(context.Context, Deployment) (*engine.Result, error)

// Up updates the stack.
func Up(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Run(ctx, d.Deployment, d.up())
}

// Preview previews an update.
func Preview(ctx context.Context, d Deployment) (*engine.Result, error) {
	o := d.Up
	return engine.Preview(ctx, d.Deployment, o)
}

// Refresh reads everything.
func Refresh(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Run(ctx, d.Deployment, d.refresh())
}

// PreviewRefresh previews that.
func PreviewRefresh(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Preview(ctx, d.Deployment, d.refresh())
}

// Destroy deletes everything.
func Destroy(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Run(ctx, d.Deployment, d.destroy())
}

// PreviewDestroy previews that.
func PreviewDestroy(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Preview(ctx, d.Deployment, d.destroy())
}

// Import takes objects over.
func Import(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Run(ctx, d.Deployment, engine.Import{Targets: d.Imports})
}

// PreviewImport previews that.
func PreviewImport(ctx context.Context, d Deployment) (*engine.Result, error) {
	return engine.Preview(ctx, d.Deployment, engine.Import{Targets: d.Imports})
}

// up is an update, which drafts no plan.
func (d Deployment) up() engine.Up {
	o := d.Up
	o.DraftPlan = false
	return o
}

func (d Deployment) refresh() engine.Refresh {
	return engine.Refresh{
		Program: d.program(), Selection: d.Selection,
		ClearPendingCreates: d.ClearPendingCreates, AdoptPendingCreates: d.AdoptPendingCreates,
	}
}

func (d Deployment) destroy() engine.Destroy {
	return engine.Destroy{
		Program: d.program(), Selection: d.Selection, RefreshFirst: d.RefreshFirst,
		ContinueOnError: d.ContinueOnError, IgnoreProtect: d.IgnoreProtect,
	}
}

// program returns the program of operations that do without.
func (d Deployment) program() engine.Program {
	if d.RunProgram {
		return d.Program
	}
	return nil
}
