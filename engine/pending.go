package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// PendingCreatesError says that an earlier run was cut off in creations, or that a provider crashed in them.
type PendingCreatesError struct{ URNs []urn.URN }

// Error says what to do about them.
func (e *PendingCreatesError) Error() string {
	var names strings.Builder
	for _, u := range e.URNs {
		names.WriteString("\n  " + string(u))
	}
	return "nothing was done, since an earlier run did not end the creation of resources, which may exist or not: " + pendingAdvice + names.String()
}

const pendingAdvice = "look for it, then run husk refresh with --adopt-pending-creates <urn>=<id> to take it over, " +
	"or with --clear-pending-creates to forget this warning"

// pendingOperations are the operations that an earlier run did not end.
type pendingOperations struct {
	*run
	*events
	*objects
	*providerChoice
	recorder    *record.Recorder
	describedBy func(ctx context.Context, n *state.Resource, provider abi.Provider) *schema.Resource
}

// report warns of operations that an earlier run did not end. Creations stay until the user says what
// became of them, updates and deletions until their resource is read or gone. Others are forgotten. The resource that any of them may have
// changed is read before this run changes it.
func (p *pendingOperations) report(ctx context.Context) error {
	if p.StopOnPending {
		if err := p.adoptEvident(ctx); err != nil {
			return err
		}
	}
	var done record.Change
	var creations []urn.URN
	for op, pending := range p.recorder.Unfinished() {
		res := pending.Resource
		earlier := "an earlier run was cut off while"
		if record.HasCrashed(pending) {
			earlier = "the provider crashed in an earlier run while"
		}
		switch {
		case providers.IsType(res.Type):
			p.warn(res.URN, "%s %s this provider, which is configured anew", earlier, pending.Type)
			done = done.Ending(op)
		case pending.Type == state.OperationCreating && p.AdoptPendingCreates[res.URN] != "":
		case pending.Type == state.OperationCreating && p.ClearPendingCreates:
			done = done.Ending(op)
		case pending.Type == state.OperationCreating:
			creations = append(creations, res.URN)
			p.warn(res.URN, "%s creating this resource, which may exist or not%s: "+pendingAdvice, earlier, p.proposal(ctx, res))
			if readable(p.recorder.Lookup(res.URN)) { // it may have been made over the recorded object
				p.recorder.Doubt(res.URN)
			}
		case pending.Type == state.OperationReading || pending.Type == state.OperationImporting:
			done = done.Ending(op) // they change nothing
		case !res.Delete && readable(p.recorder.Lookup(res.URN)):
			p.warn(res.URN, "%s %s this resource, which is read before it is changed", earlier, pending.Type)
			p.recorder.Doubt(res.URN, op)
			if pending.Type == state.OperationDeleting {
				p.doubtOwned(res.URN, op)
			}
		default:
			p.warn(res.URN, "%s %s this resource", earlier, pending.Type)
			done = done.Ending(op)
		}
	}
	if len(creations) > 0 && p.StopOnPending {
		return &PendingCreatesError{URNs: creations}
	}
	return p.recorder.Record(ctx, done)
}

