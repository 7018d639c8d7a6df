package state

import (
	"maps"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// resource appends a resource in the order of Pulumi's fields.
func (e *encoder) resource(r *Resource) {
	e.urn = string(r.URN)
	e.open('{')
	e.name("urn")
	e.string(string(r.URN))
	e.name("custom")
	e.bool(r.Custom)
	e.optionalBool("delete", r.Delete)
	e.optionalString("id", r.ID)
	e.name("type")
	e.string(r.Type)
	e.properties("inputs", r.Inputs)
	e.properties("outputs", r.Outputs)
	e.optionalString("parent", string(r.Parent))
	e.optionalBool("protect", r.Protect)
	e.optionalBool("taint", r.Taint)
	e.optionalBool("external", r.External)
	optionalStrings(&e.builder, "dependencies", r.Dependencies)
	optionalStrings(&e.builder, "initErrors", r.InitErrors)
	e.optionalString("provider", r.Provider)
	e.propertyDependencies(r.PropertyDependencies)
	e.optionalBool("pendingReplacement", r.PendingReplacement)
	optionalStrings(&e.builder, "additionalSecretOutputs", r.AdditionalSecretOutputs)
	optionalStrings(&e.builder, "aliases", r.Aliases)
	if t := r.CustomTimeouts; t != nil && *t != (CustomTimeouts{}) {
		e.name("customTimeouts")
		e.open('{')
		e.optionalNumber("create", t.Create)
		e.optionalNumber("update", t.Update)
		e.optionalNumber("delete", t.Delete)
		e.optionalNumber("read", t.Read)
		e.close('}')
	}
	e.optionalString("importID", r.ImportID)
	e.optionalBool("retainOnDelete", r.RetainOnDelete)
	e.optionalString("deletedWith", string(r.DeletedWith))
	optionalStrings(&e.builder, "replaceWith", r.ReplaceWith)
	e.time("created", r.Created)
	e.time("modified", r.Modified)
	e.optionalString("sourcePosition", r.SourcePosition)
	if len(r.StackTrace) > 0 {
		e.name("stackTrace")
		e.open('[')
		for _, frame := range r.StackTrace {
			e.open('{')
			e.optionalString("sourcePosition", frame.SourcePosition)
			e.close('}')
		}
		e.close(']')
	}
	optionalStrings(&e.builder, "ignoreChanges", r.IgnoreChanges)
	e.hideDiff(r.HideDiff)
	optionalStrings(&e.builder, "replaceOnChanges", r.ReplaceOnChanges)
	if !r.ReplacementTrigger.IsNull() {
		e.push(property.Key("replacementTrigger"))
		e.name("replacementTrigger")
		e.value(r.ReplacementTrigger)
		e.pop()
	}
	e.optionalBool("refreshBeforeUpdate", r.RefreshBeforeUpdate)
	e.optionalString("viewOf", string(r.ViewOf))
	if len(r.ResourceHooks) > 0 {
		e.name("resourceHooks")
		e.open('{')
		for _, hook := range slices.Sorted(maps.Keys(r.ResourceHooks)) {
			e.name(hook)
			stringArray(&e.builder, r.ResourceHooks[hook])
		}
		e.close('}')
	}
	e.optionalString("extensionRef", r.ExtensionRef)
	e.optionalString("snippetID", r.SnippetID)
	for _, m := range r.unknown {
		e.name(m.name)
		e.raw(m.value)
	}
	e.close('}')
	if _, typed := e.err.(*EncodeError); e.err != nil && !typed {
		e.err = &EncodeError{URN: e.urn, Reason: "the resource has text that is not UTF-8", Cause: e.err}
	}
}

func (e *encoder) properties(field string, m property.Map) {
	if m.Len() == 0 {
		return
	}
	e.push(property.Key(field))
	e.name(field)
	if m.Has(signatureKey) {
		e.fail("the "+field+" have the property "+signatureKey+", which marks special values", nil)
	}
	e.object(m)
	e.pop()
}

func (e *encoder) propertyDependencies(deps map[string][]urn.URN) {
	if len(deps) == 0 {
		return
	}
	e.name("propertyDependencies")
	e.open('{')
	for _, key := range slices.Sorted(maps.Keys(deps)) {
		e.name(key)
		stringArray(&e.builder, deps[key])
	}
	e.close('}')
}

func (e *encoder) time(name string, t time.Time) {
	if !t.IsZero() {
		e.name(name)
		e.string(t.Format(time.RFC3339Nano))
	}
}
