// Package shape has the memory layout of Go types and their form as properties. A [Builder] looks at
// types by reflection, once. A [Shape] then moves values by offsets. Reflection remains for allocations
// with pointers: structs behind pointers and in slices.
package shape

import (
	"reflect"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// Shape is the layout of one Go type.
type Shape struct {
	// Type is the type of the values as properties.
	Type *schema.Type
	// Object describes the properties of a struct; nil for other shapes.
	Object *schema.Object

	kind kind
	// size is the distance of elements in a slice, in bytes.
	size uintptr
	// element is the shape behind a pointer, or in a slice or map.
	element *Shape
	// fields are the fields of a struct and its embedded structs, by name; encoded are the same in the
	// order of property.CompareKeys.
	fields, encoded []field
	// given says that programs give the values: see Store.
	given bool
	// goType is the type of the values.
	goType reflect.Type
	// spare are values for New.
	spare spare
	// autoname and longest are the results of Autoname.
	autoname string
	longest  int
}

// Autoname returns the property with a resource's name, and its most characters, 0 for any number. The
// property is empty for none.
func (s *Shape) Autoname() (property string, longest int) { return s.autoname, s.longest }

// Properties returns the shape of a property.Map with the properties of an object.
func Properties(o *schema.Object) *Shape {
	t := reflect.TypeOf(property.Map{})
	return &Shape{kind: kindProperties, goType: t, size: t.Size(), Object: o, Type: &schema.Type{Kind: schema.KindObject, Object: o}}
}

type field struct {
	name   string
	offset uintptr
	shape  *Shape
	secret bool
	// optional marks an input that is neither required nor has a default: its zero means nothing.
	optional bool
}

type kind uint8

const (
	kindBool kind = iota
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindFloat32
	kindFloat64
	kindString
	kindPointer
	kindSlice
	kindMap
	kindStruct
	kindValue
	kindProperties
	kindAsset
	kindArchive
	kindReference
	kindEventual
)

// hasPointers reports whether the garbage collector must know the type of the values.
func (k kind) hasPointers() bool { return k > kindFloat64 }

// Copies reports whether a copy of a value has nothing in common with it that could change.
func (s *Shape) Copies() bool {
	switch s.kind {
	case kindStruct:
		for i := range s.fields {
			if !s.fields[i].shape.Copies() {
				return false
			}
		}
		return true
	case kindString, kindValue, kindProperties:
		return true
	}
	return !s.kind.hasPointers()
}

// nilable reports whether a value can be left out: its zero is not a value.
func (s *Shape) nilable() bool {
	switch s.kind {
	case kindPointer, kindSlice, kindMap, kindValue, kindEventual:
		return true
	}
	return false
}
