package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// read looks up an external resource: one that the stack uses but does not own.
func (d *deployment) read(ctx context.Context, gl *goal, id string) (*state.Resource, error) {
	if d.exec.stopped() {
		return nil, ErrStopped
	}
	if id == "" && !d.dryRun {
		return nil, fmt.Errorf("reading %q needs an ID", gl.name)
	}
	old, err := d.gen.claim(gl)
	if err != nil {
		return nil, err
	}
	provider, err := d.providerFor(ctx, gl.typ, gl.by)
	if err != nil {
		return nil, err
	}
	n := gl.state(gl.inputs)
	n.External, n.ID = true, id
	s := &step{op: OpRead, old: old, new: n, provider: provider}
	if old != nil && !old.External && old.ID != id {
		// It was managed; that one is no longer wanted.
		s.op = OpReadReplacement
	}
	chain := d.gen.plan(n, s)
	if err := d.exec.run(ctx, chain); err != nil {
		return nil, err
	}
	return s.new, nil
}

func (d *deployment) applyRead(ctx context.Context, s *step) error {
	n := s.new
	if n.ID == "" { // a preview in which the ID is not known
		n.Outputs = d.previewOutputs(ctx, n, property.Map{})
		return d.record(ctx, placed(s))
	}
	resp, err := s.provider.Read(ctx, abi.ReadRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: n.ID, State: &n.Inputs, Timeout: timeouts(n).Read,
	})
	switch {
	case errors.Is(err, errUnconfigured):
		n.Outputs = d.previewOutputs(ctx, n, property.Map{})
		return d.record(ctx, placed(s))
	case err != nil && !unhealthy(err, n, &resp):
		return err
	case resp.ID == "":
		return fmt.Errorf("no %s with ID %q exists", n.Type, n.ID)
	}
	n.ID, n.Outputs = resp.ID, markSecrets(n, resp.State)
	if s.old != nil && s.op == OpRead && !durablyDifferent(s.old, n) {
		s.new = s.old
		return nil
	}
	return d.record(ctx, placed(s))
}

// placed puts a step's new resource in the place of the old one; the old copy of
// a replacement stays until it is deleted.
func placed(s *step) change {
	switch {
	case s.old == nil:
		return change{add: s.new}
	case s.op == OpReadReplacement:
		return change{add: s.new, replace: [][2]*state.Resource{{s.old, condemned(s.old)}}}
	default:
		return change{replace: [][2]*state.Resource{{s.old, s.new}}}
	}
}

// unhealthy takes the state of a resource that a provider found, but found
// unhealthy, from the error into resp.
func unhealthy(err error, n *state.Resource, resp *abi.ReadResponse) bool {
	var e *abi.Error
	if !errors.As(err, &e) || e.Kind != abi.ErrorKindInitFailed || e.InitFailure == nil {
		return false
	}
	f := e.InitFailure
	*resp = abi.ReadResponse{ID: f.ID, State: f.State, Inputs: f.Inputs, RefreshBeforeUpdate: f.RefreshBeforeUpdate}
	n.InitErrors = f.Reasons
	return true
}

// planImport plans taking over an existing object. A replaced one is deleted
// when the program has ended.
func (g *generator) planImport(gl *goal, old *state.Resource, provider abi.Provider) ([]*step, error) {
	if !gl.custom {
		return nil, errors.New("a component cannot be imported: import its children")
	}
	n := gl.state(gl.inputs)
	n.ImportID = gl.options.ImportID
	return g.plan(n, &step{op: OpImport, old: old, new: n, provider: provider}), nil
}

// applyImport reads the object, checks the program's inputs against what was
// found, and takes it over if nothing differs. The program must describe the
// object as it is; a difference is an error that shows what to write.
func (d *deployment) applyImport(ctx context.Context, s *step) error {
	n := s.new
	op, err := d.begin(ctx, state.OperationImporting, n)
	if err != nil {
		return err
	}
	done, err := d.importResource(ctx, s)
	if err != nil {
		return errors.Join(err, d.record(ctx, change{end: op}))
	}
	done.end = op
	return d.record(ctx, done)
}

func (d *deployment) importResource(ctx context.Context, s *step) (change, error) {
	n := s.new
	resp, err := s.provider.Read(ctx, abi.ReadRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: n.ImportID, Timeout: timeouts(n).Read,
	})
	switch {
	case err != nil && !unhealthy(err, n, &resp):
		return change{}, err
	case resp.ID == "":
		return change{}, fmt.Errorf("cannot import: no %s with ID %q exists", n.Type, n.ImportID)
	case resp.Inputs == nil:
		return change{}, fmt.Errorf("cannot import: the provider does not support importing %s", n.Type)
	}
	found := *n
	found.ID, found.Inputs, found.Outputs = resp.ID, *resp.Inputs, resp.State
	checked, err := s.provider.Check(ctx, abi.CheckRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, Olds: &found.Inputs, News: n.Inputs,
	})
	if err == nil {
		err = checkFailures(checked.Failures)
	}
	if err != nil {
		return change{}, err
	}
	df, err := d.gen.askProvider(ctx, s.provider, &found, checked.Inputs, n.IgnoreChanges)
	if err != nil {
		return change{}, err
	}
	n.ID, n.Inputs = resp.ID, checked.Inputs
	if df.some() {
		return change{}, &ImportDifference{ID: resp.ID, Changes: changesOf(df, &found, n)}
	}
	n.Outputs = markSecrets(n, resp.State)
	now := d.now()
	n.Created, n.Modified = now, now
	if s.old == nil {
		return change{add: n}, nil
	}
	if s.old.External || s.old.ID == n.ID {
		return change{replace: [][2]*state.Resource{{s.old, n}}}, nil
	}
	return change{add: n, replace: [][2]*state.Resource{{s.old, condemned(s.old)}}}, nil
}

