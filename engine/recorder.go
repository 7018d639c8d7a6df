package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// change is what a step did to the recorded resources. It is written as one
// journal entry: all of it or nothing survives a crash.
type change struct {
	// begin is an operation that begins with it, nil for none.
	begin *state.BeginOperation
	// end is the operation that is over, if any.
	end operation
	// moved are operations of an earlier run that are over, or begin under another name.
	moved state.Entry
	// add is a resource that is new.
	add *state.Resource
	// replace holds pairs of a recorded resource and what takes its place.
	replace [][2]*state.Resource
	// remove holds recorded resources that are gone.
	remove []*state.Resource
}

// operation identifies a pending operation. The zero operation is none.
type operation struct {
	id    state.OpID
	begun bool
}

// recorder keeps the resources of a deployment: durably through the state's
// journal, or in memory only for a preview. Recorded resources are immutable;
// a change puts another in their place.
type recorder struct {
	stack      *state.Stack // nil in a preview
	extensions extensions
	secrets    *redact.Secrets // learns what is recorded

	// naming is held by a renaming, and shared by all other changes: what they
	// write names resources as they are named when it is written.
	naming sync.RWMutex

	mu    sync.Mutex
	wrote bool // something reached the journal
	// current holds the recorded resources, and serials their numbers. A resource
	// that a renaming has rewritten keeps its number, for steps that know it as it was.
	current map[state.Serial]*state.Resource
	serials map[*state.Resource]state.Serial
	live    map[urn.URN]*state.Resource
	// renamed maps the earlier URNs of renamed resources to their new ones.
	renamed map[urn.URN]urn.URN
	// providers holds provider resources by reference, those that wait for their
	// deletion included: what they made is deleted before them.
	providers map[string]*state.Resource
	// claims is nil until something is deleted.
	claims *claims
	// next and nextOp number what a preview adds.
	next   state.Serial
	nextOp state.OpID
}

func newRecorder(stack *state.Stack, snapshot *state.Snapshot) *recorder {
	r := &recorder{
		stack: stack, current: make(map[state.Serial]*state.Resource, snapshot.Len()),
		serials: make(map[*state.Resource]state.Serial, snapshot.Len()),
		live:    make(map[urn.URN]*state.Resource, snapshot.Len()), renamed: make(map[urn.URN]urn.URN),
		providers: make(map[string]*state.Resource),
	}
	r.extensions.read(snapshot.Extensions)
	for serial, res := range snapshot.Resources() {
		r.put(serial, res)
		r.next = serial + 1
	}
	return r
}

func (r *recorder) put(serial state.Serial, res *state.Resource) {
	r.secrets.LearnComputed(res.Inputs)
	r.secrets.LearnFrom(res.Outputs)
	r.current[serial], r.serials[res] = res, serial
	if !res.Delete {
		r.live[res.URN] = res
	}
	if isProviderType(res.Type) {
		r.providers[reference(res.URN, res.ID)] = res
	}
	if r.claims != nil {
		r.claims.add(res)
	}
}

// drop forgets a resource, which the caller may know as it was before a renaming.
func (r *recorder) drop(res *state.Resource) {
	serial := r.serials[res]
	now := r.current[serial]
	delete(r.current, serial)
	delete(r.serials, res)
	delete(r.serials, now)
	if r.live[now.URN] == now {
		delete(r.live, now.URN)
	}
	if r.claims != nil {
		r.claims.remove(now)
	}
}

func (r *recorder) newSerial() state.Serial {
	if r.stack != nil {
		return r.stack.NextSerial()
	}
	r.next++
	return r.next - 1
}

func (r *recorder) newOp() state.OpID {
	if r.stack != nil {
		return r.stack.NextOp()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextOp++
	return r.nextOp
}

// entry is the journal entry of a change, and the serial of what it adds.
func (r *recorder) entry(c change) (entry state.Entry, added state.Serial, err error) {
	serial := func(res *state.Resource) state.Serial {
		n, ok := r.serials[res]
		if !ok || r.current[n] == nil {
			err = fmt.Errorf("%s changed under the step that is about to record it", res.URN)
		}
		return n
	}
	if c.begin != nil {
		entry = append(entry, *c.begin)
	}
	if c.end.begun {
		entry = append(entry, state.EndOperation{Op: c.end.id})
	}
	entry = append(entry, c.moved...)
	for _, res := range c.remove {
		entry = append(entry, state.RemoveResource{Serial: serial(res)})
	}
	for i, pair := range c.replace {
		c.replace[i][1] = r.withNewNames(pair[1])
		entry = append(entry, state.PutResource{Serial: serial(pair[0]), Resource: c.replace[i][1]})
	}
	if c.add != nil {
		added = r.newSerial()
		entry = append(entry, state.PutResource{Serial: added, Resource: c.add})
	}
	return entry, added, err
}

// resources returns the recorded resources in the order of their creation.
func (r *recorder) resources() []*state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder()
}

