package providertest

import (
	"fmt"

	"github.com/husk-dev/husk/abi/property"
)

// Object is the literal of an object, for [Of].
type Object = map[string]any

// List is the literal of an array, for [Of].
type List = []any

// Of makes a value of nil, bool, int, float64, string, []string, [List], [Object], or a
// property.Value. Anything else is a mistake in the test.
func Of(literal any) property.Value {
	switch literal := literal.(type) {
	case nil:
		return property.Null
	case property.Value:
		return literal
	case property.Map:
		return property.Object(literal)
	case bool:
		return property.Bool(literal)
	case int:
		return property.Number(float64(literal))
	case float64:
		return property.Number(literal)
	case string:
		return property.String(literal)
	case []string:
		elements := make([]property.Value, len(literal))
		for i, s := range literal {
			elements[i] = property.String(s)
		}
		return property.Array(elements...)
	case List:
		elements := make([]property.Value, len(literal))
		for i, e := range literal {
			elements[i] = Of(e)
		}
		return property.Array(elements...)
	case Object:
		return property.Object(MapOf(literal))
	}
	panic(fmt.Sprintf("no property is a %T", literal))
}

// MapOf is [Of] for properties.
func MapOf(literal Object) property.Map {
	entries := make([]property.Entry, 0, len(literal))
	for key, value := range literal {
		entries = append(entries, property.Entry{Key: key, Value: Of(value)})
	}
	return property.NewMap(entries...)
}

// With is the object with more properties, or others.
func With(o Object, more Object) Object {
	merged := make(Object, len(o)+len(more))
	for key, value := range o {
		merged[key] = value
	}
	for key, value := range more {
		merged[key] = value
	}
	return merged
}
