// Package engine deploys stacks. It drives their resources to the state that a program declares, by
// way of providers, and records each of them.
//
// A program registers resources with a monitor. The generator decides the steps of each registration,
// serially and against the recorded state; the executor takes the steps of independent resources in
// parallel; what the program did not register is deleted when the program has ended.
//
// Each part of a run owns something, and has no more of the other parts than it uses: run has the request and its options, events
// reports to the caller, providerChoice has the configured providers, objects knows to whom the objects of recorded resources
// belong, and registrations has what the program registered. The generator decides with these alone, so that its test needs no
// deployment. The applier takes the steps, and pendingOperations has the operations that earlier runs left.
//
// The packages below internal know nothing of a deployment: the recorded resources (record), what the
// program registered (registration), which resources are selected (selection), who uses whom (graph),
// sessions with providers (providers), assets (asset), and the hooks and transforms of a program (callbacks).
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
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// Program declares the resources of a stack by registering them with a monitor. Run returns when all its
// registrations have responses; its error stops the deployment before anything is deleted.
type Program interface {
	Run(ctx context.Context, run abi.RunContext, monitor abi.Monitor) error
}

// Finisher is a program with functions that a deployment calls after Run has returned, such as hooks around
// deletions. Finish is called once nothing calls them any more, also if the deployment has failed.
type Finisher interface {
	Program
	Finish(context.Context) error
}

// Pure is a program without effects of its own: its registrations depend only on its files, its configuration, and the answers to
// earlier registrations. If none of these is unknown, a preview and the update after it register the same.
type Pure interface {
	Program
	Pure()
}

// Result is how a deployment ended.
type Result struct {
	Changes Changes
	// Settled says that [Run] would only repeat this preview: nothing would be recorded, and nobody was told that it is a preview, neither
	// the program nor a provider or policy pack. Only the events of Run are still to be told.
	Settled bool
	// Actions counts the actions that ran, or would run.
	Actions int
	// Outputs are the stack's outputs.
	Outputs property.Map
	// Imported holds the resources that an import took over, in the order of its targets. The rest are nil.
	Imported []*state.Resource
	// Plan is the plan of a preview that found no errors, if [Up] has a DraftPlan.
	Plan *Plan
}

// deployment is a run with all its parts: it leads a registration from the generator to the executor, and decides what is deleted.
type deployment struct {
	*run
	*events
	*objects
	*providerChoice
	recorder      *record.Recorder
	registrations *registration.Registrations
	failures      *failures
	planning      *planning
	gen           *generator
	exec          *executor
	monitor       *monitor
	applier       *applier
	pending       *pendingOperations
	assets        *asset.Assets
	transforms    callbacks.Transforms
	counted       countedProviders
	// values are the ephemeral ones.
	values openValues
	// policies is nil if there are none.
	policies *analysis.Panel
	// imported has the resources that an import has taken over so far.
	imported []*state.Resource
}

// leastParallel is how many steps run at once by default on any machine: most of them wait for a service.
const leastParallel = 32

