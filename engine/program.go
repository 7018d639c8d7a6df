package engine

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

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

// describe decides the steps for a registration that is not to change anything:
// the recorded resource is read or left as it is, and one that is not recorded has
// no steps.
func (g *generator) describe(ctx context.Context, gl *goal, old *state.Resource) ([]*step, error) {
	n := gl.state(gl.inputs)
	if old == nil || old.PendingReplacement || old.Custom != gl.custom {
		if old != nil {
			g.registrations.displaced.Set(old.URN, true)
		}
		return g.plan(n), nil
	}
	g.registrations.declared.Set(n.URN, n)
	if g.mode != refreshing || !old.Custom || isProviderType(gl.typ) || !g.selection.Selects(old) {
		return g.plan(old, &step{old: old}), nil
	}
	provider, err := g.reader(ctx, gl, old)
	return g.plan(old, &step{op: OpRefresh, old: old, provider: provider}), err
}

// reader returns the provider that reads a recorded resource: its own, as the program configures
// it now if that is possible. Another provider would not find the object, which would then be
// taken to be gone; a replaced provider is another one.
func (r *runState) reader(ctx context.Context, gl *goal, old *state.Resource) (abi.Provider, error) {
	if gl.by.provider == old.Provider {
		provider, err := r.serving(ctx, gl.by)
		if _, not := provider.(unconfigured); !not && err == nil {
			return provider, nil
		}
	}
	return r.providerOf(ctx, old)
}

// configurable reports whether the goal is a provider that a run which changes
// nothing else configures anew: all that it takes is known and exists.
func (g *generator) configurable(gl *goal) bool {
	return isProviderType(gl.typ) && !gl.inputs.ContainsUnknowns() && g.recorded(gl)
}

// recorded reports whether all that the goal names is recorded.
func (g *generator) recorded(gl *goal) bool {
	all := true
	gl.dependsOn(func(u urn.URN) { all = all && g.recorder.Lookup(u) != nil })
	return all
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
