package state

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
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
	b := &builder{buf: make([]byte, 0, likelySize)}
	out := sealedEntry{changes: entry, texts: make([]sealedJSON, len(entry))}
	b.open('[')
	for i, change := range entry {
		b.open('{')
		var err error
		switch change := change.(type) {
		case BeginOperation:
			b.name("begin")
			b.open('{')
			b.name("op")
			b.uint(uint64(change.Op))
			b.name("type")
			b.string(string(change.Type))
			out.texts[i], err = c.appendChanged(ctx, b, i, change.Resource)
			b.close('}')
		case EndOperation:
			b.name("end")
			b.open('{')
			b.name("op")
			b.uint(uint64(change.Op))
			b.close('}')
		case PutResource:
			b.name("put")
			b.open('{')
			b.name("serial")
			b.uint(uint64(change.Serial))
			out.texts[i], err = c.appendChanged(ctx, b, i, change.Resource)
			b.close('}')
		case RemoveResource:
			b.name("remove")
			b.open('{')
			b.name("serial")
			b.uint(uint64(change.Serial))
			b.close('}')
		case SetManifest:
			b.name("manifest")
			change.Manifest.append(b)
		case SetMetadata:
			err = appendSet(b, i, "metadata", change.Value)
		case SetSnippets:
			err = appendSet(b, i, "snippets", change.Value)
		case SetExtensions:
			err = appendSet(b, i, "extensions", change.Value)
		default:
			err = &EntryError{Change: i, Reason: fmt.Sprintf("%T is not a change", change)}
		}
		if err != nil {
			return nil, sealedEntry{}, err
		}
		b.close('}')
	}
	b.close(']')
	return b.buf, out, b.err
}

func (c *Codec) appendChanged(ctx context.Context, b *builder, change int, r *Resource) (sealedJSON, error) {
	if r == nil {
		return sealedJSON{}, &EntryError{Change: change, Reason: "it has no resource"}
	}
	b.name("resource")
	return c.encode(ctx, b, r, false)
}

func appendSet(b *builder, change int, name string, v jsontext.Value) error {
	b.name(name)
	if v == nil {
		b.null()
		return nil
	}
	if !v.IsValid() {
		return &EntryError{Change: change, Reason: "the " + name + " are not JSON"}
	}
	b.text(compact(string(v)))
	return nil
}

// decodeRecord reads the entries of a journal record.
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
		switch name {
		case "begin":
			change, text, err = c.decodeBegin(ctx, r)
		case "end":
			var op uint64
			op, err = r.numbered("op")
			change = EndOperation{Op: OpID(op)}
		case "put":
			change, text, err = c.decodePut(ctx, r)
		case "remove":
			var serial uint64
			serial, err = r.numbered("serial")
			change = RemoveResource{Serial: Serial(serial)}
		case "manifest":
			var m Manifest
			err = m.decode(r)
			change = SetManifest{m}
		case "metadata":
			var v jsontext.Value
			v, err = r.optionalRaw()
			change = SetMetadata{v}
		case "snippets":
			var v jsontext.Value
			v, err = r.optionalRaw()
			change = SetSnippets{v}
		case "extensions":
			var v jsontext.Value
			v, err = r.optionalRaw()
			change = SetExtensions{v}
		default:
			err = r.wrap(fmt.Sprintf("unknown change %q, which a newer husk may know", name), ErrUnsupported)
		}
		return err
	})
	if err == nil && change == nil {
		err = r.fail("a change is empty")
	}
	return change, text, err
}

func (c *Codec) decodeBegin(ctx context.Context, r *reader) (change BeginOperation, text sealedJSON, err error) {
	numbered := false
	err = r.object(func(name string) (err error) {
		switch name {
		case "op":
			var op uint64
			op, err = r.uint()
			change.Op, numbered = OpID(op), true
		case "type":
			change.Type, err = r.operationType()
		case "resource":
			change.Resource, text, err = c.decodeResource(ctx, r)
		default:
			err = r.failf("unknown member %q", name)
		}
		return err
	})
	if err == nil && (!numbered || change.Type == "" || change.Resource == nil) {
		err = r.fail("the change lacks its op, type, or resource")
	}
	return change, text, err
}

func (c *Codec) decodePut(ctx context.Context, r *reader) (change PutResource, text sealedJSON, err error) {
	numbered := false
	err = r.object(func(name string) (err error) {
		switch name {
		case "serial":
			var serial uint64
			serial, err = r.uint()
			change.Serial, numbered = Serial(serial), true
		case "resource":
			change.Resource, text, err = c.decodeResource(ctx, r)
		default:
			err = r.failf("unknown member %q", name)
		}
		return err
	})
	if err == nil && (!numbered || change.Resource == nil) {
		err = r.fail("the change lacks its serial or resource")
	}
	return change, text, err
}

// numbered reads an object whose one member is a number.
func (r *reader) numbered(member string) (n uint64, err error) {
	found := false
	err = r.object(func(name string) (err error) {
		if name != member {
			return r.failf("unknown member %q", name)
		}
		found = true
		n, err = r.uint()
		return err
	})
	if err == nil && !found {
		err = r.failf("the member %q is missing", member)
	}
	return n, err
}

// optionalRaw reads a value and returns its JSON, nil for null.
func (r *reader) optionalRaw() (jsontext.Value, error) {
	if r.null() {
		return nil, nil
	}
	return r.raw()
}
