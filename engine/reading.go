package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/excerpt"
)

// read looks up an external resource: one that the stack uses but does not own.
func (d *deployment) read(ctx context.Context, gl *goal, id string) (*state.Resource, error) {
	if d.failures.stopped() {
		return nil, ErrStopped
	}
	if id == "" && !d.mayHaveUnknowns() && !d.selection.IsNarrow() {
		return nil, fmt.Errorf("reading %q needs an ID", gl.name)
	}
	old, err := d.gen.claim(ctx, gl)
	if err != nil {
		return nil, err
	}
	if old, err = d.gen.adoptOld(ctx, old, gl); err != nil {
		return nil, err
	}
	ctx = counting(ctx)
	chain, err := d.gen.planRead(ctx, gl, old, id)
	if err == nil {
		err = d.holdToPlan(gl, chain)
	}
	if err == nil {
		err = d.exec.run(ctx, chain)
	}
	return d.registered(ctx, gl, chain, err)
}

// planRead plans a read. A managed resource with another ID is no longer wanted then.
func (g *generator) planRead(ctx context.Context, gl *goal, old *state.Resource, id string) ([]*step, error) {
	if g.mode != updating {
		if old != nil && old.ID != id {
			g.registrations.Displaced.Set(old.URN, true)
			old = nil
		}
		return g.planUnchanged(ctx, gl, old)
	}
	if steps, left, err := g.leaveUnselectedRead(gl, old, id); left || err != nil {
		return steps, err
	}
	provider, err := g.providerFor(ctx, gl.typ, gl.by)
	if err != nil {
		return nil, err
	}
	n := gl.state(gl.inputs)
	n.External, n.ID = true, id
	s := &step{op: OpRead, old: old, new: n, provider: provider}
	if old != nil && !old.External && old.ID != id {
		s.op = OpReadReplacement
		if err := errors.Join(g.checkReplaceable(old, "it is read with another ID"), g.checkReplacedTogether(old)); err != nil {
			return nil, err
		}
	}
	return g.plan(n, s), nil
}

func (a *applier) applyRead(ctx context.Context, s *step) error {
	n := s.new
	if n.ID == "" { // a preview in which the ID is not known
		n.Outputs = a.previewOutputs(ctx, n, property.Map{})
		return a.recorder.Record(ctx, a.placement(s, s.op == OpReadReplacement))
	}
	resp, _, err := readObject(ctx, s.provider, n, n.ID, &n.Inputs, nil)
	switch {
	case errors.Is(err, providers.ErrUnconfigured):
		n.Outputs = a.previewOutputs(ctx, n, property.Map{})
		return a.recorder.Record(ctx, a.placement(s, s.op == OpReadReplacement))
	case err != nil:
		return err
	case resp.ID == "":
		return fmt.Errorf("no %s with ID %q exists", n.Type, n.ID)
	}
	n.ID, n.Outputs = resp.ID, markSecrets(n, resp.State)
	n.Created, n.Modified = a.now(), a.now()
	if s.old != nil && s.op == OpRead && s.old.ID == n.ID {
		if !durablyDifferent(s.old, n) {
			s.new = s.old
			return nil
		}
		n.Created = s.old.Created
	}
	return a.recorder.Record(ctx, a.placement(s, s.op == OpReadReplacement))
}

// placement returns the change that replaces a step's old resource by the new one. The old copy of another
// object waits for its deletion.
func (a *applier) placement(s *step, anotherObject bool) record.Change {
	if s.old == nil || anotherObject {
		return a.recorder.Supersede(s.old, s.new)
	}
	return record.Replace(s.old, s.new)
}

// readObject reads the object of n by its ID. The response has no ID if the object is gone. Only an empty ID says so, never the
// kind of an error. An unhealthy object is found like any other: unhealthy is the provider's error, and n has the reasons.
func readObject(ctx context.Context, provider abi.Provider, n *state.Resource, id string, known, inputs *property.Map) (
	resp abi.ReadResponse, unhealthy, err error,
) {
	resp, err = provider.Read(ctx, abi.ReadRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: id, State: known, Inputs: inputs, Timeout: timeouts(n).Read,
	})
	if errors.Is(err, abi.ErrUnimplemented) {
		return abi.ReadResponse{}, nil, findObject(ctx, provider, n, id, known, err)
	}
	if errors.Is(err, abi.ErrNotFound) && providers.PackageOf(n.Type) != builtin.Package { // the engine looks where it was told to
		err = fmt.Errorf("%w\nthat the provider did not find the object %q does not say that it is gone, so nothing was changed: "+
			"make sure that the provider looks in the right place (its credentials, project, and region); "+
			"if the object is gone, husk state delete forgets the resource", err, id)
	}
	if f := initFailure(err); f != nil {
		n.InitErrors = f.Reasons
		return abi.ReadResponse{ID: cmp.Or(f.ID, id), State: f.State, Inputs: f.Inputs, RefreshBeforeUpdate: f.RefreshBeforeUpdate}, err, nil
	}
	return resp, nil, err
}

