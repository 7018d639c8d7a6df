package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Entry is the unit of a journal: changes that take effect together or not at all.
type Entry []Change

// Change is one change of an Entry: one of the types below.
type Change interface {
	// apply makes the change and returns a function that undoes it.
	apply(s *Snapshot, text sealedJSON) (undo func(), err error)
}

// BeginOperation is made durable before the provider is called: a crash leaves word of it.
type BeginOperation struct {
	// Op is a new number, from [Stack.NextOp].
	Op       OpID
	Type     OperationType
	Resource *Resource
}

// EndOperation ends an operation, well or not. Its changes are in the same entry.
type EndOperation struct {
	Op OpID
}

// PutResource adds a resource, or replaces the one with the same serial.
type PutResource struct {
	// Serial is the serial of the replaced resource, or a new one from [Stack.NextSerial].
	Serial   Serial
	Resource *Resource
}

// RemoveResource removes the resource with the serial.
type RemoveResource struct {
	Serial Serial
}

// SetManifest replaces the manifest.
type SetManifest struct {
	Manifest Manifest
}

// SetExtensions replaces the extensions of a snapshot; nil removes them.
type SetExtensions struct {
	Value json.RawMessage
}

// An EntryError reports an entry that does not fit its snapshot.
type EntryError struct {
	// Change is the index of the change within the entry.
	Change int
	Reason string
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("change %d of a journal entry: %s", e.Change, e.Reason)
}

// Apply makes all changes of the entry, or none and returns an *EntryError.
func (s *Snapshot) Apply(e Entry) error {
	_, err := s.apply(sealedEntry{changes: e})
	return err
}

type sealedEntry struct {
	changes Entry
	texts   []sealedJSON // nil, or one for each change
}

// apply makes all changes of the entry, or none, and returns a function that undoes them.
func (s *Snapshot) apply(e sealedEntry) (undo func(), err error) {
	undos := make([]func(), 0, len(e.changes))
	undo = func() {
		for i := len(undos) - 1; i >= 0; i-- {
			undos[i]()
		}
	}
	for i, change := range e.changes {
		var text sealedJSON
		if e.texts != nil {
			text = e.texts[i]
		}
		u, err := change.apply(s, text)
		if err != nil {
			undo()
			return nil, &EntryError{Change: i, Reason: err.Error()}
		}
		undos = append(undos, u)
	}
	return undo, nil
}

func (c BeginOperation) apply(s *Snapshot, text sealedJSON) (func(), error) {
	_, exists := s.operations[c.Op]
	switch {
	case exists:
		return nil, fmt.Errorf("operation %d was begun before", c.Op)
	case c.Op >= maxNumber:
		return nil, fmt.Errorf("operation %d is out of range", c.Op)
	case !c.Type.valid():
		return nil, fmt.Errorf("%q is not a type of operation", c.Type)
	case c.Resource == nil:
		return nil, fmt.Errorf("operation %d has no resource", c.Op)
	}
	next := s.nextOp
	s.operations[c.Op] = slot{operation: c.Type, resource: c.Resource, json: text}
	s.nextOp = max(s.nextOp, c.Op+1)
	return func() { delete(s.operations, c.Op); s.nextOp = next }, nil
}

func (c EndOperation) apply(s *Snapshot, _ sealedJSON) (func(), error) {
	old, ok := s.operations[c.Op]
	if !ok {
		return nil, fmt.Errorf("operation %d was not begun", c.Op)
	}
	delete(s.operations, c.Op)
	return func() { s.operations[c.Op] = old }, nil
}

func (c PutResource) apply(s *Snapshot, text sealedJSON) (func(), error) {
	switch {
	case c.Resource == nil:
		return nil, fmt.Errorf("nothing to put at serial %d", c.Serial)
	case c.Serial >= maxNumber:
		return nil, fmt.Errorf("serial %d is out of range", c.Serial)
	}
	old, existed := s.slots[c.Serial]
	next := s.nextSerial
	s.slots[c.Serial] = slot{resource: c.Resource, json: text}
	s.nextSerial = max(s.nextSerial, c.Serial+1)
	return func() {
		s.nextSerial = next
		if existed {
			s.slots[c.Serial] = old
		} else {
			delete(s.slots, c.Serial)
		}
	}, nil
}

func (c RemoveResource) apply(s *Snapshot, _ sealedJSON) (func(), error) {
	old, ok := s.slots[c.Serial]
	if !ok {
		return nil, fmt.Errorf("there is no resource with serial %d to remove", c.Serial)
	}
	delete(s.slots, c.Serial)
	return func() { s.slots[c.Serial] = old }, nil
}

func (c SetManifest) apply(s *Snapshot, _ sealedJSON) (func(), error) {
	old := s.Manifest
	s.Manifest = c.Manifest
	return func() { s.Manifest = old }, nil
}

func (c SetExtensions) apply(s *Snapshot, _ sealedJSON) (func(), error) {
	if c.Value != nil && !jsontext.Value(c.Value).IsValid() {
		return nil, errors.New("the extensions are not JSON")
	}
	old := s.Extensions
	s.Extensions = c.Value
	return func() { s.Extensions = old }, nil
}

