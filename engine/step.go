package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// step is one operation on one resource, as the generator decided it. It changes the resource through
// its provider and records the result.
type step struct {
	// op is empty if nothing is done: the program gets old as it is.
	op Op
	// old is the recorded resource, nil for a creation.
	old *state.Resource
	// new is the resource as it will be, nil for deletions. The step fills in its ID and outputs.
	new *state.Resource
	// provider is nil for components.
	provider abi.Provider
	// diff explains updates and replacements.
	diff diff
	// replacing marks the deletion that comes before its replacement is made.
	replacing bool
	// finished, if set, is closed when the chain that begins with this step has ended.
	finished chan struct{}
	// result is what a refresh came to: same, update, or delete.
	result Op
	// next is the step that this one makes necessary, once it is done.
	next *step
	// asFound is set for an import that takes the object's inputs, whatever they are.
	asFound *ImportTarget
	failed  bool
	// began is the operation that was recorded last for the step.
	began record.Operation
	// lines show the inputs that are shown: they are made once for both events of the step.
	lines []PropertyChange
	shown property.Map
	// begunDeletions is where a deletion may have been begun ahead of its turn; it may be nil.
	begunDeletions *begunDeletions
}

func (s *step) subject() *state.Resource {
	if s.new != nil {
		return s.new
	}
	return s.old
}

// StepError is the failure of a step.
type StepError struct {
	Op       Op
	Resource *state.Resource
	Err      error
}

// Error names the operation and the resource.
func (e *StepError) Error() string {
	return subject(string(e.Op), verb(e.Op), e.Resource.Type, e.Resource.URN.Name(), e.Err) + ": " + e.Err.Error()
}

// subject returns what was done to which resource, for its error. An error of the provider's own method
// has the verb already.
func subject(method, verb, typ, name string, err error) string {
	what := fmt.Sprintf("%s %q", typ, name)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Method == method {
		return what
	}
	return verb + " " + what
}

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

func verb(op Op) string {
	switch op {
	case OpCreateReplacement:
		return "create replacement of"
	case OpDeleteReplaced:
		return "delete replaced"
	case OpExtendParameterize:
		return "extend"
	default:
		return string(op)
	}
}

// execute runs a step, with its events around it.
func (d *deployment) execute(ctx context.Context, s *step) error {
	info := d.info(s)
	start := time.Now()
	d.emit(StepStarted{Step: info})
	ctx, cost := stepCostOf(ctx)
	taken, err := d.applyWithHooks(ctx, s)
	info = d.info(s)
	if err != nil && !taken {
		s.failed = true
		err = &StepError{Op: s.op, Resource: s.subject(), Err: err}
		d.emitStepEnd(info, start, cost.take(), err)
		return err
	}
	d.emitStepEnd(info, start, cost.take(), nil)
	if err != nil {
		d.diagnose("error", s.subject().URN, "%v", err)
		err = &StepError{Op: s.op, Resource: s.subject(), Err: err}
	}
	return err
}

func (d *deployment) applierOf(s *step) func(context.Context, *step) error {
	switch s.op {
	case OpSame:
		return d.applySame
	case OpCreate, OpCreateReplacement:
		return d.applyCreate
	case OpUpdate:
		return d.applyUpdate
	case OpRead, OpReadReplacement:
		return d.applyRead
	case OpImport:
		return d.applyImport
	case OpRefresh:
		return d.applyRefresh
	case OpDelete, OpDeleteReplaced:
		return d.applyDelete
	case OpDiscard, OpRemovePendingReplace:
		return d.applyRemoval
	}
	return func(context.Context, *step) error { return fmt.Errorf("unknown operation %q", s.op) }
}

// applyRemoval removes what needs no provider from the state.
func (d *deployment) applyRemoval(ctx context.Context, s *step) error {
	if err := d.checkUnneeded(s.old); err != nil {
		return err
	}
	return d.recorder.Record(ctx, record.Remove(s.old))
}

func (d *deployment) applySame(ctx context.Context, s *step) error {
	s.new.ID, s.new.Outputs, s.new.InitErrors = s.old.ID, s.old.Outputs, s.old.InitErrors
	s.new.Created, s.new.Modified, s.new.ImportID = s.old.Created, s.old.Modified, s.old.ImportID
	s.new.RefreshBeforeUpdate = s.old.RefreshBeforeUpdate
	if s.provider == d.registry {
		if err := d.registry.same(ctx, s.new.URN, s.new.ID, s.new.Inputs); err != nil {
			return err
		}
	}
	if !durablyDifferent(s.old, s.new) {
		if d.registrations.Goals.Get(s.new.URN) == s.new { // one of the two is enough to keep
			d.registrations.Goals.Set(s.new.URN, s.old)
		}
		s.new = s.old
		return nil
	}
	return d.recorder.Record(ctx, record.Replace(s.old, s.new))
}

