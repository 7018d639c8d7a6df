package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

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

// changeMembers are the members of a change. The number is that of the operation or the resource.
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
