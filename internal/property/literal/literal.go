// Package literal makes property values of Go literals, for tests.
package literal

import (
	"fmt"

	"github.com/husk-dev/husk/abi/property"
)

// Object and Array are literals of values for [Of].
type (
	Object = map[string]any
	Array  = []any
)

// Of returns the value of a literal: nil, a bool, an int, a float64, a string, a []string, an
// Array or Object of literals, or a property.Value or property.Map as it is.
func Of(literal any) property.Value {
	switch x := literal.(type) {
	case nil:
		return property.Null
	case bool:
		return property.Bool(x)
	case int:
		return property.Number(float64(x))
	case float64:
		return property.Number(x)
	case string:
		return property.String(x)
	case []string:
		return arrayOf(x)
	case Array:
		return arrayOf(x)
	case Object:
		return property.Object(MapOf(x))
	case property.Map:
		return property.Object(x)
	case property.Value:
		return x
	default:
		panic(fmt.Sprintf("no literal of a property value: %T", literal))
	}
}

func arrayOf[T any](literals []T) property.Value {
	elements := make([]property.Value, len(literals))
	for i, e := range literals {
		elements[i] = Of(e)
	}
	return property.Array(elements...)
}

// MapOf returns the map of a literal.
func MapOf(literal Object) property.Map {
	m := make(map[string]property.Value, len(literal))
	for k, v := range literal {
		m[k] = Of(v)
	}
	return property.MapOf(m)
}
