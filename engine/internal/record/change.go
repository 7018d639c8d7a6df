package record

import (
	"fmt"

	"github.com/husk-dev/husk/engine/state"
)

// Change is a change of the recorded resources. It is one journal entry: all of it or nothing survives a crash.
type Change struct {
	// Added is a resource that is new.
	Added *state.Resource
	// Replaced holds recorded resources with their replacements.
	Replaced []Replacement
	// Removed holds recorded resources that are gone.
	Removed []*state.Resource

	// ended are operations that are over, see Ending.
	ended []state.OpID
	// begun is an operation that begins with the change, nil for none.
	begun *state.BeginOperation
	// underneath holds recorded resources that change under the steps that know them, with their replacements.
	underneath []Replacement
	// rewritten holds the operations of an earlier run that the change writes anew.
	rewritten state.Entry
}

// Replacement puts New in the place of the recorded resource Old.
type Replacement struct{ Old, New *state.Resource }

// Replace returns the change that puts n in the place of old.
func Replace(old, n *state.Resource) Change { return Change{Replaced: []Replacement{{old, n}}} }

// Remove returns the change that removes a resource.
func Remove(res *state.Resource) Change { return Change{Removed: []*state.Resource{res}} }

// Ending returns the change with the end of operations. Those that were never begun are left out.
func (c Change) Ending(ops ...Operation) Change {
	for _, op := range ops {
		if op.begun {
			c.ended = append(c.ended, op.id)
		}
	}
	return c
}

// End returns the change that ends operations.
func End(ops ...Operation) Change { return Change{}.Ending(ops...) }

// Operation identifies a pending operation. The zero Operation is none.
type Operation struct {
	id    state.OpID
	begun bool
	// kind and resource are set for operations of this run.
	kind     state.OperationType
	resource *state.Resource
}

// entry returns the journal entry of a change, and the serial of the resource or operation that the change adds.
func (r *Recorder) entry(c Change) (entry state.Entry, added state.Serial, err error) {
	serial := func(res *state.Resource) state.Serial {
		n, ok := r.serials[res]
		if !ok || r.current[n] == nil {
			err = fmt.Errorf("%s changed under the step that is about to record it", res.URN)
		}
		return n
	}
	if c.begun != nil {
		entry = append(entry, *c.begun)
	}
	for _, op := range c.ended {
		entry = append(entry, state.EndOperation{Op: op})
	}
	entry = append(entry, c.rewritten...)
	for _, res := range c.Removed {
		entry = append(entry, state.RemoveResource{Serial: serial(res)})
	}
	for i, pair := range c.Replaced {
		n := serial(pair.Old)
		c.Replaced[i].New = r.asOfNow(pair, r.current[n])
		entry = append(entry, state.PutResource{Serial: n, Resource: c.Replaced[i].New})
	}
	for _, pair := range c.underneath {
		entry = append(entry, state.PutResource{Serial: serial(pair.Old), Resource: pair.New})
	}
	if c.Added != nil {
		added = r.newSerial()
		entry = append(entry, state.PutResource{Serial: added, Resource: c.Added})
	}
	return entry, added, err
}

// Supersede returns the change that records n instead of old, which may be nil. The old copy waits for
// its deletion, or to be left behind as the program says now, unless it is gone and configures nothing. A program that
// reads another object in its place says nothing of that.
func (r *Recorder) Supersede(old, n *state.Resource) Change {
	switch {
	case old == nil:
		return Change{Added: n}
	case old.PendingReplacement && !r.isConfiguring(old):
		return Change{Added: n, Removed: []*state.Resource{old}}
	}
	return Change{Added: n, Replaced: []Replacement{{old, oldCopy(old, n)}}}
}

// AddOldCopy returns the change that records old as a copy that the recorded n has replaced.
func AddOldCopy(old, n *state.Resource) Change { return Change{Added: oldCopy(old, n)} }

// oldCopy returns old as a copy that n replaces.
func oldCopy(old, n *state.Resource) *state.Resource {
	waiting := *old
	waiting.Delete, waiting.RetainOnDelete = true, n.RetainOnDelete || n.External && old.RetainOnDelete
	return &waiting
}
