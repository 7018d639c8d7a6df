// Package schema describes what a package offers: its configuration, resources, functions, and the
// types of their properties. From that alone follow which inputs are valid ([Object.Check]) and
// which changes of them update or replace a resource ([Resource.Diff]).
//
// The guest SDK derives a [Package] from an author's Go types and writes it as Pulumi's package
// schema ([Package.AppendJSON]). The host reads such a document back (package schemajson). Both
// sides then check and compare with the same code.
//
// The package is linked into guests and uses neither reflection, fmt, nor encoding/json. A Package
// does not change once it is built, and may be shared.
package schema

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/husk-dev/husk/abi/property"
)

// Package is a named and versioned set of resources and functions.
type Package struct {
	Name        string
	Version     string
	DisplayName string
	Description string
	Keywords    []string
	Homepage    string
	License     string
	Repository  string
	Publisher   string
	// AllowedPackageNames are the other packages that tokens may begin with.
	AllowedPackageNames []string
	// Parameterization says how parameters make the package of another one, or is nil.
	Parameterization *Parameterization

	// Config describes the configuration of the package's provider.
	Config Object
	// SchemaCheckConfig and SchemaDiffConfig are for CheckConfig and DiffConfig what SchemaCheck and
	// SchemaDiff are for a resource's Check and Diff.
	SchemaCheckConfig bool
	SchemaDiffConfig  bool
	// SchemaConfigure means that Configure does nothing with a complete configuration.
	SchemaConfigure bool
	// Deferred means that the provider's handshake and schema depend on nothing but the module, and
	// that Configure may be called just before the first other method: a complete configuration is
	// either always good, or may be refused that late. So the host need not run a provider without
	// other calls.
	Deferred bool
	// Resources, Functions, Types, and Enums are each sorted by token.
	Resources []*Resource
	Functions []*Function
	// Types are the objects that properties refer to by token, Enums the enumerations.
	Types []*Object
	Enums []*Type
}

// Parameterization makes a package of a provider.
type Parameterization struct {
	// Name and Version are the provider's own package's.
	Name    string
	Version string
	// Parameter is the value that the provider takes, which only it understands.
	Parameter []byte
}

// Resource is a type of resource.
type Resource struct {
	// Token names the type, for example random:index/randomPet:RandomPet.
	Token       string
	Description string
	Deprecation string
	Inputs      Object
	// Outputs are the properties of the state, among them inputs that the state repeats.
	Outputs Object
	// Aliases are earlier tokens of the type.
	Aliases []string
	// Component marks a resource that consists of others and has no state of its own.
	Component bool
	// Methods are the methods for programs, sorted by name.
	Methods []Method
	// DeleteBeforeReplace means that two of the resource cannot exist side by side, for example
	// because the object has the resource's name.
	DeleteBeforeReplace bool
	// Identity names the inputs that identify the object, sorted: two resources with the same values
	// are one object. The object is deleted before its replacement is made, unless one of these inputs
	// changes. Identity is empty if the service gives each object an ID.
	Identity []string
	// SchemaCheck and SchemaDiff mean that the provider's Check or Diff does exactly what this
	// schema says, so the host need not call it. SchemaCheck of a component means that the host checks its inputs.
	SchemaCheck bool
	SchemaDiff  bool
}

// Method is a method of a resource: a function whose argument __self__ is the resource.
type Method struct {
	Name string
	// Function is the function's token.
	Function string
}

// Function is a function that programs can invoke.
type Function struct {
	Token       string
	Description string
	Deprecation string
	Args        Object
	// Result describes the properties of the result.
	Result Object
	// Returns is the type of a result without named properties, such as a string or a map, or nil.
	Returns *Type
	// Streams means that the results come one by one.
	Streams bool
	// Ephemeral means that the function opens an ephemeral value: its result is never recorded, and is
	// closed when it is not needed any more.
	Ephemeral bool
	// Action means that the function changes something: it is called once, when it is due.
	Action bool
	// SchemaCheck means that the host checks the arguments by this schema, and calls the function with those.
	SchemaCheck bool
}

// Object is a set of named properties.
type Object struct {
	// Token names the type of a nested object; it is empty for the inputs, outputs,
	// arguments, and results that belong to something with a name of its own.
	Token       string
	Description string
	// Properties are sorted by name.
	Properties []Property
}

