package state

import (
	"bytes"
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// resourceJSON is the JSON of a resource, in the order of Pulumi's fields.
var resourceJSON = newObject(func(r *Resource) *[]member { return &r.unknown },
	newField("urn", func(r *Resource) *urn.URN { return &r.URN }, always(text[urn.URN]())),
	newField("custom", func(r *Resource) *bool { return &r.Custom }, always(flag)),
	newField("delete", func(r *Resource) *bool { return &r.Delete }, flag),
	newField("id", func(r *Resource) *string { return &r.ID }, text[string]()),
	newField("type", func(r *Resource) *string { return &r.Type }, always(text[string]())),
	newField("inputs", func(r *Resource) *property.Map { return &r.Inputs }, properties),
	newField("outputs", func(r *Resource) *property.Map { return &r.Outputs }, properties),
	newField("parent", func(r *Resource) *urn.URN { return &r.Parent }, text[urn.URN]()),
	newField("protect", func(r *Resource) *bool { return &r.Protect }, flag),
	newField("taint", func(r *Resource) *bool { return &r.Taint }, flag).withFeature(featureTaint),
	newField("external", func(r *Resource) *bool { return &r.External }, flag),
	newField("dependencies", func(r *Resource) *[]urn.URN { return &r.Dependencies }, texts[urn.URN]()),
	newField("initErrors", func(r *Resource) *[]string { return &r.InitErrors }, texts[string]()),
	newField("provider", func(r *Resource) *string { return &r.Provider }, text[string]()),
	newField("propertyDependencies", func(r *Resource) *map[string][]urn.URN { return &r.PropertyDependencies }, textsByKey[urn.URN]()),
	newField("pendingReplacement", func(r *Resource) *bool { return &r.PendingReplacement }, flag),
	newField("additionalSecretOutputs", func(r *Resource) *[]string { return &r.AdditionalSecretOutputs }, texts[string]()),
	newField("aliases", func(r *Resource) *[]urn.URN { return &r.Aliases }, texts[urn.URN]()),
	newField("customTimeouts", func(r *Resource) **CustomTimeouts { return &r.CustomTimeouts }, optional(timeoutsJSON)),
	newField("importID", func(r *Resource) *string { return &r.ImportID }, text[string]()),
	newField("retainOnDelete", func(r *Resource) *bool { return &r.RetainOnDelete }, flag),
	newField("deletedWith", func(r *Resource) *urn.URN { return &r.DeletedWith }, text[urn.URN]()),
	newField("replaceWith", func(r *Resource) *[]urn.URN { return &r.ReplaceWith }, texts[urn.URN]()).withFeature(featureReplaceWith),
	newField("created", func(r *Resource) *time.Time { return &r.Created }, moment),
	newField("modified", func(r *Resource) *time.Time { return &r.Modified }, moment),
	newField("sourcePosition", func(r *Resource) *string { return &r.SourcePosition }, text[string]()),
	newField("stackTrace", func(r *Resource) *[]StackFrame { return &r.StackTrace }, list(frameJSON)),
	newField("ignoreChanges", func(r *Resource) *[]string { return &r.IgnoreChanges }, texts[string]()),
	newField("hideDiff", func(r *Resource) *[]property.Path { return &r.HideDiff }, hiddenPaths),
	newField("replaceOnChanges", func(r *Resource) *[]string { return &r.ReplaceOnChanges }, texts[string]()),
	newField("replacementTrigger", func(r *Resource) *property.Value { return &r.ReplacementTrigger }, propertyValue),
	newField("refreshBeforeUpdate", func(r *Resource) *bool { return &r.RefreshBeforeUpdate }, flag).withFeature(featureRefreshBeforeUpdate),
	newField("viewOf", func(r *Resource) *urn.URN { return &r.ViewOf }, text[urn.URN]()).withFeature(featureViews),
	newField("resourceHooks", func(r *Resource) *map[string][]string { return &r.ResourceHooks }, textsByKey[string]()).withFeature(featureHooks),
	newField("extensionRef", func(r *Resource) *string { return &r.ExtensionRef }, text[string]()).withFeature(featureExtensions),
	newField("snippetID", func(r *Resource) *string { return &r.SnippetID }, text[string]()).withFeature(featureSnippets),
)

var timeoutsJSON = newObject(nil,
	newField("create", func(t *CustomTimeouts) *float64 { return &t.Create }, number),
	newField("update", func(t *CustomTimeouts) *float64 { return &t.Update }, number),
	newField("delete", func(t *CustomTimeouts) *float64 { return &t.Delete }, number),
	newField("read", func(t *CustomTimeouts) *float64 { return &t.Read }, number),
)

var frameJSON = newObject(nil,
	newField("sourcePosition", func(f *StackFrame) *string { return &f.SourcePosition }, text[string]()),
)

// resource appends the resource's JSON and returns it.
func (e *encoder) resource(r *Resource) (sealedJSON, error) {
	start := len(e.buf)
	e.urn, e.sealed, e.byteStrings = string(r.URN), false, false
	resourceJSON.encode(e, r)
	if _, typed := e.err.(*EncodeError); e.err != nil && !typed {
		e.err = &EncodeError{URN: e.urn, Reason: "the resource has text that is not UTF-8", Cause: e.err}
	}
	if e.err != nil {
		return sealedJSON{}, e.err
	}
	j := sealedJSON{text: string(e.buf[start:]), byteStrings: e.byteStrings}
	if e.sealed {
		j.provider = e.codec.identity
	}
	return j, nil
}

// decodeResource reads a resource. Its strings are parts of its JSON, which is kept, and not of the
// document.
func (c *Codec) decodeResource(ctx context.Context, r *reader) (*Resource, sealedJSON, error) {
	at, err := r.section()
	if err != nil {
		return nil, sealedJSON{}, err
	}
	text := string(at.value)
	d := r.resource(at, text)
	d.ctx, d.codec = ctx, c
	res := new(Resource)
	err = resourceJSON.decode(d, res)
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
	for _, k := range d.ciphertexts {
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

// resource returns the decoder of a resource, which is valid until the next one: they share space.
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