// A journal record is the JSON of the entries that were made durable together:
// an array of entries, each an array of changes, each an object with one member
// that names the change:
//
//	[[{"end":{"op":4}}, {"put":{"serial":12,"resource":{…}}}], …]
//
// Resources are as in a checkpoint, with secrets encrypted.

// encodeEntry returns the JSON of an entry and of the resources in it.
func (c *Codec) encodeEntry(ctx context.Context, entry Entry) ([]byte, sealedEntry, error) {
	e := c.encoder(ctx, false)
	out := sealedEntry{changes: entry, texts: make([]sealedJSON, len(entry))}
	e.open('[')
	for i, change := range entry {
		e.open('{')
		var err error
		switch change := change.(type) {
		case BeginOperation:
			out.texts[i], err = e.numbered("begin", "op", uint64(change.Op), change.Type, change.Resource)
		case EndOperation:
			_, err = e.numbered("end", "op", uint64(change.Op), "", nil)
		case PutResource:
			out.texts[i], err = e.numbered("put", "serial", uint64(change.Serial), "", change.Resource)
		case RemoveResource:
			_, err = e.numbered("remove", "serial", uint64(change.Serial), "", nil)
		case SetManifest:
			e.name("manifest")
			e.manifest(change.Manifest)
		case SetExtensions:
			e.name("extensions")
			if change.Value == nil {
				e.null()
			} else {
				e.text(compact(string(change.Value)))
			}
		default:
			err = &EntryError{Change: i, Reason: fmt.Sprintf("%T is not a change", change)}
		}
		if err != nil {
			return nil, sealedEntry{}, err
		}
		e.close('}')
	}
	e.close(']')
	return e.buf, out, e.err
}

// numbered appends a change. typ is empty and r is nil if it has none.
func (e *encoder) numbered(name, member string, number uint64, typ OperationType, r *Resource) (text sealedJSON, err error) {
	e.name(name)
	e.open('{')
	e.name(member)
	e.uint(number)
	e.optionalString("type", string(typ))
	if r != nil {
		e.name("resource")
		text, err = e.resource(r)
	}
	e.close('}')
	return text, err
}

func (c *Codec) decodeRecord(ctx context.Context, record []byte) ([]sealedEntry, error) {
	var entries []sealedEntry
	r := newReader(record, "", 0)
	err := r.array(func(int) error {
		var entry sealedEntry
		err := r.array(func(int) error {
			change, text, err := c.decodeChange(ctx, r)
			entry.changes = append(entry.changes, change)
			entry.texts = append(entry.texts, text)
			return err
		})
		entries = append(entries, entry)
		return err
	})
	if err == nil {
		err = r.end()
	}
	return entries, err
}

func (c *Codec) decodeChange(ctx context.Context, r *reader) (change Change, text sealedJSON, err error) {
	err = r.object(func(name string) (err error) {
		if change != nil {
			return r.fail("a change has more than one member")
		}
		var m changeMembers
		switch name {
		case "begin":
			m, err = c.decodeMembers(ctx, r, "op", "type", "resource")
			change = BeginOperation{Op: OpID(m.number), Type: m.typ, Resource: m.resource}
		case "end":
			m, err = c.decodeMembers(ctx, r, "op")
			change = EndOperation{Op: OpID(m.number)}
		case "put":
			m, err = c.decodeMembers(ctx, r, "serial", "resource")
			change = PutResource{Serial: Serial(m.number), Resource: m.resource}
		case "remove":
			m, err = c.decodeMembers(ctx, r, "serial")
			change = RemoveResource{Serial: Serial(m.number)}
		case "manifest":
			var manifest Manifest
			err = manifestJSON.decode(&decoder{reader: r}, &manifest)
			change = SetManifest{manifest}
		case "extensions":
			var extensions SetExtensions
			if !r.null() {
				extensions.Value, err = r.raw()
			}
			change = extensions
		default:
			err = r.wrap(fmt.Sprintf("unknown change %q, which a newer husk may know", name), ErrUnsupported)
		}
		text = m.text
		return err
	})
	if err == nil && change == nil {
		err = r.fail("a change is empty")
	}
	return change, text, err
}

// changeMembers are the members of a change. The number is the operation's or the resource's.
type changeMembers struct {
	number   uint64
	typ      OperationType
	resource *Resource
	text     sealedJSON
}

func (c *Codec) decodeMembers(ctx context.Context, r *reader, names ...string) (m changeMembers, err error) {
	found := 0
	err = r.object(func(name string) (err error) {
		if !slices.Contains(names, name) {
			return r.failf("unknown member %q", name)
		}
		found++
		switch name {
		case "type":
			m.typ, err = r.operationType()
		case "resource":
			m.resource, m.text, err = c.decodeResource(ctx, r)
		default:
			m.number, err = r.uint()
		}
		return err
	})
	if err == nil && found < len(names) {
		err = r.failf("the change lacks its %s", strings.Join(names, ", "))
	}
	return m, err
}
