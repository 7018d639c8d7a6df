package propertytest

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/property/literal"
)

// Object and Array are literals of values for Of.
type (
	Object = literal.Object
	Array  = literal.Array
)

// Of is [literal.Of].
func Of(of any) property.Value { return literal.Of(of) }

// MapOf is [literal.MapOf].
func MapOf(of Object) property.Map { return literal.MapOf(of) }

// Secret returns the secret of a literal.
func Secret(of any) property.Value { return property.Secret(Of(of)) }

// Output returns the output of a literal with dependencies.
func Output(of any, dependencies ...string) property.Value {
	return property.OutputOf(property.Output{Value: Of(of), Dependencies: dependencies})
}
