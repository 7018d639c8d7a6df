package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/asset"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/internal/registration"
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
	// along are the deletions of resources that go with the one that this step deletes.
	along []*step
	// oldAlong are old copies that go along, whose own steps are later and delete nothing.
	oldAlong []*state.Resource
	// replacing marks the deletion that comes before its replacement is made.
	replacing bool
	// finished, if set, is called when the chain that begins with this step has ended.
	finished func()
	// result is the outcome of a refresh: same, update, or delete.
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

// creates reports whether the step makes an object.
func (s *step) creates() bool { return s.op == OpCreate || s.op == OpCreateReplacement }

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

// subject names the operation and the resource, for an error. An error of the provider's own method has the verb already.
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

// applier takes steps: it calls providers and hooks, and records what they did.
type applier struct {
	*run
	*events
	*objects
	*providerChoice
	recorder      *record.Recorder
	registrations *registration.Registrations
	failures      *failures
	planning      *planning
	gen           *generator
	assets        *asset.Assets
	schemas       providers.Schemas
	// functionProvider returns the provider of an action.
	functionProvider func(ctx context.Context, token string, o abi.FunctionOptions) (abi.Provider, error)
}

// execute runs a step and the steps that go along with it, with their events around them.
func (a *applier) execute(ctx context.Context, s *step) error {
	if err := a.beginAlong(ctx, s); err != nil {
		s.failed = true
		return err
	}
	info := s.info()
	start := time.Now()
	a.emitStep(s, StepStarted{Step: info})
	ctx, cost := stepCostOf(ctx)
	taken, err := a.applyWithHooks(ctx, s)
	info = s.info()
	if err != nil && !taken {
		s.failed = true
		err = &StepError{Op: s.op, Resource: s.subject(), Err: err}
		a.failAlong(s.along, s.subject())
		a.emitStep(s, stepEnd(info, start, cost.take(), err))
		return err
	}
	alongErr := a.endAlong(ctx, s)
	a.emitStep(s, stepEnd(info, start, cost.take(), nil))
	if err != nil {
		a.diagnose("error", s.subject().URN, "%v", err)
		err = &StepError{Op: s.op, Resource: s.subject(), Err: err}
	}
	return errors.Join(err, alongErr)
}

func (a *applier) applierOf(s *step) func(context.Context, *step) error {
	switch s.op {
	case OpSame:
		return a.applySame
	case OpCreate, OpCreateReplacement:
		return a.applyCreate
	case OpUpdate:
		return a.applyUpdate
	case OpRead, OpReadReplacement:
		return a.applyRead
	case OpImport:
		return a.applyImport
	case OpRefresh:
		return a.applyRefresh
	case OpDelete, OpDeleteReplaced:
		return a.applyDelete
	case OpDiscard, OpRemovePendingReplace:
		return a.applyRemoval
	}
	return func(context.Context, *step) error { return fmt.Errorf("unknown operation %q", s.op) }
}

// applyRemoval removes what needs no provider from the state.
func (a *applier) applyRemoval(ctx context.Context, s *step) error {
	if err := a.checkUnneeded(s.old); err != nil {
		return err
	}
	a.tellRetained(s.old)
	return a.recorder.Record(ctx, record.Remove(s.old))
}

func (a *applier) applySame(ctx context.Context, s *step) error {
	s.new.ID, s.new.Outputs, s.new.InitErrors = s.old.ID, s.old.Outputs, s.old.InitErrors
	s.new.Created, s.new.Modified, s.new.ImportID = s.old.Created, s.old.Modified, s.old.ImportID
	s.new.RefreshBeforeUpdate = s.old.RefreshBeforeUpdate
	if s.old.DeletedWith != s.new.DeletedWith || !slices.Equal(s.old.ReplaceWith, s.new.ReplaceWith) {
		s.new.Modified = a.now() // it belongs to the newest ones
	}
	if s.provider == a.registry {
		if err := a.registry.same(ctx, s.new.URN, s.new.ID, s.new.Inputs); err != nil {
			return err
		}
	}
	if !durablyDifferent(s.old, s.new) {
		if a.registrations.Goals.Get(s.new.URN) == s.new { // one of the two is enough to keep
			a.registrations.Goals.Set(s.new.URN, s.old)
		}
		s.new = s.old
		return nil
	}
	return a.recorder.Record(ctx, record.Replace(s.old, s.new))
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

func (a *applier) applyCreate(ctx context.Context, s *step) error {
	n := s.new
	done := a.recorder.Supersede(a.recorder.Lookup(n.URN), n)
	now := a.now()
	n.Created, n.Modified = now, now
	if !n.Custom {
		return a.recorder.Record(ctx, done)
	}
	op, err := a.recorder.Begin(ctx, state.OperationCreating, n, record.Change{})
	if err != nil {
		return err
	}
	resp, err := s.provider.Create(ctx, abi.CreateRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, Inputs: n.Inputs,
		Timeout: timeouts(n).Create, Preview: a.previews(),
	})
	switch {
	case !providers.IsType(n.Type) && a.previews():
		resp.ID = "" // there is none yet, whatever the provider says
	case err == nil && resp.ID == "":
		err = errNoID
	}
	n.RefreshBeforeUpdate = resp.RefreshBeforeUpdate
	outputs, err := a.finishCall(ctx, s, op, record.End(op), resp.ID, resp.State, err)
	if err != nil && outputs == nil {
		return err
	}
	n.Outputs = *outputs
	done = done.Ending(op).Ending(a.repeatedCreation(ctx, s))
	if recordErr := a.recorder.Record(ctx, done); recordErr != nil {
		unrecorded := fmt.Errorf("the resource was created with ID %q, but could not be recorded: %w", n.ID, recordErr)
		if !providers.IsType(n.Type) {
			unrecorded = fmt.Errorf("%w\nonce the state can be written again, have husk refresh --adopt-pending-creates %s take it over",
				unrecorded, quoted(n.URN+urn.URN("="+n.ID)))
		}
		return errors.Join(err, unrecorded)
	}
	return err
}

