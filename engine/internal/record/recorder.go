// Package record keeps the resources of a deployment: in the journal of the state, or in memory for a preview.
package record

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

// Recorder holds the recorded resources. They are immutable; a change puts others in their place. A
// Recorder is safe for concurrent use.
type Recorder struct {
	// Extensions are the deployment's extensions.
	Extensions Extensions
	// Goal returns the resource that the program of this run wants for a URN, nil if there is none. A recorded goal uses only the
	// resources that it names. If Goal is nil, there are no goals.
	Goal func(urn.URN) *state.Resource

	stack   *state.Stack    // nil in a preview
	secrets *redact.Secrets // learns the recorded secrets

	// naming is locked by a change that rewrites resources of other steps. Other changes hold it for reading, and write the current names.
	naming sync.RWMutex

	mu      sync.Mutex
	changed bool // something reached the journal, or would without a preview
	// current holds the recorded resources, and serials their numbers. A resource that changed under the steps that know it
	// keeps its number as it was, too.
	current map[state.Serial]*state.Resource
	serials map[*state.Resource]state.Serial
	byURN   map[urn.URN]*state.Resource
	// renamed maps the earlier URNs of renamed resources to their new ones.
	renamed map[urn.URN]urn.URN
	// providers holds provider resources by reference, including the ones that wait for their deletion.
	providers map[string]*state.Resource
	// claims is nil until something is deleted.
	claims *claims
	// unfinished are the operations of an earlier run.
	unfinished unfinished
	// next and nextOp number what a preview adds.
	next   state.Serial
	nextOp state.OpID
}

// New returns the recorder of a snapshot. Its changes go to the stack, which is nil for a preview.
func New(stack *state.Stack, snapshot *state.Snapshot, secrets *redact.Secrets) *Recorder {
	r := &Recorder{
		stack: stack, secrets: secrets, current: make(map[state.Serial]*state.Resource, snapshot.Len()),
		serials: make(map[*state.Resource]state.Serial, snapshot.Len()),
		byURN:   make(map[urn.URN]*state.Resource, snapshot.Len()), renamed: make(map[urn.URN]urn.URN),
		providers: make(map[string]*state.Resource),
	}
	r.Extensions.read(snapshot.Extensions)
	r.unfinished = unfinished{operations: maps.Collect(snapshot.Operations()), unsure: make(map[urn.URN][]state.OpID)}
	for op := range r.unfinished.operations {
		r.nextOp = max(r.nextOp, op)
	}
	for serial, res := range snapshot.Resources() {
		r.put(serial, res)
		r.next = serial + 1
	}
	return r
}

func (r *Recorder) put(serial state.Serial, res *state.Resource) {
	r.secrets.LearnComputed(res.Inputs)
	r.secrets.LearnFrom(res.Outputs)
	r.current[serial], r.serials[res] = res, serial
	if !res.Delete {
		r.byURN[res.URN] = res
	}
	if res.IsProvider() {
		before := r.providers[res.Reference()]
		if _, recorded := r.serials[before]; !recorded || before.Delete || !res.Delete {
			r.providers[res.Reference()] = res
		}
	}
	if r.claims != nil {
		r.claims.add(res)
	}
}

// drop forgets a resource, which the caller may know as it was before a renaming.
func (r *Recorder) drop(res *state.Resource) {
	serial := r.serials[res]
	now := r.current[serial]
	delete(r.current, serial)
	delete(r.serials, res)
	delete(r.serials, now)
	if r.byURN[now.URN] == now {
		delete(r.byURN, now.URN)
	}
	if r.claims != nil {
		r.claims.remove(now)
	}
}

// Entry returns the entry of a recorded resource, which the caller may know as it was before a renaming or before it named other
// resources. Two resources with one entry are one in the state. Entry returns false for a resource that is not recorded.
func (r *Recorder) Entry(res *state.Resource) (state.Serial, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serials[res], r.asRecorded(res) != nil
}

// asRecorded returns the resource that the state has by now for the entry of res, nil if res is not recorded. The caller holds the
// lock.
func (r *Recorder) asRecorded(res *state.Resource) *state.Resource {
	serial, ok := r.serials[res]
	if !ok { // and not the entry with serial 0
		return nil
	}
	return r.current[serial]
}

func (r *Recorder) newSerial() state.Serial {
	if r.stack != nil {
		return r.stack.NextSerial()
	}
	r.next++
	return r.next - 1
}

func (r *Recorder) newOp() state.OpID {
	if r.stack != nil {
		return r.stack.NextOp()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextOp++
	return r.nextOp
}

// Resources returns the recorded resources in the order of their creation.
func (r *Recorder) Resources() []*state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inOrder()
}

