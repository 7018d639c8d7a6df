// Package schema describes what a package offers: its configuration, resources,
// functions, and the types of their properties; and what follows from such a
// description alone: which inputs are valid ([Object.Check]) and which changes of
// them update or replace a resource ([Resource.Diff]).
//
// The guest SDK derives a [Package] from an author's Go types and writes it as
// Pulumi's package schema ([Package.AppendJSON]); the host reads such a document
// back (package schemajson). Both sides then check and compare with the same code.
//
// The package is linked into guests: it uses neither reflection nor fmt nor
// encoding/json. A Package is not changed once it is built, and may be shared.
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
	// AllowedPackageNames are what tokens may begin with beside Name.
	AllowedPackageNames []string
	// Parameterization says how the package comes of another one by parameters; nil
	// where it does not.
	Parameterization *Parameterization

	// Config describes the configuration of the package's provider.
	Config Object
	// SchemaCheckConfig and SchemaDiffConfig say of CheckConfig and DiffConfig what
	// SchemaCheck and SchemaDiff say of a resource's Check and Diff.
	SchemaCheckConfig bool
	SchemaDiffConfig  bool
	// SchemaConfigure says that Configure does nothing with a complete configuration, so that
	// a provider need not be asked.
	SchemaConfigure bool
	// Deferred says that the provider's answer to a handshake, and its schema, depend on
	// nothing but the module, and that Configure may be called when the first other method
	// needs it: a complete configuration is either always good, or found out to be wrong late
	// enough then. So a host need not run a provider of which nothing else is asked.
	Deferred bool
	// Resources, Functions, Types, and Enums are each sorted by token.
	Resources []*Resource
	Functions []*Function
	// Types are the objects that properties refer to by token, Enums the enumerations.
	Types []*Object
	Enums []*Type
}

// Parameterization tells what makes a package of a provider.
type Parameterization struct {
	// Name and Version are those of the provider's own package.
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
	// Outputs are the properties of the state; inputs that the state repeats are among them.
	Outputs Object
	// Aliases are earlier tokens of the type.
	Aliases []string
	// Component marks a resource that is made of others and has no state of its own.
	Component bool
	// Methods are what programs can call on the resource, sorted by name.
	Methods []Method
	// DeleteBeforeReplace says that two of the resource cannot exist side by side, for example
	// because the object is known by the resource's name.
	DeleteBeforeReplace bool
	// Identity names the inputs that the object is known by, sorted: two resources with the same
	// values are one object. It is deleted before a replacement makes it again, unless one of
	// these inputs changes. Empty where the service gives each object an ID of its own.
	Identity []string
	// SchemaCheck and SchemaDiff say that the provider's Check or Diff does what this
	// schema says and nothing else, so that a host may answer without asking it.
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
	// Returns is the type of a result that has no named properties, such as a string or
	// a map; nil where Result describes it.
	Returns *Type
	// Streams says that the results come one by one, each as Result describes.
	Streams bool
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
	// Required says that an input must be given, or that an output is always there.
	Required bool
	Secret   bool
	// Replace says that a change of the property replaces the resource.
	Replace bool
	// Computed says that the provider chooses a value for an input that is not given.
	Computed bool
	// Stable says that an update never changes the output.
	Stable bool
	// Default is the value of an input that is not given; null where there is none.
	Default property.Value
	// Const is the only value that the property may have; null where there is none.
	Const property.Value
	// OneOf are the only values that the property may have; empty where any will do.
	OneOf []property.Value
	// Minimum and Maximum bound a number, both inclusive; nil where there is no bound.
	Minimum *float64
	Maximum *float64
}

// Kind tells the kinds of types apart.
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

// Property returns the property of that name, nil where there is none.
func (o *Object) Property(name string) *Property {
	if at := o.at(name); at >= 0 {
		return &o.Properties[at]
	}
	return nil
}

// fewProperties is how many properties are looked at one by one: most names differ in
// length.
const fewProperties = 16

// at returns where the property of that name is, -1 where there is none.
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

// HasDefault reports whether an input that is not given has a value all the same.
func (p *Property) HasDefault() bool { return property.KindIn(&p.Default) != property.KindNull }