// finishCall takes the response to a create or update into s.new. It returns the outputs to record: the given ones, or the state that the
// provider tells of an unhealthy object. They are nil if there is nothing to record: then the operation has ended with undone or, if its
// outcome is not known, stays pending.
func (a *applier) finishCall(
	ctx context.Context, s *step, op record.Operation, undone record.Change, id string, outputs property.Map, err error,
) (*property.Map, error) {
	n := s.new
	n.InitErrors = nil
	f := initFailure(err)
	if f != nil && f.ID == "" && !a.previews() {
		if id == "" {
			f, err = nil, errors.Join(errNoID, err)
		} else {
			known := *f
			known.ID = id
			f = &known
		}
	}
	switch {
	case err == nil:
		n.ID = id
		a.recorder.NoteRead(n.URN)
	case f != nil:
		n.ID, n.InitErrors = f.ID, f.Reasons
		if f.State.Len() > 0 {
			outputs = f.State
		}
		n.RefreshBeforeUpdate = f.RefreshBeforeUpdate
		if f.Inputs != nil {
			n.Inputs = *f.Inputs
		}
		if len(n.InitErrors) == 0 {
			n.InitErrors = []string{abi.AsError(err).Message}
		}
	default:
		return nil, errors.Join(err, a.endFailed(ctx, s, op, undone, err))
	}
	if a.previews() {
		outputs = a.previewOutputs(ctx, n, stableOutputs(s, outputs))
	} else if outputs.ContainsUnknowns() {
		err = errors.Join(err, fmt.Errorf("provider returned unknown values; they are recorded as null"))
		n.InitErrors = append(n.InitErrors, "the provider returned unknown values")
		outputs = outputs.Lower(property.KindUnknown)
	}
	outputs = markSecrets(n, outputs)
	a.noteChanged(s.old, n)
	return &outputs, err
}

