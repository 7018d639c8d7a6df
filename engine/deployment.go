package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// Program declares the resources of a stack by registering them with a
// monitor. Run returns when everything that it registered was answered; its
// error stops the deployment before anything is deleted.
type Program interface {
	Run(ctx context.Context, run abi.RunContext, monitor abi.Monitor) error
}

// Deployment is what the engine works on: one stack, with its program,
// providers, and state.
type Deployment struct {
	Project      string
	Stack        string
	Organization string
	// Config holds the stack's configuration, decrypted.
	Config []abi.ConfigEntry
	// Program is not needed by Destroy and Refresh, unless RunProgram is set.
	Program   Program
	Providers Loader
	State     *state.Stack
	// Stacks are those whose outputs the program can refer to; the zero Stacks has none.
	Stacks builtin.Stacks
	// Contents reads the files and URLs that the program makes assets of.
	Contents contents.Source
	// Policies judge the resources of an update or preview.
	Policies []analysis.Pack
	// Parallel bounds the steps that run at once; 0 is four for each processor.
	Parallel int
	// Events receives every event, one at a time. It may be nil.
	Events func(Event)
	// Secrets learns what the deployment comes to know as secret, before a provider is told it.
	// Events do not tell it; what providers log, and errors, are the caller's to show. It may be nil.
	Secrets *redact.Secrets
	// Stop, once closed, lets running steps finish and starts no others. To end
	// running steps as well, cancel the context.
	Stop <-chan struct{}
	// RefreshFirst reads all resources before an update or preview.
	RefreshFirst bool
	// ContinueOnError goes on after a failure with all that does not depend on what
	// failed. The deployment still fails.
	ContinueOnError bool
	// Selection narrows the deployment to some of the resources.
	Selection Selection
	// Replace names resources that are replaced though nothing of them changed.
	Replace []Pattern
	// Plan is what the update does, and nothing else; nil leaves it free. A [PlanError]
	// says where it would deviate, and stops it there (Up and Preview only).
	Plan *Plan
	// DraftPlan has the plan made that Result holds (Preview only).
	DraftPlan bool
	// IgnoreProtect deletes and replaces protected resources as well.
	IgnoreProtect bool
	// LegacyDiff asks providers for the difference of resources only where their
	// inputs changed, as Pulumi did before version 1.0.
	LegacyDiff bool
	// RunProgram runs the program in Refresh and Destroy as well, which gives
	// providers the configuration that they have now.
	RunProgram bool
	// UpdateOnImport updates an imported resource to what the program says, where it
	// differs; else the import fails.
	UpdateOnImport bool
	// ClearPendingCreates forgets creations that an earlier run did not finish (Refresh only).
	ClearPendingCreates bool
	// StopOnPending fails an update or preview while there are such creations, with a
	// [PendingCreatesError]; without it they are a warning.
	StopOnPending bool
	// AdoptPendingCreates holds the IDs of what such creations have made (Refresh only).
	AdoptPendingCreates map[urn.URN]string
	// Imports is what Import takes over.
	Imports []ImportTarget
	// Version is the engine's own, for the manifest of the state.
	Version string
	// Now is the clock for creation times, nil for the real one.
	Now func() time.Time
}

// Result tells how a deployment ended.
type Result struct {
	Changes Changes
	// Outputs are the stack's outputs.
	Outputs property.Map
	// Imported holds what an import took over, in the order of Imports. What did not get
	// that far is nil.
	Imported []*state.Resource
	// Plan is that of a preview which found nothing wrong, where DraftPlan wanted it.
	Plan *Plan
}

// deployment is one run of the engine: what it holds, what decides its steps, and what executes
// them.
type deployment struct {
	*runState
	gen        *generator
	exec       *executor
	monitor    *monitor
	transforms callbacks.Transforms
	counted    countedProviders
	// imported is what an import has taken over so far.
	imported []*state.Resource
}

// Preview tells what Up would do. Nothing is changed.
func Preview(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "preview", true, (*deployment).update)
}

// Up drives the stack's resources to the state that the program declares.
func Up(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "up", false, (*deployment).update)
}

// Refresh reads every resource and records its actual state.
func Refresh(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "refresh", false, (*deployment).refresh)
}

// Destroy deletes every resource of the stack.
func Destroy(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "destroy", false, (*deployment).destroy)
}

// PreviewRefresh tells what Refresh would record.
func PreviewRefresh(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "refresh", true, (*deployment).refresh)
}

