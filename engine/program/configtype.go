package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// ConfigKind tells the kinds of configuration values apart.
type ConfigKind uint8

// The kinds of configuration values. Any is that of a value without a declaration.
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
	switch lower {
	case "string":
		return ConfigType{Kind: ConfigString}, true
	case "int", "integer":
		return ConfigType{Kind: ConfigInteger}, true
	case "number":
		return ConfigType{Kind: ConfigNumber}, true
	case "bool", "boolean":
		return ConfigType{Kind: ConfigBoolean}, true
	case "array", "list":
		return ConfigType{Kind: ConfigArray}, true
	case "object":
		return ConfigType{Kind: ConfigObject}, true
	}
	return ConfigType{}, false
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
	ok := true
	switch t.Kind {
	case ConfigString:
		ok = v.Kind() == property.KindString
	case ConfigInteger:
		ok = v.IsInteger()
	case ConfigNumber:
		ok = v.Kind() == property.KindNumber
	case ConfigBoolean:
		ok = v.Kind() == property.KindBool
	case ConfigArray:
		elements, isArray := v.AsArray()
		for i, e := range elements {
			if t.Items != nil {
				if err := t.Items.Check(e); err != nil {
					return fmt.Errorf("element %d: %w", i, err)
				}
			}
		}
		ok = isArray
	case ConfigObject:
		ok = v.Kind() == property.KindObject
	}
	if !ok {
		return fmt.Errorf("it must be %s", article(t))
	}
	return nil
}

// typeOf returns the type of a default, for declarations without a type.
func typeOf(v property.Value) ConfigType {
	switch v.Kind() {
	case property.KindString:
		return ConfigType{Kind: ConfigString}
	case property.KindNumber:
		if v.IsInteger() {
			return ConfigType{Kind: ConfigInteger}
		}
		return ConfigType{Kind: ConfigNumber}
	case property.KindBool:
		return ConfigType{Kind: ConfigBoolean}
	case property.KindArray:
		return ConfigType{Kind: ConfigArray}
	case property.KindObject:
		return ConfigType{Kind: ConfigObject}
	}
	return ConfigType{}
}

func article(t ConfigType) string {
	if name := t.String(); strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + t.String()
}
