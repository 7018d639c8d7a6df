package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/base/jsonerror"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// Resource is a stack's record of one resource: ResourceV3 of Pulumi's deployment JSON.
//
// A Resource in a [Snapshot] is shared. To change one, copy the struct, change the copy, and put
// that; replace slices and maps. The copy keeps members of the JSON that this package does not
// know.
type Resource struct {
	// URN names the resource, and old copies of it that were replaced (see Delete).
	URN urn.URN
	// Custom marks resources that a provider manages; others are components.
	Custom bool
	// Delete marks an old copy whose replacement exists, to be deleted.
	Delete bool
	// ID is the provider's name for the resource; components have none.
	ID string
	// Type is the resource's own type token.
	Type string
	// Inputs are the checked inputs that the resource was last made from.
	Inputs property.Map
	// Outputs are the properties that the provider returned last.
	Outputs property.Map
	// Parent is empty for the stack itself, and for resources without one.
	Parent urn.URN
	// Protect refuses to delete the resource.
	Protect bool
	// Taint makes the next update replace the resource.
	Taint bool
	// External marks a resource that was read, not made, by the program.
	External bool
	// Dependencies are the resources that this one depends on.
	Dependencies []urn.URN
	// InitErrors say why the resource was made but is not ready.
	InitErrors []string
	// Provider is the reference "<urn>::<id>" of the provider resource.
	Provider string
	// PropertyDependencies are the dependencies of each input. A nil list (JSON null) is not an empty one.
	PropertyDependencies map[string][]urn.URN
	// PendingReplacement marks a resource that was deleted and is yet to be made again.
	PendingReplacement bool
	// AdditionalSecretOutputs name outputs that the program makes secret.
	AdditionalSecretOutputs []string
	// Aliases are earlier URNs of the resource.
	Aliases []urn.URN
	// CustomTimeouts override the provider's; nil if there are none.
	CustomTimeouts *CustomTimeouts
	// ImportID is the ID that the resource was imported with.
	ImportID string
	// RetainOnDelete keeps the real resource when this one is deleted.
	RetainOnDelete bool
	// DeletedWith is a resource whose deletion deletes this one too.
	DeletedWith urn.URN
	// ReplaceWith are resources whose replacement replaces this one too.
	ReplaceWith []urn.URN
	// Created and Modified are the times of the real resource, zero if they are unknown.
	Created, Modified time.Time
	// SourcePosition is where the program registers the resource.
	SourcePosition string
	// StackTrace is how the program came there, innermost frame first.
	StackTrace []StackFrame
	// IgnoreChanges are the inputs, as property paths, that keep their old values.
	IgnoreChanges []string
	// HideDiff are the properties whose differences are not shown.
	HideDiff []property.Path
	// ReplaceOnChanges are the properties, as paths, whose change replaces the resource.
	ReplaceOnChanges []string
	// ReplacementTrigger replaces the resource when it changes; null means no trigger.
	ReplacementTrigger property.Value
	// RefreshBeforeUpdate makes every update refresh the resource first.
	RefreshBeforeUpdate bool
	// ViewOf is the resource that this one is a view of.
	ViewOf urn.URN
	// ResourceHooks are the names of the hooks, by type of hook.
	ResourceHooks map[string][]string
	// ExtensionRef is the key of the provider's extension in [Snapshot.Extensions].
	ExtensionRef string
	// SnippetID is the UUID of the snippet that registered the resource.
	SnippetID string

	// unknown holds members of the JSON that this package does not know, sorted by name.
	unknown []member
}

type member struct {
	name  string
	value json.RawMessage
}

func sortMembers(members []member) {
	sorted.By(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
}

// CustomTimeouts are how long each operation may take, in seconds; 0 leaves it to the provider.
type CustomTimeouts struct {
	Create, Update, Delete, Read float64
}

// StackFrame is one call on the way to a registration.
type StackFrame struct {
	SourcePosition string
}

const providerTypePrefix = "pulumi:providers:"

// ProviderType returns the type of a package's provider resources.
func ProviderType(pkg string) string { return providerTypePrefix + pkg }

// IsProvider reports whether the resource is a provider.
func (r *Resource) IsProvider() bool {
	return r.Custom && strings.HasPrefix(r.Type, providerTypePrefix)
}

// Reference returns the reference that other resources have as their Provider.
func (r *Resource) Reference() string { return string(r.URN) + "::" + r.ID }

// OperationType says what an operation does to its resource.
type OperationType string

// The types of operations.
const (
	OperationCreating  OperationType = "creating"
	OperationUpdating  OperationType = "updating"
	OperationDeleting  OperationType = "deleting"
	OperationReading   OperationType = "reading"
	OperationImporting OperationType = "importing"
)

func (t OperationType) valid() bool {
	switch t {
	case OperationCreating, OperationUpdating, OperationDeleting, OperationReading, OperationImporting:
		return true
	}
	return false
}

// PendingOperation is an operation that was begun, and may have had effect in an earlier run.
type PendingOperation struct {
	Type OperationType
	// Resource is the resource as it is to become, or as it was (deleting).
	Resource *Resource
}

// Extension is a package that a provider serves beside its own, see ExtensionRef of [Resource].
type Extension struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Value holds bytes that only the provider understands.
	Value []byte `json:"value"`
}

// DecodeExtensions returns the extensions of a snapshot, by reference, each as it is written.
func DecodeExtensions(value json.RawMessage) (map[string]json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	extensions := make(map[string]json.RawMessage)
	if err := json.Unmarshal(value, &extensions); err != nil {
		return nil, fmt.Errorf("the extensions of the state are damaged: %w", jsonerror.Explain(value, err))
	}
	return extensions, nil
}

// EncodeExtensions is the reverse of [DecodeExtensions]; nil for no extensions.
func EncodeExtensions(extensions map[string]json.RawMessage) (json.RawMessage, error) {
	if len(extensions) == 0 {
		return nil, nil
	}
	return json.Marshal(extensions)
}

// DecodeExtension reads one of the values of [DecodeExtensions].
func DecodeExtension(value json.RawMessage) (Extension, error) {
	var e Extension
	if err := json.Unmarshal(value, &e); err != nil {
		return e, fmt.Errorf("an extension of the state is damaged: %w", jsonerror.Explain(value, err))
	}
	return e, nil
}

// Encode returns the extension as it is written.
func (e Extension) Encode() (json.RawMessage, error) { return json.Marshal(e) }

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

// decodeResource reads a resource. Its strings are parts of its own JSON, which is kept.
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