// durablyDifferent reports whether two states of a resource differ in something worth a write.
func durablyDifferent(old, new *state.Resource) bool {
	return old.URN != new.URN || old.Parent != new.Parent || old.Provider != new.Provider || old.ExtensionRef != new.ExtensionRef ||
		old.External != new.External || !old.Inputs.Equal(new.Inputs) || !old.Outputs.Equal(new.Outputs) ||
		!slices.Equal(old.Dependencies, new.Dependencies) || !samePropertyDependencies(old, new) || !sameOptions(old, new)
}

func samePropertyDependencies(old, new *state.Resource) bool {
	for k, deps := range new.PropertyDependencies {
		if !slices.Equal(old.PropertyDependencies[k], deps) {
			return false
		}
	}
	for k, deps := range old.PropertyDependencies {
		if len(deps) > 0 && len(new.PropertyDependencies[k]) == 0 {
			return false
		}
	}
	return true
}

func (d *deployment) applyCreate(ctx context.Context, s *step) error {
	n := s.new
	done := d.recorder.Supersede(d.recorder.Lookup(n.URN), n)
	now := d.now()
	n.Created, n.Modified = now, now
	if !n.Custom {
		return d.recorder.Record(ctx, done)
	}
	op, err := d.recorder.Begin(ctx, state.OperationCreating, n, record.Change{})
	if err != nil {
		return err
	}
	resp, err := s.provider.Create(ctx, abi.CreateRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, Inputs: n.Inputs,
		Timeout: timeouts(n).Create, Preview: d.dryRun,
	})
	switch {
	case d.dryRun && !providers.IsType(n.Type):
		resp.ID = "" // there is none yet, whatever the provider says
	case err == nil && resp.ID == "":
		err = errNoID
	}
	n.RefreshBeforeUpdate = resp.RefreshBeforeUpdate
	outputs, err := d.finishCall(ctx, s, op, record.End(op), resp.ID, resp.State, err)
	if err != nil && outputs == nil {
		return err
	}
	n.Outputs = *outputs
	done = done.Ending(op).Ending(d.repeatedCreation(ctx, s))
	if recordErr := d.recorder.Record(ctx, done); recordErr != nil {
		return errors.Join(err, fmt.Errorf(
			"the resource was created with ID %q, but could not be recorded: %w", n.ID, recordErr))
	}
	return err
}

// finishCall takes the response to a create or update into s.new. It returns the outputs to record. They
// are nil if there is nothing to record: then the operation has ended with undone or, if its outcome is
// not known, stays pending.
func (d *deployment) finishCall(
	ctx context.Context, s *step, op record.Operation, undone record.Change, id string, outputs property.Map, err error,
) (*property.Map, error) {
	n := s.new
	n.InitErrors = nil
	f := initFailure(err)
	switch {
	case err == nil:
		n.ID = id
	case f != nil:
		n.ID, outputs, n.InitErrors = f.ID, f.State, f.Reasons
		n.RefreshBeforeUpdate = f.RefreshBeforeUpdate
		if f.Inputs != nil {
			n.Inputs = *f.Inputs
		}
		if len(n.InitErrors) == 0 {
			n.InitErrors = []string{abi.AsError(err).Message}
		}
	default:
		return nil, errors.Join(err, d.endFailed(ctx, s, op, undone, err))
	}
	if d.dryRun {
		outputs = d.previewOutputs(ctx, n, stableOutputs(s, outputs))
	} else if outputs.ContainsUnknowns() {
		err = errors.Join(err, fmt.Errorf("provider returned unknown values; they are recorded as null"))
		n.InitErrors = append(n.InitErrors, "the provider returned unknown values")
		outputs = outputs.Lower(property.KindUnknown)
	}
	outputs = markSecrets(n, outputs)
	return &outputs, err
}

// endFailed records the end of an operation that failed cleanly. One whose outcome is not known stays
// pending, so that its object is not forgotten. The next run tells a crash of the provider from a run that was cut off.
func (d *deployment) endFailed(ctx context.Context, s *step, op record.Operation, undone record.Change, cause error) error {
	if !outcomeUnknown(cause) {
		return d.recorder.Record(ctx, undone)
	}
	if e, ok := errors.AsType[*abi.Error](cause); !ok || e.Kind != abi.ErrorKindCrashed || e.Origin == abi.ErrorOriginPolicy || d.dryRun {
		return nil
	}
	crashed, err := d.recorder.Crashed(ctx, op)
	if s.began == op {
		s.began = crashed
	}
	return err
}