// inOrder is Resources for callers that hold the lock.
func (r *Recorder) inOrder() []*state.Resource {
	out := make([]*state.Resource, 0, len(r.current))
	for _, serial := range slices.Sorted(maps.Keys(r.current)) {
		out = append(out, r.current[serial])
	}
	return out
}

// Lookup returns the recorded resource of a URN, nil if there is none.
// Copies that wait for their deletion are not found.
func (r *Recorder) Lookup(u urn.URN) *state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byURN[u]
}

// Provider returns the provider resource of a reference, nil if there is none.
func (r *Recorder) Provider(ref string) *state.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.providers[ref]
}

// Begin records that an operation is about to change a resource, and the state that holds meanwhile. It returns once that is
// durable.
func (r *Recorder) Begin(ctx context.Context, kind state.OperationType, res *state.Resource, meanwhile Change) (Operation, error) {
	op := Operation{r.newOp(), true, kind, res}
	meanwhile.begun = &state.BeginOperation{Op: op.id, Type: kind, Resource: res}
	if err := r.Record(ctx, meanwhile); err != nil {
		return Operation{}, fmt.Errorf("nothing was done, since the operation could not be recorded: %w", err)
	}
	return op, nil
}

// Record makes a change durable and then visible to the rest of the deployment.
func (r *Recorder) Record(ctx context.Context, c Change) error {
	_, err := r.RecordAndBegin(ctx, c, nil)
	return err
}

// RecordAndBegin records a change and, by the same sync of the disk, that deletions of resources begin.
// It returns the deletions that are durable.
func (r *Recorder) RecordAndBegin(
	ctx context.Context, c Change, deletions []*state.Resource,
) (begun map[*state.Resource]Operation, err error) {
	if len(r.moves(c)) > 0 {
		r.naming.Lock()
		defer r.naming.Unlock()
		c = r.keepingUses(c)
	} else {
		r.naming.RLock()
		defer r.naming.RUnlock()
	}
	return r.record(ctx, c, deletions)
}

// record is Record and RecordAndBegin for callers that hold the lock of the names.
func (r *Recorder) record(ctx context.Context, c Change, deletions []*state.Resource) (begun map[*state.Resource]Operation, err error) {
	err = r.keepExtension(ctx, c.Added)
	if c.begun != nil {
		err = errors.Join(err, r.keepExtension(ctx, c.begun.Resource))
	}
	for _, pair := range slices.Concat(c.Replaced, c.underneath) {
		err = errors.Join(err, r.keepExtension(ctx, pair.New))
	}
	if err != nil {
		return nil, err
	}
	given := slices.Clone(c.Replaced)
	r.mu.Lock()
	entry, serial, err := r.entry(c)
	r.changed = r.changed || len(entry) > 0
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if r.stack != nil && len(entry) > 0 {
		begun, err = r.append(ctx, entry, deletions)
	}
	// The change happened even if it could not be written: the deployment and its checkpoint follow reality.
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, op := range c.ended {
		delete(r.unfinished.operations, op)
	}
	for _, res := range c.Removed {
		r.drop(res)
	}
	replace := func(pair Replacement) state.Serial {
		n := r.serials[pair.Old]
		r.drop(pair.Old)
		r.put(n, pair.New)
		return n
	}
	for i, pair := range c.Replaced {
		r.serials[given[i].New] = replace(pair)
	}
	for _, pair := range c.underneath {
		r.serials[pair.Old] = replace(pair)
	}
	if c.Added != nil {
		r.put(serial, c.Added)
	}
	return begun, err
}

// append makes an entry durable, and the deletions that begin with it, also while the deployment is being
// cancelled.
func (r *Recorder) append(ctx context.Context, entry state.Entry, deletions []*state.Resource) (begun map[*state.Resource]Operation, err error) {
	entries := []state.Entry{entry}
	ops := make([]Operation, len(deletions))
	for i, res := range deletions {
		ops[i] = Operation{r.newOp(), true, state.OperationDeleting, res}
		entries = append(entries, state.Entry{state.BeginOperation{Op: ops[i].id, Type: state.OperationDeleting, Resource: res}})
	}
	errs := r.stack.AppendAll(context.WithoutCancel(ctx), entries...)
	for i, res := range deletions {
		if errs[i+1] == nil {
			if begun == nil {
				begun = make(map[*state.Resource]Operation, len(deletions))
			}
			begun[res] = ops[i]
		}
	}
	return begun, errs[0]
}

// Changed reports whether this deployment has changed what is recorded, or would in place of its preview.
func (r *Recorder) Changed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Sign records who changed the state, if anything changed it.
func (r *Recorder) Sign(ctx context.Context, m state.Manifest) error {
	if r.stack == nil || !r.Changed() {
		return nil
	}
	entry, err := r.unusedExtensions()
	_, appendErr := r.append(ctx, append(entry, state.SetManifest{Manifest: m}), nil)
	return errors.Join(err, appendErr)
}