// unreadError is the error for an object that exists, and that its provider cannot read.
type unreadError struct{ cause error }

func (e *unreadError) Error() string {
	return "the object exists, but cannot be read: " + e.cause.Error()
}

func (e *unreadError) Unwrap() error { return e.cause }

// findObject asks whether an object exists that its provider cannot read. It returns an [*unreadError] if it does,
// nil if it is gone, and the cause if the provider cannot tell either.
func findObject(ctx context.Context, provider abi.Provider, n *state.Resource, id string, known *property.Map, cause error) error {
	resp, err := provider.Exists(ctx, abi.ExistsRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: id, State: known, Timeout: timeouts(n).Read,
	})
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		return cause
	case err != nil:
		return err
	case resp.Exists:
		return &unreadError{cause}
	default:
		return nil
	}
}

// lookedUp names, in its URN, an object that is asked for without a name.
const lookedUp = "exists"

// exists asks the provider of a type whether it finds an object.
func (m *monitor) exists(ctx context.Context, req abi.ReadResourceRequest, properties property.Map) (exists, known bool, err error) {
	if err := checkNames(req.Type, lookedUp, true); err != nil {
		return false, false, err
	}
	properties, _, _ = providers.FoldInputs(properties, nil, nil)
	if req.ID == "" || properties.ContainsUnknowns() {
		if m.d.mayLackResources() || m.d.ContinueOnError { // they may come from a failed resource
			return false, false, nil
		}
		return false, false, errors.New("its ID is empty, or its properties hold unknown values")
	}
	parent := m.parentOf(req.Type, req.Parent)
	by, err := m.chooseProvider(ctx, providerRequest{req.Type, req.Options.Version, req.Options.PackageRef, req.Options.Provider, parent})
	if err != nil {
		return false, false, err
	}
	provider, err := m.d.resolveProvider(ctx, by)
	if err != nil {
		return false, false, err
	}
	n := &state.Resource{URN: urn.New(m.d.Stack, m.d.Project, parent, req.Type, lookedUp), Type: req.Type}
	resp, err := provider.Read(ctx, abi.ReadRequest{URN: n.URN, Name: lookedUp, Type: n.Type, ID: req.ID, State: &properties})
	if errors.Is(err, abi.ErrUnimplemented) {
		err = findObject(ctx, provider, n, req.ID, &properties, err)
	}
	_, unread := errors.AsType[*unreadError](err)
	switch {
	case unread || initFailure(err) != nil:
		return true, true, nil
	case errors.Is(err, providers.ErrUnconfigured):
		return false, false, nil
	}
	return resp.ID != "", err == nil, err
}

// initFailure returns the unhealthy object that a call has made, nil for any other error.
func initFailure(err error) *abi.InitFailure {
	e, ok := errors.AsType[*abi.Error](err)
	if !ok || e.Kind != abi.ErrorKindInitFailed {
		return nil
	}
	return e.InitFailure
}

// adopt gives n the state that its provider found. An unhealthy object whose provider tells no state keeps n's.
func adopt(n *state.Resource, found abi.ReadResponse) {
	n.ID, n.RefreshBeforeUpdate = found.ID, found.RefreshBeforeUpdate
	if found.State.Len() > 0 || len(n.InitErrors) == 0 {
		n.Outputs = markSecrets(n, found.State)
	}
	if found.Inputs != nil {
		n.Inputs = *found.Inputs
	}
}

// planImport plans taking over an existing object. A replaced one is deleted
// when the program has ended.
func (g *generator) planImport(gl *goal, old *state.Resource, provider abi.Provider) ([]*step, error) {
	if !gl.custom {
		return nil, errors.New("a component cannot be imported: import its children")
	}
	if old != nil && !old.External && !old.PendingReplacement {
		err := errors.Join(g.checkReplaceable(old, "another object is imported in its place"), g.checkReplacedTogether(old))
		if err != nil {
			return nil, err
		}
	}
	n := gl.state(gl.inputs)
	n.ImportID = gl.options.ImportID
	return g.plan(n, &step{op: OpImport, old: old, new: n, provider: provider}), nil
}