// Property is one property of an object.
type Property struct {
	Name        string
	Type        *Type
	Description string
	Deprecation string
	// Required means that an input must be given, or that an output is always there.
	Required bool
	Secret   bool
	// Replace means that a change of the property replaces the resource.
	Replace bool
	// ReplaceOnChanges means that programs ask for that replacement, because the provider does not see to it: it is an
	// option of all resources of the type.
	ReplaceOnChanges bool
	// Computed means that the provider chooses the value of a missing input.
	Computed bool
	// Stable means that an update never changes the output.
	Stable bool
	// WriteOnly means that the input is passed to the provider and never recorded, so it may be
	// ephemeral. A change of it alone changes nothing.
	WriteOnly bool
	// Default is the value of a missing input, or null.
	Default property.Value
	// Const is the only allowed value, or null.
	Const property.Value
	// OneOf are the only allowed values, if there are any.
	OneOf []property.Value
	// Minimum and Maximum are the inclusive bounds of a number, or nil.
	Minimum *float64
	Maximum *float64
}

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. The zero Type accepts any value.
const (
	KindAny Kind = iota
	KindBool
	KindInteger
	KindNumber
	KindString
	KindArray
	KindMap
	KindObject
	KindEnum
	KindAsset
	KindArchive
	KindResource
	KindUnion
)

// Type is the type of a value.
type Type struct {
	Kind Kind
	// Element is the type of the elements of an array or a map.
	Element *Type
	// Object describes the properties of an object.
	Object *Object
	// Token names an enum or the type of a resource.
	Token string
	// Values are the values of an enum.
	Values []property.Value
	// OneOf are the alternatives of a union.
	OneOf []*Type
}

var kindNames = [...]string{
	"any value", "bool", "integer", "number", "string", "array", "map", "object",
	"enum", "asset", "archive", "resource", "union",
}

// String returns the type as messages show it, for example "array of string".
func (t *Type) String() string {
	switch t.Kind {
	case KindArray, KindMap:
		if t.Element != nil && t.Element.Kind != KindAny {
			return kindNames[t.Kind] + " of " + t.Element.String()
		}
	case KindObject:
		if t.Object != nil && t.Object.Token != "" {
			return "object " + t.Object.Token
		}
	case KindEnum:
		return "one of " + values(t.Values)
	case KindResource:
		if token := t.ResourceToken(); token != "" {
			return "resource " + token
		}
	case KindUnion:
		names := make([]string, len(t.OneOf))
		for i, alternative := range t.OneOf {
			names[i] = alternative.String()
		}
		return strings.Join(names, " or ")
	}
	if int(t.Kind) < len(kindNames) {
		return kindNames[t.Kind]
	}
	return "invalid type"
}

// Equal reports whether the two types have the same values.
func (t *Type) Equal(u *Type) bool {
	if t == u {
		return true
	}
	if t == nil || u == nil || t.Kind != u.Kind {
		return false
	}
	switch t.Kind {
	case KindArray, KindMap:
		return t.Element.Equal(u.Element)
	case KindObject:
		return t.Object == u.Object
	case KindEnum, KindResource:
		return t.Token == u.Token
	case KindUnion:
		return slices.EqualFunc(t.OneOf, u.OneOf, (*Type).Equal)
	}
	return true
}

// Property returns the property of that name, or nil.
func (o *Object) Property(name string) *Property {
	if at := o.at(name); at >= 0 {
		return &o.Properties[at]
	}
	return nil
}

// fewProperties is up to how many a linear search is faster: most names differ in length.
const fewProperties = 16

// at returns the index of the property of that name, or -1.
func (o *Object) at(name string) int {
	low, high := 0, len(o.Properties)
	for high-low > fewProperties { // package slices would copy each property that it looks at
		middle := int(uint(low+high) >> 1)
		switch order := property.CompareText(o.Properties[middle].Name, name); {
		case order == 0:
			return middle
		case order < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	if low < high {
		names := o.Properties[low:high]
		if at := property.IndexText(&names[0].Name, unsafe.Sizeof(names[0]), len(names), name); at >= 0 {
			return low + at
		}
	}
	return -1
}

// Names returns the names of the properties in alphabetical order.
func (o *Object) Names() []string {
	names := make([]string, len(o.Properties))
	for i := range o.Properties {
		names[i] = o.Properties[i].Name
	}
	return names
}

// HasDefault reports whether a missing input has a default.
func (p *Property) HasDefault() bool { return property.KindIn(&p.Default) != property.KindNull }