// adoptEvident takes over the objects of creations that were cut off, if a provider finds them, and they are certain to be these: all
// that the schema identifies objects by is equal, and so are all other inputs. That an object is not found says nothing: whoever was cut
// off from the stack may be creating it still.
func (p *pendingOperations) adoptEvident(ctx context.Context) error {
	var creations []*state.Resource
	for _, pending := range p.recorder.Unfinished() {
		if pending.Type == state.OperationCreating && !providers.IsType(pending.Resource.Type) {
			creations = append(creations, pending.Resource)
		}
	}
	for _, created := range creations {
		id := p.proposed(ctx, created)
		if id == "" {
			continue
		}
		a, err := p.readPending(ctx, created.URN, id)
		if err != nil {
			continue // it stays pending, and its warning says what to do
		}
		provider, err := p.providerOf(ctx, a.res)
		if err != nil {
			return err
		}
		described := p.describedBy(ctx, a.res, provider)
		if described == nil {
			continue
		}
		if different, known := compareIdentity(described, created.Inputs, a.res.Inputs); different != "" || !known {
			continue
		}
		p.warn(created.URN, "an earlier run was cut off while creating this resource: its object %q was found, and is taken over", id)
		if err := p.takeOver(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// doubtOwned notes that the resources deleted with an owner may be gone as well, because the owner's deletion was cut off.
func (p *pendingOperations) doubtOwned(owner urn.URN, op record.Operation) {
	gone := map[urn.URN]bool{owner: true}
	for changed := true; changed; {
		changed = false
		for _, res := range p.recorder.Resources() {
			if gone[res.DeletedWith] && !gone[res.URN] && !res.Delete && readable(res) {
				gone[res.URN], changed = true, true
				p.recorder.Doubt(res.URN, op)
			}
		}
	}
}

// readable reports whether a refresh reads the recorded resource, also if it is an old copy.
func readable(res *state.Resource) bool {
	return res != nil && res.Custom && !res.PendingReplacement && !providers.IsType(res.Type)
}

// readIfUnsure reads a resource that the program registers and that needs it, and returns how it is recorded then.
func (d *deployment) readIfUnsure(ctx context.Context, old *state.Resource) (*state.Resource, error) {
	if old != nil && old.PendingReplacement {
		d.recorder.NoteRead(old.URN) // this run has deleted its object
		return old, nil
	}
	if old == nil || !d.needsRead(old) {
		return old, nil
	}
	provider, err := d.providerOf(ctx, old)
	if err != nil {
		return nil, fmt.Errorf("refresh %s: %w", old.URN, err)
	}
	return d.readNow(ctx, old, provider)
}

// readNow reads a recorded resource by a provider, and returns how it is recorded then. One that is gone waits to
// be made again.
func (d *deployment) readNow(ctx context.Context, old *state.Resource, provider abi.Provider) (*state.Resource, error) {
	s := &step{op: OpRefresh, old: old, provider: provider}
	if err := d.exec.run(ctx, []*step{s}); err != nil {
		return nil, err
	}
	d.recorder.NoteRead(old.URN) // also if its provider cannot read: the run goes by what the state says
	if s.result == OpDelete {
		gone := clone(old)
		gone.PendingReplacement = true
		if err := d.recorder.Record(ctx, record.Replace(old, gone)); err != nil {
			return nil, err
		}
	}
	return d.recorder.Lookup(old.URN), nil
}

// adoption is an object that a creation which was cut off has made, as its provider found it.
type adoption struct {
	op  record.Operation
	res *state.Resource
}

// adoptNamed takes over the objects that the user names for creations that were cut off. Each is read
// first: if one does not exist, nothing is changed.
func (p *pendingOperations) adoptNamed(ctx context.Context) error {
	var found []adoption
	for _, u := range slices.Sorted(maps.Keys(p.AdoptPendingCreates)) {
		a, err := p.readPending(ctx, u, p.AdoptPendingCreates[u])
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(found, func(other adoption) bool { return p.sameObject(a.res, other.res) }); i >= 0 {
			return fmt.Errorf("adopt %s: the object %q is to be %s, so nothing was changed", u, a.res.ID, found[i].res.URN)
		}
		found = append(found, a)
	}
	for _, a := range found {
		if err := p.takeOver(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// takeOver records an adopted object. If the recorded resource was made after the creation was cut off, the object is an old copy of it.
// Only times tell: a creation that another tool began has none, and its object takes the place of the recorded one.
func (p *pendingOperations) takeOver(ctx context.Context, a adoption) error {
	recorded := p.recorder.Lookup(a.res.URN)
	done := p.recorder.Supersede(recorded, a.res)
	if recorded != nil && !recorded.PendingReplacement && !a.res.Created.IsZero() && isLater(recorded, a.res) {
		p.warn(a.res.URN, "the object %q was made before the resource that the state has by now, so it is taken over as an old copy, "+
			"which the next update removes", a.res.ID)
		done = record.AddOldCopy(a.res, recorded)
	}
	if err := p.recorder.Record(ctx, done.Ending(a.op)); err != nil {
		return fmt.Errorf("adopt %s: %w", a.res.URN, err)
	}
	return nil
}

// readPending reads the object that a creation has made.
func (p *pendingOperations) readPending(ctx context.Context, u urn.URN, id string) (adoption, error) {
	op, created := p.recorder.Creating(u)
	if created == nil {
		return adoption{}, fmt.Errorf("no creation of %s was interrupted: husk preview warns about interrupted ones", u)
	}
	n := p.withoutMissing(created)
	if n.Provider != "" && p.recorder.Provider(n.Provider) == nil {
		return adoption{}, fmt.Errorf("adopt %s: its provider %s is not in the state any more: "+
			"have the program register the resource with its import option, which names the object", u, n.Provider)
	}
	n.ID, n.Outputs = id, n.Inputs
	n.InitErrors = nil // the errors of the creation
	if other := p.objectOwner(n); other != nil {
		return adoption{}, fmt.Errorf("adopt %s: the object %q is %s, which is recorded already", u, id, other.URN)
	}
	provider, err := p.providerOf(ctx, n)
	if err != nil {
		return adoption{}, fmt.Errorf("adopt %s: %w", u, err)
	}
	// With inputs, a provider could return the object that they lead to, whatever the ID is.
	resp, _, err := readObject(ctx, provider, n, id, nil, nil)
	_, exists := errors.AsType[*unreadError](err)
	switch {
	case exists:
		p.warn(u, "the provider cannot read resources of this type: the object %q exists, and its outputs are taken to be its inputs", id)
		return adoption{op, n}, nil
	case errors.Is(err, abi.ErrUnimplemented):
		p.warn(u, "the provider cannot read resources of this type, so nothing confirms that the object %q exists", id)
		return adoption{op, n}, nil
	case err == nil && resp.ID == "":
		return adoption{}, fmt.Errorf("adopt %s: no %s with the ID %q exists, so nothing was changed", u, n.Type, id)
	case err != nil:
		return adoption{}, fmt.Errorf("adopt %s: %w", u, err)
	}
	adopt(n, resp)
	if other := p.objectOwner(n); other != nil { // the provider knows the object by another ID than the user
		return adoption{}, fmt.Errorf("adopt %s: the object %q is %s, which is recorded already", u, n.ID, other.URN)
	}
	if described := p.describedBy(ctx, n, provider); described != nil {
		if name, _ := compareIdentity(described, created.Inputs, n.Inputs); name != "" {
			return adoption{}, fmt.Errorf("adopt %s: the object %q has another %s than the interrupted creation, so nothing was changed", u, id, name)
		}
	}
	return adoption{op, n}, nil
}

// repeatedCreation returns the creation that was cut off if the step has just made the same object again: all
// that the schema identifies objects by is equal.
func (a *applier) repeatedCreation(ctx context.Context, s *step) record.Operation {
	op, created := a.recorder.Creating(s.new.URN)
	if created == nil || created.Provider != s.new.Provider || a.previews() {
		return record.Operation{}
	}
	described := a.describedBy(ctx, s.new, s.provider)
	if described == nil {
		return record.Operation{}
	}
	if different, known := compareIdentity(described, created.Inputs, s.new.Inputs); different != "" || !known {
		return record.Operation{}
	}
	return op
}

// compareIdentity compares the identity of two objects. It returns an input that both have and that differs,
// empty for none, and reports whether both have all inputs of the identity.
func compareIdentity(described *schema.Resource, a, b property.Map) (different string, known bool) {
	known = len(described.Identity) > 0
	for _, name := range described.Identity {
		x, y := a.Get(name), b.Get(name)
		switch {
		case x.Plain().IsNull() || y.Plain().IsNull():
			known = false
		case !x.EqualContents(y):
			different = name
		}
	}
	return different, known
}

// withoutMissing returns a resource of an earlier run without mentions of missing resources. The stack takes the place of a
// parent that is gone.
func (p *pendingOperations) withoutMissing(res *state.Resource) *state.Resource {
	n := clone(res.MapURNs(func(m state.Mention) urn.URN {
		if m.Role.Needed() && m.Role != state.RoleProvider && p.recorder.Lookup(m.URN) == nil {
			return ""
		}
		return m.URN
	}))
	if root := rootOf(slices.All(p.recorder.Resources())); root != nil && n.Parent == "" {
		n.Parent = root.URN
	}
	return n
}

// objectOwner returns the recorded resource that is the same object as res, nil if there is none.
func (p *pendingOperations) objectOwner(res *state.Resource) *state.Resource {
	for _, other := range p.recorder.Resources() {
		if p.sameObject(res, other) {
			return other
		}
	}
	return nil
}

// maxProposed bounds the objects that are read for one creation that was cut off: each costs a call.
const maxProposed = 20

// proposal names the object of [pendingOperations.proposed] in a warning.
func (p *pendingOperations) proposal(ctx context.Context, created *state.Resource) string {
	if id := p.proposed(ctx, created); id != "" {
		return fmt.Sprintf(" (it looks like the one with the ID %q)", id)
	}
	return ""
}

// proposed returns the ID of the object that a creation which was cut off seems to have made: the only one with its inputs
// that no resource is. It is empty if there is none, or several.
func (p *pendingOperations) proposed(ctx context.Context, created *state.Resource) string {
	if p.recorder.Provider(created.Provider) == nil {
		return ""
	}
	provider, err := p.providerOf(ctx, created)
	if err != nil {
		return ""
	}
	var found []string
	for _, id := range p.candidates(ctx, provider, created) {
		n := clone(created)
		if n.ID = id; slices.Contains(found, id) || p.objectOwner(n) != nil {
			continue
		}
		resp, unhealthy, err := readObject(ctx, provider, n, id, nil, nil)
		if err == nil && unhealthy == nil && resp.ID != "" && resp.Inputs != nil && likeInputs(created.Inputs, *resp.Inputs) {
			found = append(found, resp.ID)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// candidates returns the IDs of objects that a creation may have made: listed ones whose name or ID is one of
// its inputs, those inputs themselves, and other listed ones.
func (p *pendingOperations) candidates(ctx context.Context, provider abi.Provider, created *state.Resource) []string {
	var texts []string
	for _, v := range created.Inputs.All() {
		if text, ok := v.AsString(); ok && text != "" {
			texts = append(texts, text)
		}
	}
	resp, err := provider.List(ctx, abi.ListRequest{Token: created.Type, PageSize: maxProposed, Limit: maxProposed})
	var likely, others []string
	if err == nil {
		for _, listed := range resp.Resources {
			if slices.Contains(texts, listed.Name) || slices.Contains(texts, listed.ID) {
				likely = append(likely, listed.ID)
			} else {
				others = append(others, listed.ID)
			}
		}
	}
	all := slices.Concat(likely, texts, others)
	return all[:min(len(all), maxProposed)]
}

// likeInputs reports whether an object has all inputs of a resource.
func likeInputs(wanted, got property.Map) bool {
	for k, v := range wanted.All() {
		if is, ok := got.Lookup(k); !ok && !v.Plain().IsNull() || ok && !is.EqualContents(v) {
			return false
		}
	}
	return wanted.Len() > 0
}