// applyImport reads the object and takes it over if the program's inputs do not differ. A difference is an
// error that shows what to write.
func (a *applier) applyImport(ctx context.Context, s *step) error {
	n := s.new
	op, err := a.recorder.Begin(ctx, state.OperationImporting, n, record.Change{})
	if err != nil {
		return err
	}
	done, err := a.importResource(ctx, s)
	if err != nil {
		return errors.Join(err, a.recorder.Record(ctx, record.End(op)))
	}
	return a.recorder.Record(ctx, done.Ending(op))
}

func (a *applier) importResource(ctx context.Context, s *step) (record.Change, error) {
	n := s.new
	var known, inputs *property.Map
	if s.asFound != nil {
		known, inputs = s.asFound.State, s.asFound.Inputs
	}
	resp, _, err := readObject(ctx, s.provider, n, n.ImportID, known, inputs)
	resp.Inputs = cmp.Or(resp.Inputs, inputs)
	switch {
	case err != nil:
		return record.Change{}, err
	case resp.ID == "" && known != nil:
		return record.Change{}, fmt.Errorf("cannot import: no %s with ID %q exists any more: refresh the state that it comes from", n.Type, n.ImportID)
	case resp.ID == "":
		return record.Change{}, fmt.Errorf("cannot import: no %s with ID %q exists", n.Type, n.ImportID)
	case resp.Inputs == nil:
		return record.Change{}, fmt.Errorf("cannot import: the provider does not support importing %s", n.Type)
	}
	found := clone(n)
	found.ID, found.Inputs, found.Outputs, found.RefreshBeforeUpdate = resp.ID, *resp.Inputs, markSecrets(n, resp.State), resp.RefreshBeforeUpdate
	if s.asFound != nil {
		found.Outputs = markSecrets(found, resp.State)
		if err := a.importAsFound(ctx, s, found); err != nil {
			return record.Change{}, err
		}
		return a.placement(s, s.old != nil && !s.old.External && s.old.ID != s.new.ID), nil
	}
	news := a.gen.keepIgnored(n.URN, n.IgnoreChanges, found.Inputs, n.Inputs)
	check, err := s.provider.Check(ctx, abi.CheckRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, Olds: &found.Inputs,
		News: news, RandomSeed: newSeed(),
	})
	checked, refused, err := checkedInputs(news, check, err)
	err = cmp.Or(err, refused)
	if err == nil {
		policyResource := clone(n)
		policyResource.Inputs = checked
		err = a.gen.analyze(ctx, policyResource, resp.ID, nil)
	}
	if err != nil {
		return record.Change{}, err
	}
	df, err := a.gen.askProvider(ctx, s.provider, found, checked, n.IgnoreChanges)
	if err != nil {
		return record.Change{}, err
	}
	n.ID, n.Inputs, n.Outputs, n.RefreshBeforeUpdate = resp.ID, checked, found.Outputs, resp.RefreshBeforeUpdate
	now := a.now()
	n.Created, n.Modified, found.Created, found.Modified = now, now, now, now
	if df.changed() {
		if df.replace || !a.UpdateOnImport {
			return record.Change{}, &ImportDifference{ID: resp.ID, Changes: changesOf(df, found, n)}
		}
		s.next = &step{op: OpUpdate, old: found, new: n, provider: s.provider, diff: df}
		s.new = found
	}
	return a.placement(s, s.old != nil && !s.old.External && s.old.ID != s.new.ID), nil
}

// ImportDifference is the error of an import whose inputs in the program differ from the object's.
type ImportDifference struct {
	ID      string
	Changes []PropertyChange
}

// Error lists what differs.
func (e *ImportDifference) Error() string {
	msg := fmt.Sprintf("cannot import %q: the inputs in the program differ from the object's; change them to match:", e.ID)
	for _, c := range e.Changes {
		old, new, at := excerpt.Pair(cmp.Or(c.Old, "(none)"), cmp.Or(c.New, "(none)"))
		msg += fmt.Sprintf("\n  %s: is %s, the program says %s%s", c.Path, old, new, excerpt.Where(at))
	}
	return msg
}