// PreviewDestroy tells what Destroy would delete.
func PreviewDestroy(ctx context.Context, in Deployment) (*Result, error) {
	return run(ctx, in, "destroy", true, (*deployment).destroy)
}

func run(ctx context.Context, in Deployment, operation string, dryRun bool, do func(*deployment, context.Context) error) (*Result, error) {
	start := time.Now()
	if in.Parallel <= 0 {
		in.Parallel = 4 * runtime.GOMAXPROCS(0)
	}
	if in.Secrets == nil {
		in.Secrets = &redact.Secrets{}
	}
	d := &deployment{runState: &runState{Deployment: in, dryRun: dryRun, assets: asset.New(in.Contents)}}
	snapshot, migrated := d.migrate(ctx)
	d.learn(snapshot)
	stack := in.State
	if dryRun {
		stack = nil
	}
	d.recorder = record.New(stack, snapshot, in.Secrets)
	d.registry = newRegistry(assetLoader{costLoader{builtins{in.Providers, d}, &d.counted}, d.assets}, dryRun, d.recorder.Provider)
	d.registry.secrets = in.Secrets
	d.failures = newFailures(in.Stop, dryRun || in.ContinueOnError)
	d.gen = &generator{runState: d.runState, readIfUnsure: d.readIfUnsure}
	d.exec = newExecutor(in.Parallel, d.failures, d.execute)
	d.monitor = newMonitor(d)

	d.emit(Started{Operation: operation, Project: in.Project, Stack: in.Stack, DryRun: dryRun})
	d.planning = &planning{}
	var mistaken, misplaced error
	d.selection, mistaken = newSelection(in, snapshot)
	if operation == "up" || operation == "preview" {
		d.planning, misplaced = newPlanning(in, dryRun)
	}
	err := errors.Join(migrated, verify(snapshot), mistaken, misplaced)
	if err == nil {
		if err = d.reportPending(ctx); err == nil {
			err = do(d, ctx)
		}
		err = errors.Join(err, d.recorder.EndSettled(ctx), d.recorder.Sign(ctx, state.Manifest{
			Time: d.now(), Version: in.Version, Plugins: d.registry.plugins(),
		}), d.verifyAfter())
	}
	// Closing tells providers to cancel, which must reach them also when the
	// deployment itself was cancelled.
	err = errors.Join(err, d.policies.Cancel(context.WithoutCancel(ctx)), d.registry.close(context.WithoutCancel(ctx)))
	if err == nil && d.failures.stopped() {
		err = ErrStopped
	}
	outputs := d.stackOutputs()
	if operation != "destroy" && outputs.Len() > 0 {
		d.emit(StackOutputs{Outputs: DisplayOutputs(outputs)})
	}
	for _, costs := range d.counted.read() {
		d.emit(costs)
	}
	summary := Summary{Result: "succeeded", Changes: d.changes, Policies: d.policyCounts, DurationMs: durationMs(start)}
	if err != nil {
		summary.Result = "failed"
	}
	d.emit(summary)
	result := &Result{Changes: d.changes, Outputs: outputs, Imported: d.imported}
	if err == nil {
		result.Plan = d.planning.draft
	}
	return result, err
}

// verify checks that a state holds together before a deployment goes by it.
func verify(s *state.Snapshot) error {
	if err := s.Verify(); err != nil {
		return fmt.Errorf("%w: husk state repair puts it right where it can, and nothing was changed", err)
	}
	return nil
}

// verifyAfter checks what the deployment has written.
func (r *runState) verifyAfter() error {
	if r.dryRun || !r.recorder.Wrote() {
		return nil
	}
	if err := r.State.Snapshot().Verify(); err != nil {
		return fmt.Errorf("this deployment has left a damaged state behind, which is a mistake of husk (please report it): %w", err)
	}
	return nil
}

// update runs the program and then deletes what it did not register. Policies judge the
// whole last, where nothing failed.
func (d *deployment) update(ctx context.Context) error {
	if err := d.openPolicies(ctx); err != nil {
		return err
	}
	if err := d.refreshFirst(ctx); err != nil {
		return err
	}
	if err := d.runProgram(ctx); err != nil {
		return err
	}
	if err := d.deleteUnregistered(ctx); err != nil {
		return err
	}
	if failures := d.failures.all(); len(failures) > 0 {
		return errors.Join(failures...)
	}
	return d.analyzeStack(ctx)
}

