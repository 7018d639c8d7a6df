package schemajson

import (
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// LooksNested reports whether a value is text that may be a JSON list or object.
func LooksNested(v property.Value) bool {
	text, _ := v.Plain().AsString()
	text = strings.TrimLeft(text, " \t\r\n")
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// Nested decodes the properties that are lists or objects by the schema and JSON texts in fact, which are frequent in a
// provider's configuration. Text that is not JSON stays.
func Nested(o *schema.Object, config property.Map) property.Map {
	for name, v := range config.All() {
		p := o.Property(name)
		if !LooksNested(v) || p == nil || !isNested(p.Type) {
			continue
		}
		text, _ := v.Plain().AsString()
		decoded, err := Value([]byte(text))
		if err != nil {
			continue
		}
		if v.IsSecret() {
			decoded = property.Secret(decoded)
		}
		config = config.With(name, decoded)
	}
	return config
}

// isNested reports whether all values of a type are lists or objects.
func isNested(t *schema.Type) bool {
	if len(t.OneOf) > 0 {
		return !slices.ContainsFunc(t.OneOf, func(t *schema.Type) bool { return !isNested(t) })
	}
	return t.Kind == schema.KindArray || t.Kind == schema.KindMap || t.Kind == schema.KindObject
}