// outcomeUnknown reports whether a failed call may still have had its effect: the guest trapped, its
// response was damaged, or the call was cut off.
func outcomeUnknown(err error) bool {
	if errors.Is(err, errNoID) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var e *abi.Error
	return errors.As(err, &e) && (e.Origin == abi.ErrorOriginHost || e.Kind == abi.ErrorKindCrashed ||
		e.Kind == abi.ErrorKindUnavailable || e.Kind == abi.ErrorKindCancelled)
}

var errNoID = errors.New("the provider returned no ID, so whether the resource exists is not known")

func (d *deployment) applyDelete(ctx context.Context, s *step) error {
	o := s.old
	if d.protects(s) {
		return errProtected
	}
	done := record.Remove(o)
	if s.replacing {
		pending := clone(o)
		pending.PendingReplacement = true
		done = record.Replace(o, pending)
	} else if err := d.checkUnneeded(o); err != nil {
		return err
	}
	if !d.deletes(o) {
		d.warnOfSharedObject(o)
		return d.recorder.Record(ctx, done)
	}
	op, begun := s.begunDeletions.take(o)
	if !begun {
		var err error
		if op, err = d.recorder.Begin(ctx, state.OperationDeleting, o, record.Change{}); err != nil {
			return err
		}
	}
	s.began = op
	var next []*state.Resource
	if !d.dryRun {
		err := s.provider.Delete(ctx, abi.DeleteRequest{
			URN: o.URN, Name: o.URN.Name(), Type: o.Type, ID: o.ID,
			State: o.Outputs, OldInputs: o.Inputs, Timeout: timeouts(o).Delete,
		})
		if err != nil && !errors.Is(err, abi.ErrNotFound) && !errors.Is(err, abi.ErrUnimplemented) {
			return errors.Join(err, d.endFailed(ctx, s, op, record.End(op), err))
		}
		next = s.begunDeletions.deleted()
	}
	begunNext, err := d.recorder.RecordAndBegin(ctx, done.Ending(op), next)
	s.begunDeletions.began(begunNext)
	if err != nil {
		return fmt.Errorf("the resource was deleted, but that could not be recorded: %w", err)
	}
	return nil
}

// deletes reports whether it takes the provider to delete a resource.
func (r *runState) deletes(res *state.Resource) bool {
	return r.ownsObject(res) && !r.isDeletedWithOwner(res) && !r.registrations.SharedObject.Get(res) && r.claimant(res) == nil
}

// ownsObject reports whether the stack is to delete what a resource stands for.
func (r *runState) ownsObject(res *state.Resource) bool {
	return res.Custom && !res.External && !r.options(res).RetainOnDelete && !res.PendingReplacement
}

// checkUnneeded returns an error if the state would not hold together without res. The plan of the
// deletions sees to that already; this makes certain before anything is deleted.
func (r *runState) checkUnneeded(res *state.Resource) error {
	if user := r.recorder.NeededBy(res); user != nil {
		return fmt.Errorf("it is still needed by %s, so it was not deleted: run husk up again, or husk state repair", user.URN)
	}
	return nil
}

// protects reports whether a deletion is refused, since the resource is protected.
func (r *runState) protects(s *step) bool {
	return !s.replacing && s.op == OpDelete && !r.IgnoreProtect && r.isProtected(s.old)
}

func (r *runState) isProtected(res *state.Resource) bool { return r.options(res).Protect }

// options returns the resource whose options count for a deletion: as the program registers it in a
// destruction that runs the program, else as recorded.
func (r *runState) options(res *state.Resource) *state.Resource {
	if r.mode == destroying && !res.Delete {
		if wish := r.registrations.Declared.Get(res.URN); wish != nil {
			return wish
		}
	}
	return res
}

func clone(res *state.Resource) *state.Resource {
	c := *res
	return &c
}

// markSecrets wraps outputs that the program names, and those whose input of that name is secret.
func markSecrets(n *state.Resource, outputs property.Map) property.Map {
	outputs = providers.KeepSecrets(n.Inputs, outputs)
	for _, k := range n.AdditionalSecretOutputs {
		if v, ok := outputs.Lookup(k); ok {
			outputs = outputs.With(k, property.Secret(v))
		}
	}
	return outputs
}