// ImportDifference says why an import failed: the program's inputs are not
// those of the object.
type ImportDifference struct {
	ID      string
	Changes []PropertyChange
}

// Error lists what differs.
func (e *ImportDifference) Error() string {
	msg := fmt.Sprintf("cannot import %q: the inputs in the program differ from those of the object; change them to match:", e.ID)
	for _, c := range e.Changes {
		msg += fmt.Sprintf("\n  %s: is %s, the program says %s", c.Path, orNone(c.Old), orNone(c.New))
	}
	return msg
}

func orNone(s string) string { return or(s, "(none)") }

// refresh reads every custom resource and records how it is. What is gone is
// removed, and with it the mentions of it in other resources.
func (d *deployment) refresh(ctx context.Context) error {
	var chains [][]*step
	for _, res := range d.recorder.resources() {
		if !res.Custom || res.Delete || res.PendingReplacement || isProviderType(res.Type) {
			continue
		}
		provider, err := d.providerOf(ctx, res)
		if err != nil {
			return fmt.Errorf("refresh %s: %w", res.URN, err)
		}
		chains = append(chains, []*step{{op: OpRefresh, old: res, provider: provider}})
	}
	d.exec.runAll(ctx, chains)
	if err := errors.Join(d.exec.failed()...); err != nil {
		return err
	}
	return d.forgetGone(ctx)
}

func (d *deployment) applyRefresh(ctx context.Context, s *step) error {
	o := s.old
	n := clone(o)
	n.InitErrors = nil
	resp, err := s.provider.Read(ctx, abi.ReadRequest{
		URN: o.URN, Name: o.URN.Name(), Type: o.Type, ID: o.ID,
		State: &o.Outputs, Inputs: &o.Inputs, Timeout: timeouts(o).Read,
	})
	switch {
	case errors.Is(err, abi.ErrUnimplemented):
		s.result = OpSame
		return nil
	case err != nil && unhealthy(err, n, &resp):
		d.warn(o.URN, "the resource exists, but is not healthy: %v", err)
	case errors.Is(err, abi.ErrNotFound):
		resp.ID = ""
	case err != nil:
		return err
	}
	if resp.ID == "" {
		s.result = OpDelete
		return d.record(ctx, change{remove: []*state.Resource{o}})
	}
	n.ID, n.Outputs = resp.ID, markSecrets(o, resp.State)
	if resp.Inputs != nil {
		n.Inputs = *resp.Inputs
	}
	if !durablyDifferent(o, n) && len(o.InitErrors) == len(n.InitErrors) {
		s.result = OpSame
		return nil
	}
	s.result, s.new = OpUpdate, n
	s.diff = diff{detailed: stateDiff(o.Outputs, n.Outputs), ofState: true}
	now := d.now()
	n.Modified = now
	return d.record(ctx, change{replace: [][2]*state.Resource{{o, n}}})
}

// forgetGone removes mentions of resources that no longer exist. A resource
// whose parent is gone becomes a child of the stack.
func (d *deployment) forgetGone(ctx context.Context) error {
	resources := d.recorder.resources()
	exists := make(map[urn.URN]bool, len(resources))
	var root urn.URN
	for _, res := range resources {
		exists[res.URN] = true
		if res.Type == urn.RootType {
			root = res.URN
		}
	}
	var c change
	for _, res := range resources {
		if n := withoutGone(res, exists, root); n != nil {
			c.replace = append(c.replace, [2]*state.Resource{res, n})
		}
	}
	if len(c.replace) == 0 {
		return nil
	}
	return d.record(ctx, c)
}

// withoutGone returns a copy of res that mentions only what exists, nil where
// it does so already.
func withoutGone(res *state.Resource, exists map[urn.URN]bool, root urn.URN) *state.Resource {
	complete := true
	dependsOn(res, func(u urn.URN) { complete = complete && exists[u] })
	if complete {
		return nil
	}
	gone := func(u urn.URN) bool { return !exists[u] }
	n := clone(res)
	n.Dependencies = slices.DeleteFunc(slices.Clone(res.Dependencies), gone)
	n.ReplaceWith = slices.DeleteFunc(slices.Clone(res.ReplaceWith), gone)
	n.PropertyDependencies = make(map[string][]urn.URN, len(res.PropertyDependencies))
	for k, deps := range res.PropertyDependencies {
		n.PropertyDependencies[k] = slices.DeleteFunc(slices.Clone(deps), gone)
	}
	if n.Parent != "" && gone(n.Parent) {
		n.Parent = root
	}
	if n.DeletedWith != "" && gone(n.DeletedWith) {
		n.DeletedWith = ""
	}
	return n
}