// endFailed records the end of an operation that failed cleanly. One whose outcome is not known stays
// pending, so that its object is not forgotten: whatever a call answers that was cut off, it may have had its effect
// before. The next run tells a crash of the provider from a run that was cut off.
func (a *applier) endFailed(ctx context.Context, s *step, op record.Operation, undone record.Change, cause error) error {
	if !outcomeUnknown(cause) && ctx.Err() == nil {
		return a.recorder.Record(ctx, undone)
	}
	if e, ok := errors.AsType[*abi.Error](cause); !ok || e.Kind != abi.ErrorKindCrashed || e.Origin == abi.ErrorOriginPolicy || a.previews() {
		return nil
	}
	crashed, err := a.recorder.Crashed(ctx, op)
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

func (a *applier) applyDelete(ctx context.Context, s *step) error {
	o := s.old
	if a.protects(s) {
		return errProtected
	}
	done := s.leaving()
	if err := a.checkUnneeded(done.Removed...); err != nil {
		return err
	}
	if a.evidenceFor(o) != ofDeletion {
		if len(s.along)+len(s.oldAlong) > 0 {
			return a.nothingGoesAlong(o)
		}
		a.warnOfSharedObject(o)
		a.tellRetained(o)
		return a.recorder.Record(ctx, done)
	}
	op, begun := s.begunDeletions.take(o)
	if !begun {
		var err error
		if op, err = a.recorder.Begin(ctx, state.OperationDeleting, o, record.Change{}); err != nil {
			return err
		}
	}
	s.began = op
	var next []*state.Resource
	if !a.previews() {
		err := s.provider.Delete(ctx, abi.DeleteRequest{
			URN: o.URN, Name: o.URN.Name(), Type: o.Type, ID: o.ID,
			State: o.Outputs, OldInputs: o.Inputs, Timeout: timeouts(o).Delete,
		})
		if err = a.confirmDeleted(ctx, s, err); err != nil {
			return errors.Join(err, a.endFailed(ctx, s, op, record.End(op), err))
		}
		next = s.begunDeletions.deleted()
	}
	begunNext, err := a.recorder.RecordAndBegin(ctx, done.Ending(op), next)
	s.begunDeletions.began(begunNext)
	if err != nil {
		return fmt.Errorf("the resource was deleted, but that could not be recorded: %w", err)
	}
	return nil
}

// nothingGoesAlong is why a resource stays whose deletion was to take others along, and deletes no object after all:
// only the provider's word that the owner is deleted says that they are. The next run deletes them by themselves.
func (a *applier) nothingGoesAlong(o *state.Resource) error {
	why := "it is no longer to be deleted"
	if other := a.claimant(o); other != nil {
		why = fmt.Sprintf("it is %s as well, which stays", other.URN)
	}
	return fmt.Errorf("the object %q is not deleted, since %s, so neither are the resources that go with it: all of them stay in the state; "+
		"run the command again, which deletes each of them by itself", o.ID, why)
}

// leaving is the change that ends a deletion: the resource and all that it takes along leave the state or, ahead of
// a replacement, wait to be made again.
func (s *step) leaving() (c record.Change) {
	leave := func(res *state.Resource) {
		if !s.replacing {
			c.Removed = append(c.Removed, res)
			return
		}
		pending := clone(res)
		pending.PendingReplacement = true
		c.Replaced = append(c.Replaced, record.Replacement{Old: res, New: pending})
	}
	for _, along := range s.along {
		leave(along.old)
	}
	for _, res := range s.oldAlong {
		leave(res)
	}
	leave(s.old)
	return c
}

// confirmDeleted returns why a resource is not known to be deleted after the provider's answer. An object that the provider does
// not find or cannot delete does not count as deleted: in another project, region, or account it would say the same. An old copy,
// or an object whose deletion was cut off in an earlier run, may well be gone: it is read if its deletion fails, and is gone if
// its provider says so.
func (a *applier) confirmDeleted(ctx context.Context, s *step, err error) error {
	o := s.old
	if err == nil {
		return nil
	}
	if (o.Delete || a.recorder.IsUnsure(o.URN)) && ctx.Err() == nil {
		if gone, _ := a.isGone(ctx, s); gone {
			return nil
		}
	}
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		return fmt.Errorf("%w\nthe provider cannot delete resources of this type, so it stays in the state: "+
			"delete the object %q by other means, then have husk state delete %s forget it", err, o.ID, quoted(o.URN))
	case !errors.Is(err, abi.ErrNotFound):
		return err
	}
	return fmt.Errorf("%w\nthat the provider did not find the object %q does not say that it is gone, so it stays in the state: "+
		"make sure that the provider looks in the right place (its credentials, project, and region); "+
		"if it is gone, husk refresh finds that out and forgets it, or husk state delete %s does",
		err, o.ID, quoted(o.URN))
}

// quoted returns a URN as an argument of a command in a shell.
func quoted(u urn.URN) string { return "'" + strings.ReplaceAll(string(u), "'", `'\''`) + "'" }

// checkUnneeded returns an error if the state would not hold together without resources. The plan of the
// deletions sees to that already; this makes certain before anything is deleted.
func (o *objects) checkUnneeded(leaving ...*state.Resource) error {
	if user := o.recorder.NeededBy(leaving...); user != nil {
		return fmt.Errorf("it is still needed by %s, so it was not deleted: run husk up again, or husk state repair", user.URN)
	}
	return nil
}

// protects reports whether a deletion is refused, since the resource is protected.
func (o *objects) protects(s *step) bool {
	return !s.replacing && s.op == OpDelete && !o.IgnoreProtect && o.isProtected(s.old)
}

func (o *objects) isProtected(res *state.Resource) bool { return o.options(res).Protect }

// options returns the resource whose options count for a deletion: as the program registers it now, in an update that
// replaces it or a destruction that runs the program, else as recorded.
func (o *objects) options(res *state.Resource) *state.Resource {
	wishes := &o.registrations.Goals
	if o.mode == destroying {
		wishes = &o.registrations.Declared
	}
	if wish := wishes.Get(res.URN); wish != nil && !res.Delete {
		return wish
	}
	return res
}

// tellRetained tells of an object that leaves the state and stays.
func (o *objects) tellRetained(res *state.Resource) {
	if record.IsObject(res) && !res.External && o.options(res).RetainOnDelete {
		o.diagnose("info", res.URN, "the object %q is retained, as the option retainOnDelete asks: it stays, and the state forgets it", res.ID)
	}
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