// register drives one resource to its goal and returns what became of it.
func (d *deployment) register(ctx context.Context, gl *goal) (*state.Resource, error) {
	if d.failures.stopped() {
		return nil, ErrStopped
	}
	ctx = counting(ctx)
	chain, err := d.gen.register(ctx, gl)
	if err != nil {
		return nil, err
	}
	return d.executeChain(ctx, gl, chain)
}

// executeChain takes the steps of a registration, if they are those of the plan, and returns
// what became of the resource.
func (d *deployment) executeChain(ctx context.Context, gl *goal, chain []*step) (*state.Resource, error) {
	if d.mode == updating {
		if err := d.planning.registration(d.registrations.Goals.Get(gl.urn), chain); err != nil {
			if len(chain) > 0 && chain[0].finished != nil {
				close(chain[0].finished) // nothing will be deleted ahead
			}
			return nil, err
		}
	}
	if err := d.exec.run(ctx, chain); err != nil {
		return nil, err
	}
	if res := answer(chain); res != nil {
		return res, nil
	}
	return d.absent(ctx, gl), nil
}

// refuse reports a registration that failed. Failures of steps were reported by
// the executor; those before a step are reported here.
func (d *deployment) refuse(gl *goal, req abi.RegisterResourceRequest, err error) error {
	var stepErr *StepError
	if errors.Is(err, ErrStopped) || errors.As(err, &stepErr) {
		return err
	}
	info := StepInfo{Op: OpCreate, Resource: req.Type, Name: req.Name, Parent: req.Parent, Custom: req.Custom}
	if gl != nil {
		info.URN = gl.urn
		if d.recorder.Lookup(gl.urn) != nil {
			info.Op = OpUpdate
		}
	}
	d.emit(StepFailed{Step: info, Error: err.Error()})
	d.failures.add(err)
	return err
}

// setOutputs records the outputs of a component. A failing run only adds to
// the outputs that the stack had.
func (d *deployment) setOutputs(ctx context.Context, u urn.URN, outputs property.Map) error {
	old := d.recorder.Lookup(u)
	if d.selection.IsLeft(u) {
		return nil
	}
	if d.mode != updating && (old == nil || outputs.ContainsUnknowns()) {
		return nil // what would be there is not known
	}
	if old == nil {
		return fmt.Errorf("outputs of %s: no such resource is registered", u)
	}
	if err := d.planning.outputs(u, outputs); err != nil {
		return err
	}
	if len(d.failures.all()) > 0 {
		merged := old.Outputs
		for k, v := range outputs.All() {
			if d.dryRun || !v.ContainsUnknowns() {
				merged = merged.With(k, v)
			}
		}
		outputs = merged
	} else if d.selection.IsNarrow() && !d.dryRun {
		outputs = knownOutputs(old.Outputs, outputs)
	}
	if old.Outputs.Equal(outputs) {
		return nil
	}
	n := clone(old)
	n.Outputs = outputs
	return d.recorder.Record(ctx, record.Replace(old, n))
}

// runProgram runs the program, and returns why the deployment cannot go on after it.
func (d *deployment) runProgram(ctx context.Context) error {
	if d.Program == nil {
		return errors.New("there is no program to run")
	}
	if err := d.readNaming(); err != nil {
		return err
	}
	program := newCallerMonitor(d.monitor)
	program.isProgram = true
	err := d.Program.Run(ctx, d.runContext(), program)
	if failures := d.failures.all(); err == nil && len(failures) > 0 && !d.ContinueOnError {
		err = errors.Join(failures...) // the program did not care
	}
	switch {
	case err != nil && d.isStopError(err):
		return errors.Join(errors.Join(d.failures.all()...), ErrStopped)
	case err != nil:
		return err
	case d.failures.stopped():
		return ErrStopped
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return notFound(d.selection.Unmatched())
	}
}

// answer is what a registration came to: nil for a resource that does not exist.
func answer(chain []*step) *state.Resource {
	if len(chain) == 0 {
		return nil
	}
	switch s := chain[len(chain)-1]; {
	case s.op == OpRefresh && s.result == OpDelete:
		return nil
	case s.new != nil:
		return s.new
	default:
		return s.old
	}
}

// absent is the state that a program is told of a resource that does not exist and
// is not created: nothing of it is known.
func (r *runState) absent(ctx context.Context, gl *goal) *state.Resource {
	n := gl.state(gl.inputs)
	n.Outputs = r.previewOutputs(ctx, n, property.Map{})
	return n
}
