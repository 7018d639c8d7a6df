package enginetest

import (
	"context"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// Deployment has the options of all operations, each of which takes its own.
type Deployment struct {
	engine.Deployment
	engine.Up
	// RunProgram has a refresh or destruction run the program.
	RunProgram          bool
	ClearPendingCreates bool
	AdoptPendingCreates map[urn.URN]string
	Imports             []engine.ImportTarget
	// Action is the action that Act runs.
	Action string
}

// Operation runs an operation, or a preview of it.
type Operation func(context.Context, Deployment) (*engine.Result, error)

// The operations, and their previews.
var (
	Up             = operation(engine.Run, up)
	Preview        = operation(engine.Preview, func(d Deployment) engine.Operation { return d.Up })
	Refresh        = operation(engine.Run, refresh)
	PreviewRefresh = operation(engine.Preview, refresh)
	Destroy        = operation(engine.Run, destroy)
	PreviewDestroy = operation(engine.Preview, destroy)
	Import         = operation(engine.Run, imports)
	PreviewImport  = operation(engine.Preview, imports)
	Act            = operation(engine.Run, act)
	PreviewAct     = operation(engine.Preview, act)
)

func operation(
	run func(context.Context, engine.Deployment, engine.Operation) (*engine.Result, error), options func(Deployment) engine.Operation,
) Operation {
	return func(ctx context.Context, d Deployment) (*engine.Result, error) {
		return run(ctx, d.Deployment, options(d))
	}
}

// up is an update, which drafts no plan.
func up(d Deployment) engine.Operation {
	o := d.Up
	o.DraftPlan = false
	return o
}

func refresh(d Deployment) engine.Operation {
	return engine.Refresh{
		Program: d.program(), Selection: d.Selection,
		ClearPendingCreates: d.ClearPendingCreates, AdoptPendingCreates: d.AdoptPendingCreates,
	}
}

func destroy(d Deployment) engine.Operation {
	return engine.Destroy{
		Program: d.program(), Selection: d.Selection, RefreshFirst: d.RefreshFirst,
		ContinueOnError: d.ContinueOnError, IgnoreProtect: d.IgnoreProtect,
	}
}

func act(d Deployment) engine.Operation { return engine.Act{Program: d.Program, Action: d.Action} }

func imports(d Deployment) engine.Operation { return engine.Import{Targets: d.Imports} }

// program returns the program of operations that do without.
func (d Deployment) program() engine.Program {
	if d.RunProgram {
		return d.Program
	}
	return nil
}
