package state

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// decodeResource reads a resource and its JSON. The strings of the resource are parts of
// its JSON, which is kept anyway, and not of the document, which is not.
func (c *Codec) decodeResource(ctx context.Context, r *reader) (*Resource, sealedJSON, error) {
	at, err := r.section()
	if err != nil {
		return nil, sealedJSON{}, err
	}
	text := string(at.value)
	d := r.resource(at, text)
	d.ctx, d.codec = ctx, c
	res := new(Resource)
	err = d.reader.object(func(name string) error { return d.field(res, name) })
	switch {
	case err != nil:
	case res.URN == "":
		err = d.fail("the resource has no urn")
	case res.Type == "":
		err = d.fail("the resource has no type")
	}
	if err != nil {
		return nil, sealedJSON{}, err
	}
	sortMembers(res.unknown)
	for _, k := range d.kept {
		c.cache.Keep(string(res.URN)+"\n"+k.path, k.plaintext, k.ciphertext)
	}
	if d.plain {
		return res, sealedJSON{}, nil // its JSON would disclose the secrets
	}
	j := sealedJSON{text: compact(d.respelt.in(text)), byteStrings: d.byteStrings}
	if d.sealed {
		j.provider = c.identity
	}
	return res, j, nil
}

// resource returns the decoder of a resource, which is valid until that of the next one:
// they share their space.
func (r *reader) resource(at section, text string) *decoder {
	var last decoder
	if r.last == nil {
		last.reader = &reader{dec: new(jsontext.Decoder)}
	} else {
		last = *r.last
	}
	last.dec.Reset(bytes.NewBuffer(at.value))
	r.last = &decoder{
		reader: &reader{data: at.value, text: text, dec: last.dec, pointer: at.pointer, offset: at.offset},
		path:   last.path[:0], entries: last.entries[:0],
	}
	return r.last
}

// field reads the value of the resource's member.
func (d *decoder) field(r *Resource, name string) (err error) {
	switch name {
	case "urn":
		err = readString(d, &r.URN)
	case "custom":
		r.Custom, err = d.optionalBool()
	case "delete":
		r.Delete, err = d.optionalBool()
	case "id":
		err = readString(d, &r.ID)
	case "type":
		err = readString(d, &r.Type)
	case "inputs":
		r.Inputs, err = d.properties(name)
	case "outputs":
		r.Outputs, err = d.properties(name)
	case "parent":
		err = readString(d, &r.Parent)
	case "protect":
		r.Protect, err = d.optionalBool()
	case "taint":
		r.Taint, err = d.optionalBool()
	case "external":
		r.External, err = d.optionalBool()
	case "dependencies":
		r.Dependencies, err = stringList[urn.URN](d.reader)
	case "initErrors":
		r.InitErrors, err = stringList[string](d.reader)
	case "provider":
		err = readString(d, &r.Provider)
	case "propertyDependencies":
		r.PropertyDependencies, err = stringLists[urn.URN](d)
	case "pendingReplacement":
		r.PendingReplacement, err = d.optionalBool()
	case "additionalSecretOutputs":
		r.AdditionalSecretOutputs, err = stringList[string](d.reader)
	case "aliases":
		r.Aliases, err = stringList[urn.URN](d.reader)
	case "customTimeouts":
		r.CustomTimeouts, err = d.timeouts()
	case "importID":
		err = readString(d, &r.ImportID)
	case "retainOnDelete":
		r.RetainOnDelete, err = d.optionalBool()
	case "deletedWith":
		err = readString(d, &r.DeletedWith)
	case "replaceWith":
		r.ReplaceWith, err = stringList[urn.URN](d.reader)
	case "created":
		r.Created, err = d.time()
	case "modified":
		r.Modified, err = d.time()
	case "sourcePosition":
		err = readString(d, &r.SourcePosition)
	case "stackTrace":
		r.StackTrace, err = d.stackTrace()
	case "ignoreChanges":
		r.IgnoreChanges, err = stringList[string](d.reader)
	case "hideDiff":
		r.HideDiff, err = d.hideDiff()
	case "replaceOnChanges":
		r.ReplaceOnChanges, err = stringList[string](d.reader)
	case "replacementTrigger":
		d.push(property.Key(name))
		r.ReplacementTrigger, err = d.value()
		d.pop()
	case "refreshBeforeUpdate":
		r.RefreshBeforeUpdate, err = d.optionalBool()
	case "viewOf":
		err = readString(d, &r.ViewOf)
	case "resourceHooks":
		r.ResourceHooks, err = stringLists[string](d)
	case "extensionRef":
		err = readString(d, &r.ExtensionRef)
	case "snippetID":
		err = readString(d, &r.SnippetID)
	default:
		var v jsontext.Value
		v, err = d.raw()
		r.unknown = append(r.unknown, member{name, jsontext.Value(compact(string(v)))})
	}
	return err
}

func readString[S ~string](d *decoder, at *S) error {
	s, err := d.optionalString()
	*at = S(s)
	return err
}

func (d *decoder) properties(name string) (property.Map, error) {
	d.push(property.Key(name))
	defer d.pop()
	m, signature, err := d.members()
	if err == nil && signature != "" {
		err = d.failf("the %s are a special value, not an object", name)
	}
	return m, err
}

func stringLists[S ~string](d *decoder) (map[string][]S, error) {
	out := map[string][]S{}
	err := d.reader.object(func(key string) (err error) {
		out[key], err = stringList[S](d.reader)
		return err
	})
	return out, err
}

func (d *decoder) timeouts() (*CustomTimeouts, error) {
	if d.null() {
		return nil, nil
	}
	t := new(CustomTimeouts)
	return t, d.reader.object(func(name string) (err error) {
		switch name {
		case "create":
			t.Create, err = d.number()
		case "update":
			t.Update, err = d.number()
		case "delete":
			t.Delete, err = d.number()
		case "read":
			t.Read, err = d.number()
		default:
			err = d.skip()
		}
		return err
	})
}

func (d *decoder) stackTrace() (frames []StackFrame, err error) {
	err = d.array(func(int) error {
		var f StackFrame
		err := d.reader.object(func(name string) (err error) {
			if name != "sourcePosition" {
				return d.skip()
			}
			f.SourcePosition, err = d.optionalString()
			return err
		})
		frames = append(frames, f)
		return err
	})
	return frames, err
}