// inOrder is resources for callers that hold the lock.
func (r *recorder) inOrder() []*state.Resource {
	out := make([]*state.Resource, 0, len(r.current))
	for _, serial := range slices.Sorted(maps.Keys(r.current)) {
		out = append(out, r.current[serial])
	}
	return out
}

// lookup returns the recorded resource of a URN, nil where there is none.
// Copies that wait for their deletion are not found.
func (r *recorder) lookup(u urn.URN) *state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[u]
}

// provider returns the provider resource of a reference, nil where there is none.
func (r *recorder) provider(ref string) *state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.providers[ref]
}

// begin records that an operation is about to change a resource, and what holds meanwhile.
// It returns once that is durable.
func (d *deployment) begin(ctx context.Context, kind state.OperationType, res *state.Resource, meanwhile change) (operation, error) {
	op := operation{d.recorder.newOp(), true}
	meanwhile.begin = &state.BeginOperation{Op: op.id, Type: kind, Resource: res}
	if err := d.record(ctx, meanwhile); err != nil {
		return operation{}, fmt.Errorf("nothing was done, since the operation could not be recorded: %w", err)
	}
	return op, nil
}

// append makes an entry durable, also when the deployment is being cancelled:
// what was done is recorded.
func (r *recorder) append(ctx context.Context, entry state.Entry) error {
	return r.appendAll(ctx, entry)[0]
}

// appendAll is append for several entries at once, with an error for each.
func (r *recorder) appendAll(ctx context.Context, entries ...state.Entry) []error {
	r.mu.Lock()
	r.wrote = true
	r.mu.Unlock()
	return r.stack.AppendAll(context.WithoutCancel(ctx), entries...)
}

// wroteAny reports whether this deployment has written anything.
func (r *recorder) wroteAny() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrote
}

// sign records who changed the state, if anything changed it.
func (r *recorder) sign(ctx context.Context, m state.Manifest) error {
	if !r.wroteAny() {
		return nil
	}
	entry, err := r.unusedExtensions()
	return errors.Join(err, r.append(ctx, append(entry, state.SetManifest{Manifest: m})))
}

// record makes a change durable and then visible to the rest of the deployment.
func (d *deployment) record(ctx context.Context, c change) error {
	_, err := d.recordAndBegin(ctx, c, nil)
	return err
}

// recordAndBegin records a change and, by the same sync of the disk, that operations on
// recorded resources begin. It returns those that are durable.
func (d *deployment) recordAndBegin(
	ctx context.Context, c change, begin []state.BeginOperation,
) (begun []state.BeginOperation, err error) {
	d.recorder.naming.RLock()
	defer d.recorder.naming.RUnlock()
	return d.recorder.record(ctx, c, begin)
}

func (r *recorder) record(ctx context.Context, c change, begin []state.BeginOperation) (begun []state.BeginOperation, err error) {
	err = r.keepExtension(ctx, c.add)
	if c.begin != nil {
		err = errors.Join(err, r.keepExtension(ctx, c.begin.Resource))
	}
	for _, pair := range c.replace {
		err = errors.Join(err, r.keepExtension(ctx, pair[1]))
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	entry, serial, err := r.entry(c)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if r.stack != nil && len(entry) > 0 {
		begun, err = r.appendWith(ctx, entry, begin)
	}
	// The change happened whether or not it could be written: the rest of the
	// deployment, and the checkpoint at its end, go by what is true.
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range c.remove {
		r.drop(res)
	}
	for _, pair := range c.replace {
		n := r.serials[pair[0]]
		r.drop(pair[0])
		r.put(n, pair[1])
	}
	if c.add != nil {
		r.put(serial, c.add)
	}
	return begun, err
}

// appendWith appends an entry and the operations that begin with it.
func (r *recorder) appendWith(
	ctx context.Context, entry state.Entry, begin []state.BeginOperation,
) (begun []state.BeginOperation, err error) {
	if len(begin) == 0 {
		return nil, r.append(ctx, entry)
	}
	entries := []state.Entry{entry}
	for _, op := range begin {
		entries = append(entries, state.Entry{op})
	}
	errs := r.appendAll(ctx, entries...)
	for i, op := range begin {
		if errs[i+1] == nil {
			begun = append(begun, op)
		}
	}
	return begun, errs[0]
}
