package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// ConfigKind is a kind of configuration values.
type ConfigKind uint8

// The kinds of configuration values. Any is the kind of a value without a declaration.
const (
	ConfigAny ConfigKind = iota
	ConfigString
	ConfigInteger
	ConfigNumber
	ConfigBoolean
	ConfigArray
	ConfigObject
)

var configKinds = [...]string{"any value", "string", "integer", "number", "boolean", "array", "object"}

// ConfigType is the type of a configuration value. The zero ConfigType takes any.
type ConfigType struct {
	Kind ConfigKind
	// Items is the type of an array's elements, nil for any.
	Items *ConfigType
}

// String returns the type as messages show it: array of string.
func (t ConfigType) String() string {
	name := configKinds[t.Kind]
	if t.Kind == ConfigArray && t.Items != nil && t.Items.Kind != ConfigAny {
		name += " of " + t.Items.String()
	}
	return name
}

// parseConfigType reads the name of a type, also Pulumi YAML's older ones (Int, List<String> ...).
func parseConfigType(name string) (ConfigType, bool) {
	lower := strings.ToLower(strings.TrimSpace(name))
	if element, ok := strings.CutPrefix(lower, "list<"); ok && strings.HasSuffix(element, ">") {
		items, ok := parseConfigType(strings.TrimSuffix(element, ">"))
		return ConfigType{Kind: ConfigArray, Items: &items}, ok
	}
	kind, ok := configKindNames[lower]
	return ConfigType{Kind: kind}, ok
}

var configKindNames = map[string]ConfigKind{
	"string": ConfigString, "int": ConfigInteger, "integer": ConfigInteger, "number": ConfigNumber,
	"bool": ConfigBoolean, "boolean": ConfigBoolean, "array": ConfigArray, "list": ConfigArray, "object": ConfigObject,
}

// valueKinds are the kinds of values of a type. An integer is a number.
var valueKinds = map[ConfigKind]property.Kind{
	ConfigString: property.KindString, ConfigInteger: property.KindNumber, ConfigNumber: property.KindNumber,
	ConfigBoolean: property.KindBool, ConfigArray: property.KindArray, ConfigObject: property.KindObject,
}

var schemaKinds = map[ConfigKind]schema.Kind{
	ConfigString: schema.KindString, ConfigInteger: schema.KindInteger, ConfigNumber: schema.KindNumber,
	ConfigBoolean: schema.KindBool, ConfigArray: schema.KindArray, ConfigObject: schema.KindMap,
}

// Schema returns the type as schemas have it.
func (t ConfigType) Schema() *schema.Type {
	out := &schema.Type{Kind: schemaKinds[t.Kind]}
	switch t.Kind {
	case ConfigArray:
		out.Element = &schema.Type{}
		if t.Items != nil {
			out.Element = t.Items.Schema()
		}
	case ConfigObject:
		out.Element = &schema.Type{}
	}
	return out
}

// Parse reads a value as configuration holds it: a string as it is, anything else as JSON. Text of
// any type is JSON if it is an array or object. The error does not show the value.
func (t ConfigType) Parse(text string) (property.Value, error) {
	switch t.Kind {
	case ConfigString:
		return property.String(text), nil
	case ConfigInteger, ConfigNumber:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return property.Null, fmt.Errorf("it must be %s", article(t))
		}
		return property.Number(f), t.Check(property.Number(f))
	case ConfigBoolean:
		switch text {
		case "true":
			return property.Bool(true), nil
		case "false":
			return property.Bool(false), nil
		}
		return property.Null, fmt.Errorf("it must be true or false")
	}
	structured := strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{")
	if t.Kind == ConfigAny && !structured {
		return property.String(text), nil
	}
	v, err := schemajson.Value([]byte(text))
	if err != nil {
		if t.Kind == ConfigAny {
			return property.String(text), nil
		}
		return property.Null, fmt.Errorf("it must be %s, written as JSON", article(t))
	}
	return v, t.Check(v)
}

// Check reports whether a value is of the type.
func (t ConfigType) Check(v property.Value) error {
	v = v.Plain()
	if t.Kind != ConfigAny && v.Kind() != valueKinds[t.Kind] || t.Kind == ConfigInteger && !v.IsInteger() {
		return fmt.Errorf("it must be %s", article(t))
	}
	if elements, ok := v.AsArray(); ok && t.Items != nil {
		for i, e := range elements {
			if err := t.Items.Check(e); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
	}
	return nil
}

// typeOf returns the type of a default, for declarations without a type.
func typeOf(v property.Value) ConfigType {
	for _, kind := range []ConfigKind{ConfigString, ConfigInteger, ConfigNumber, ConfigBoolean, ConfigArray, ConfigObject} {
		if t := (ConfigType{Kind: kind}); t.Check(v) == nil {
			return t
		}
	}
	return ConfigType{}
}

func article(t ConfigType) string {
	if name := t.String(); strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + t.String()
}
