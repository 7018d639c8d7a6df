// Package tf describes Terraform providers independently of the version of the protocol.
package tf

import (
	"cmp"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. The zero Type accepts any value.
const (
	Dynamic Kind = iota
	Bool
	Number
	String
	List
	Set
	Map
	Object
	Tuple
)

// Type is the type of an attribute or block.
type Type struct {
	Kind Kind
	// Element is the type of the elements of a list, set, or map.
	Element *Type
	// Object has the attributes of an object.
	Object *Attributes
	// Elements are the types of a tuple.
	Elements []*Type
	// Wire is the type in the protocol.
	Wire tftypes.Type
}

// Attributes are the attributes and blocks of a resource, a block, or an object, sorted by name.
type Attributes struct {
	List []*Attribute
	// Token names the type of the object in the package's schema, empty for a resource.
	Token  string
	byName map[string]*Attribute
	byProp map[string]*Attribute
}

// Attribute is an attribute or a nested block.
type Attribute struct {
	Name        string
	Type        *Type
	Description string
	Deprecation string
	Required    bool
	Optional    bool
	Computed    bool
	Sensitive   bool
	WriteOnly   bool
	// Nested marks an attribute whose type has a schema of its own.
	Nested bool
	// Block marks a nested block. It is never null, except for a single one.
	Block    bool
	MinItems int64
	MaxItems int64

	// Property is the name in the package's schema.
	Property string
	// Flat means that the property is the only element of the list or set.
	Flat bool
	// Hidden marks what programs say otherwise: timeouts.
	Hidden bool
}

// Settable reports whether a configuration may have the attribute.
func (a *Attribute) Settable() bool { return a.Required || a.Optional }

// NewAttributes returns the attributes, and sorts them.
func NewAttributes(list []*Attribute) *Attributes {
	slices.SortFunc(list, func(a, b *Attribute) int { return cmp.Compare(a.Name, b.Name) })
	byName := make(map[string]*Attribute, len(list))
	for _, a := range list {
		byName[a.Name] = a
	}
	return &Attributes{List: list, byName: byName}
}

// Get returns the attribute of that name, or nil.
func (s *Attributes) Get(name string) *Attribute { return s.byName[name] }

// OfProperty returns the attribute of a property, or nil.
func (s *Attributes) OfProperty(name string) *Attribute { return s.byProp[name] }

// IndexProperties makes OfProperty find the attributes by their properties. It returns two attributes
// that have the same property, if there are such.
func (s *Attributes) IndexProperties() (a, b *Attribute) {
	s.byProp = make(map[string]*Attribute, len(s.List))
	for _, attribute := range s.List {
		if attribute.Hidden {
			continue
		}
		if other := s.byProp[attribute.Property]; other != nil && a == nil {
			a, b = other, attribute
		}
		s.byProp[attribute.Property] = attribute
	}
	return a, b
}

// Wire returns the type of the object in the protocol.
func (s *Attributes) Wire() tftypes.Object {
	types := make(map[string]tftypes.Type, len(s.List))
	for _, a := range s.List {
		types[a.Name] = a.Type.Wire
	}
	return tftypes.Object{AttributeTypes: types}
}

// ObjectType returns the type of objects with the attributes.
func ObjectType(s *Attributes) *Type { return &Type{Kind: Object, Object: s, Wire: s.Wire()} }

// ListOf returns the type of lists.
func ListOf(element *Type) *Type {
	return &Type{Kind: List, Element: element, Wire: tftypes.List{ElementType: element.Wire}}
}

// SetOf returns the type of sets.
func SetOf(element *Type) *Type {
	return &Type{Kind: Set, Element: element, Wire: tftypes.Set{ElementType: element.Wire}}
}

// MapOf returns the type of maps.
func MapOf(element *Type) *Type {
	return &Type{Kind: Map, Element: element, Wire: tftypes.Map{ElementType: element.Wire}}
}

// TypeOf returns a type of the protocol. The attributes of an object in it are all optional, and have
// properties of their names.
func TypeOf(wire tftypes.Type) *Type {
	switch t := wire.(type) {
	case tftypes.List:
		return ListOf(TypeOf(t.ElementType))
	case tftypes.Set:
		return SetOf(TypeOf(t.ElementType))
	case tftypes.Map:
		return MapOf(TypeOf(t.ElementType))
	case tftypes.Tuple:
		tuple := &Type{Kind: Tuple, Wire: t}
		for _, element := range t.ElementTypes {
			tuple.Elements = append(tuple.Elements, TypeOf(element))
		}
		return tuple
	case tftypes.Object:
		var list []*Attribute
		for name, attribute := range t.AttributeTypes {
			list = append(list, &Attribute{Name: name, Property: name, Type: TypeOf(attribute), Optional: true})
		}
		return &Type{Kind: Object, Object: NewAttributes(list), Wire: t}
	}
	for kind, primitive := range map[Kind]tftypes.Type{Bool: tftypes.Bool, Number: tftypes.Number, String: tftypes.String} {
		if wire.Is(primitive) {
			return &Type{Kind: kind, Wire: wire}
		}
	}
	return &Type{Kind: Dynamic, Wire: wire}
}
