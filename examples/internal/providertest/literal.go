package providertest

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/propertytest"
)

// Object is the literal of an object, for [Of], and List that of an array.
type (
	Object = propertytest.Object
	List   = propertytest.Array
)

// Of makes a value of a literal, see [propertytest.Of]. What is none is a mistake in the test.
func Of(literal any) property.Value { return propertytest.Of(literal) }

// MapOf is [Of] for properties.
func MapOf(literal Object) property.Map { return propertytest.MapOf(literal) }

// With returns the object with more properties, or others.
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