func deploy(ctx context.Context, in settings, dryRun bool) (*Result, error) {
	start := time.Now()
	if in.Parallel <= 0 {
		in.Parallel = max(leastParallel, 4*runtime.GOMAXPROCS(0))
	}
	if in.Secrets == nil {
		in.Secrets = &redact.Secrets{}
	}
	d := &deployment{
		run: &run{settings: in, preview: &preview{is: dryRun}}, events: &events{to: in.Events, steps: in.Steps, secrets: in.Secrets},
		registrations: new(registration.Registrations), assets: asset.New(in.Contents),
		failures: newFailures(in.Stop, dryRun || in.ContinueOnError),
	}
	snapshot, migrated := d.migrate(ctx)
	d.learn(snapshot)
	d.begin(snapshot)
	before := rootOf(snapshot.Resources())
	stack := in.State
	if dryRun {
		stack = nil
	}
	d.recorder = record.New(stack, snapshot, in.Secrets)
	d.recorder.Goal = func(u urn.URN) *state.Resource {
		if goal := d.registrations.Goals.Get(u); goal != nil && !d.selection.IsLeft(u) {
			return goal
		}
		return nil
	}
	d.objects = &objects{run: d.run, events: d.events, recorder: d.recorder, registrations: d.registrations}
	d.providerChoice = &providerChoice{
		events: d.events, recorder: d.recorder, registrations: d.registrations, failures: d.failures,
		registry: &providerRegistry{loadModule: d.load, secrets: in.Secrets, stored: d.recorder.Provider},
	}
	d.monitor = &monitor{d: d}

	d.emit(Started{Operation: in.operation, Project: in.Project, Stack: in.Stack, DryRun: dryRun})
	d.planning = &planning{}
	var mistaken, misplaced error
	d.selection, mistaken = newSelection(in, snapshot)
	if in.operation == operationUp || in.operation == operationPreview {
		d.planning, misplaced = newPlanning(in, dryRun)
	}
	d.gen = &generator{
		run: d.run, events: d.events, objects: d.objects, providerChoice: d.providerChoice, recorder: d.recorder,
		registrations: d.registrations, planning: d.planning, assets: d.assets,
		readIfUnsure: d.readIfUnsure, readNow: d.readNow,
	}
	d.applier = &applier{
		run: d.run, events: d.events, objects: d.objects, providerChoice: d.providerChoice, recorder: d.recorder,
		registrations: d.registrations, failures: d.failures, planning: d.planning, gen: d.gen, assets: d.assets,
		functionProvider: d.monitor.functionProvider,
	}
	d.exec = newExecutor(in.Parallel, d.failures, d.applier.execute)
	d.pending = &pendingOperations{
		run: d.run, events: d.events, objects: d.objects, providerChoice: d.providerChoice, recorder: d.recorder,
		describedBy: d.applier.describedBy,
	}
	err := errors.Join(migrated, verify(snapshot), mistaken, misplaced)
	if err == nil {
		if err = d.pending.report(ctx); err == nil {
			err = in.execute(d, ctx)
		}
		if f, ok := in.Program.(Finisher); ok {
			err = errors.Join(err, f.Finish(ctx))
		}
		err = errors.Join(err, d.recorder.EndSettled(ctx), d.recorder.Sign(ctx, state.Manifest{
			Time: d.now(), Version: in.Version, Plugins: d.registry.plugins(),
		}), d.verifyAfter())
	}
	// Closing cancels providers, which must reach them also when the
	// deployment itself was cancelled.
	d.values.close(context.WithoutCancel(ctx), d.warn)
	err = errors.Join(err, d.policies.Cancel(context.WithoutCancel(ctx)), d.registry.close(context.WithoutCancel(ctx)))
	if err == nil && d.failures.stopped() {
		err = ErrStopped
	}
	outputs := d.stackOutputs()
	if in.operation != "destroy" && outputs.Len() > 0 {
		d.emit(StackOutputs{Outputs: DisplayOutputs(outputs), Changes: outputChanges(before, outputs)})
	}
	for _, costs := range d.counted.read() {
		d.emit(costs)
	}
	summary := Summary{Result: "succeeded", Changes: d.changes, Actions: d.actions, Policies: d.policyCounts, DurationMs: durationMs(start)}
	if err != nil {
		summary.Result = "failed"
	}
	d.emit(summary)
	result := &Result{Changes: d.changes, Actions: d.actions, Outputs: outputs, Imported: d.imported}
	if err == nil {
		result.Plan, result.Settled = d.planning.draft, dryRun && !d.preview.told.Load() && !d.recorder.Changed()
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
func (d *deployment) verifyAfter() error {
	if d.preview.is || !d.recorder.Changed() {
		return nil
	}
	if err := d.State.Snapshot().Verify(); err != nil {
		return fmt.Errorf("this deployment has left a damaged state behind, which is a mistake of husk (please report it): %w", err)
	}
	return nil
}

// update runs the program and then deletes what it did not register. Policies judge the
// whole last, if nothing failed.
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

// register decides and takes the steps of a registration, and returns the resource.
func (d *deployment) register(ctx context.Context, gl *goal) (*state.Resource, error) {
	if d.failures.stopped() {
		return nil, ErrStopped
	}
	ctx = counting(ctx)
	chain, err := d.gen.register(ctx, gl)
	if err == nil {
		err = d.holdToPlan(gl, chain)
	}
	if err == nil {
		err = d.exec.run(ctx, chain)
	}
	return d.registered(ctx, gl, chain, err)
}

// holdToPlan returns an error if the plan does not allow the steps of a registration.
func (d *deployment) holdToPlan(gl *goal, chain []*step) error {
	if d.mode != updating {
		return nil
	}
	err := d.planning.registration(d, d.registrations.Goals.Get(gl.urn), gl.inputs, chain)
	if err == nil {
		err = d.planning.actions(d, chain)
	}
	if err != nil && len(chain) > 0 && chain[0].finished != nil {
		chain[0].finished() // nothing will be deleted ahead
	}
	return err
}

// registered returns the resource of a registration after its steps, or the error of one.
func (d *deployment) registered(ctx context.Context, gl *goal, chain []*step, err error) (*state.Resource, error) {
	if err != nil {
		return nil, err
	}
	if res := outcome(chain); res != nil {
		return res, nil
	}
	return d.unknownState(ctx, gl), nil
}

// reportRefused reports a registration that failed. The executor has reported failures of steps; this function reports earlier
// ones.
func (d *deployment) reportRefused(gl *goal, req abi.RegisterResourceRequest, err error) error {
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
	if gl == nil && !d.previews() { // whichever recorded resource it was, it would be deleted in the end
		d.failures.halt()
	}
	return err
}

// setOutputs records the outputs of a component. A run with failures only adds to them.
func (d *deployment) setOutputs(ctx context.Context, u urn.URN, outputs property.Map) error {
	old := d.recorder.Lookup(u)
	if d.selection.IsLeft(u) || d.registrations.Failed.Get(u) {
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
			if !v.ContainsUnknowns() || d.previews() {
				merged = merged.With(k, v)
			}
		}
		outputs = merged
	} else if d.selection.IsNarrow() && !d.previews() {
		outputs = knownOutputs(old.Outputs, outputs)
	}
	if old.Outputs.Equal(outputs) {
		return nil
	}
	n := clone(old)
	n.Outputs = outputs
	if d.registrations.Goals.Get(u) == old {
		d.registrations.Goals.Set(u, n)
	}
	return d.recorder.Record(ctx, record.Replace(old, n))
}

// runProgram runs the program, and returns why the deployment cannot go on after it.
func (d *deployment) runProgram(ctx context.Context) error {
	if err := d.readNaming(); err != nil {
		return err
	}
	m := newCallerMonitor(d.monitor, nil)
	run := d.pureContext()
	if _, pure := d.Program.(Pure); !pure {
		run = d.runContext()
	}
	err := d.Program.Run(ctx, run, m)
	m.drain() // a module that was ended leaves operations behind
	if failures := d.failures.all(); err == nil && len(failures) > 0 && !d.ContinueOnError {
		err = errors.Join(failures...) // the program did not care
	}
	switch {
	case err != nil && d.isStopError(err):
		return errors.Join(errors.Join(d.failures.all()...), ErrStopped)
	case err != nil:
		return err
	case d.failures.stopped():
		return errors.Join(errors.Join(d.failures.all()...), ErrStopped)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return notFound(d.selection.Unmatched())
	}
}

// outcome returns the resource of a registration, nil for one that does not exist.
func outcome(chain []*step) *state.Resource {
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

// unknownState returns the state that a program gets for a resource that does not exist and is not created: unknowns.
func (d *deployment) unknownState(ctx context.Context, gl *goal) *state.Resource {
	n := gl.state(gl.inputs)
	n.Outputs = d.applier.previewOutputs(ctx, n, property.Map{})
	return n
}
