package engine

import (
	"context"
	"errors"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// Deployment is the subject of an [Operation]: one stack, with its configuration, providers, and state.
type Deployment struct {
	Project      string
	Stack        string
	Organization string
	// Config holds the stack's configuration, decrypted.
	Config []abi.ConfigEntry
	// AtConfig, if set, returns an error about a value of Config with the place where the user has set it.
	AtConfig  func(at ConfigValue, err error) error
	Providers Loader
	State     *state.Stack
	// Stacks are those whose outputs the program can refer to; the zero Stacks has none.
	Stacks builtin.Stacks
	// Contents reads the files and URLs that the program makes assets of.
	Contents contents.Source
	// Parallel bounds the steps that run at once; 0 is four for each processor, and at least 32.
	Parallel int
	// Events receives every event, one at a time. It may be nil.
	Events func(Event)
	// Steps receives what was recorded of a resource, and what it is to be or has become, nil for nothing, right before Events
	// receives an event of its step. These may hold secrets, and after is not to be kept. It may be nil.
	Steps func(before, after *state.Resource)
	// Secrets learns each secret before a provider gets it, and events hide what it knows. Logs of
	// providers and errors are the caller's to hide. It may be nil.
	Secrets *redact.Secrets
	// Stop, once closed, lets running steps finish and starts no others. Cancelling the context ends
	// those, too.
	Stop <-chan struct{}
	// Version is the engine's own, for the manifest of the state.
	Version string
	// Now is the clock for creation times, nil for the real one.
	Now func() time.Time
}

// ConfigValue is a value of a stack's configuration, or a part of one.
type ConfigValue struct {
	// Key is the full name, <namespace>:<key>.
	Key string
	// Path leads to the part; it is empty for the whole value.
	Path property.Path
	// Secret says that the value must not be shown.
	Secret bool
}

// Operation is a run on a stack: [Up], [Refresh], [Destroy], [Import], or [Act].
type Operation interface {
	// settings returns the deployment with the options of the operation.
	settings(d Deployment, dryRun bool) (settings, error)
}

// Up drives the stack's resources to the state that the program declares.
type Up struct {
	Program Program
	// Policies judge the resources.
	Policies []analysis.Pack
	// RefreshFirst reads all resources first.
	RefreshFirst bool
	// ContinueOnError goes on after a failure with all resources that do not depend on the failed one. The deployment still
	// fails.
	ContinueOnError bool
	// Selection narrows the deployment to some of the resources.
	Selection Selection
	// Replace names resources that are replaced though nothing of them changed.
	Replace []Pattern
	// Plan limits the update to the planned steps; nil leaves it free. A [PlanError] says where it would deviate, and stops it
	// there.
	Plan *Plan
	// DraftPlan has a preview make the plan that [Result] holds.
	DraftPlan bool
	// IgnoreProtect deletes and replaces protected resources as well.
	IgnoreProtect bool
	// LegacyDiff asks providers for the difference of resources only where their
	// inputs changed, as Pulumi did before version 1.0.
	LegacyDiff bool
	// UpdateOnImport updates an imported resource that differs from the program; otherwise the import fails.
	UpdateOnImport bool
	// StopOnPending fails the deployment while there are creations that an earlier run did not finish, with a
	// [PendingCreatesError]; without it they are a warning. An object with all inputs of such a creation, including the ones that
	// identify it in the schema, is taken over.
	StopOnPending bool
}

// Refresh reads every resource and records its actual state.
type Refresh struct {
	// Program, if set, runs as well, which gives providers the configuration that they have now.
	Program Program
	// Selection narrows the deployment to some of the resources.
	Selection Selection
	// ClearPendingCreates forgets creations that an earlier run did not finish.
	ClearPendingCreates bool
	// AdoptPendingCreates holds the IDs of the objects that such creations made.
	AdoptPendingCreates map[urn.URN]string
}

// Destroy deletes every resource of the stack.
type Destroy struct {
	// Program, if set, runs as well, which gives providers the configuration that they have now,
	// and registers the hooks that the state names.
	Program Program
	// RefreshFirst reads all resources first.
	RefreshFirst bool
	// ContinueOnError goes on after a failure with all resources that do not depend on the failed one. The deployment still
	// fails.
	ContinueOnError bool
	// Selection narrows the deployment to some of the resources.
	Selection Selection
	// IgnoreProtect deletes protected resources as well.
	IgnoreProtect bool
}

// Import takes objects that exist into the stack, with the inputs that their providers tell. It runs no program, and deletes
// nothing. A recorded resource with the same name and ID stays as it is.
type Import struct {
	Targets []ImportTarget
}

// Act runs an action of the program by itself. The program runs, too, which gives providers the configuration that
// they have now, and tells the action what the stack's resources are like. They stay as they are.
type Act struct {
	Program Program
	// Action is its name.
	Action string
}

// Run carries an operation out.
func Run(ctx context.Context, d Deployment, o Operation) (*Result, error) {
	return begin(ctx, d, o, false)
}

// Preview reports what Run would do, and changes nothing.
func Preview(ctx context.Context, d Deployment, o Operation) (*Result, error) {
	return begin(ctx, d, o, true)
}

func begin(ctx context.Context, d Deployment, o Operation, dryRun bool) (*Result, error) {
	in, err := o.settings(d, dryRun)
	if err != nil {
		return nil, err
	}
	return deploy(ctx, in, dryRun)
}

// settings are a deployment with the options of its operation. Those that the operation does not
// have are zero.
type settings struct {
	Deployment
	Up
	// RunProgram runs the program in an operation that does without.
	RunProgram          bool
	ClearPendingCreates bool
	AdoptPendingCreates map[urn.URN]string
	Imports             []ImportTarget
	Action              string

	operation string
	execute   func(*deployment, context.Context) error
}

// The operations of an [Up].
const operationUp, operationPreview = "up", "preview"

func (o Up) settings(d Deployment, dryRun bool) (settings, error) {
	s := settings{Deployment: d, Up: o, operation: operationUp, execute: (*deployment).update}
	if dryRun {
		s.operation = operationPreview
	}
	switch {
	case o.Program == nil:
		return s, errors.New("Up: there is no program to run")
	case o.DraftPlan && !dryRun:
		return s, errors.New("Up: DraftPlan is an option of Preview: use the plan in its result")
	case o.Selection.ExcludeProtected:
		return s, errExcludeProtected
	}
	return s, o.Selection.check()
}

func (o Refresh) settings(d Deployment, _ bool) (settings, error) {
	s := settings{
		Deployment: d, Up: Up{Program: o.Program, Selection: o.Selection}, RunProgram: o.Program != nil,
		ClearPendingCreates: o.ClearPendingCreates, AdoptPendingCreates: o.AdoptPendingCreates,
		operation: "refresh", execute: (*deployment).refresh,
	}
	if o.Selection.ExcludeProtected {
		return s, errExcludeProtected
	}
	return s, o.Selection.check()
}

func (o Destroy) settings(d Deployment, _ bool) (settings, error) {
	return settings{
		Deployment: d, RunProgram: o.Program != nil,
		Up: Up{
			Program: o.Program, Selection: o.Selection, RefreshFirst: o.RefreshFirst,
			ContinueOnError: o.ContinueOnError, IgnoreProtect: o.IgnoreProtect,
		},
		operation: "destroy", execute: (*deployment).destroy,
	}, o.Selection.check()
}

func (o Import) settings(d Deployment, _ bool) (settings, error) {
	return settings{Deployment: d, Imports: o.Targets, operation: "import", execute: (*deployment).importAll}, nil
}

func (o Act) settings(d Deployment, _ bool) (settings, error) {
	s := settings{Deployment: d, Up: Up{Program: o.Program}, Action: o.Action, operation: "action", execute: (*deployment).act}
	if o.Program == nil {
		return s, errors.New("Act: there is no program that has the action")
	}
	return s, nil
}

var errExcludeProtected = errors.New("ExcludeProtected is an option of Destroy: other operations leave protected resources be")

// check refuses what says nothing without another field.
func (s Selection) check() error {
	switch {
	case len(s.Targets) > 0 && len(s.Excludes) > 0:
		return errors.New("a deployment has either targets or excludes")
	case s.TargetDependents && len(s.Targets) == 0:
		return errors.New("TargetDependents adds what depends on Targets, and there are none")
	case s.ExcludeDependents && len(s.Excludes) == 0:
		return errors.New("ExcludeDependents adds what depends on Excludes, and there are none")
	}
	return nil
}
