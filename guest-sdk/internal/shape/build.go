package shape

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
)

// Builder makes shapes of the Go types of one package. Types that refer to
// themselves are allowed.
type Builder struct {
	// Package is the name that the tokens of nested types begin with.
	Package string

	shapes map[reflect.Type]*Shape
	// named are the nested structs, sorted by token.
	named      []*Shape
	references []Reference
}

// Inputs returns the shape of a struct that holds a program's values: the inputs of a resource, the arguments of a function, a
// configuration. An error names the field that it is about.
func (b *Builder) Inputs(t reflect.Type) (*Shape, error) {
	if t == nil {
		return nil, errors.New("an interface is not a struct")
	}
	if t.Kind() != reflect.Struct {
		return nil, errors.New(t.String() + " is not a struct")
	}
	s := &Shape{kind: kindStruct, size: t.Size(), goType: t, given: true, Object: &schema.Object{}}
	s.Type = &schema.Type{Kind: schema.KindObject, Object: s.Object}
	return s, b.fields(s, t, t.Name(), 0)
}

// Outputs returns the shape of a struct that holds the response of a provider: the state of a resource, the result of a function.
// Tags for inputs do not count there, so that a state may embed the inputs.
func (b *Builder) Outputs(t reflect.Type) (*Shape, error) {
	s, err := b.Inputs(t)
	if err != nil {
		return nil, err
	}
	s.given = false
	for i := range s.Object.Properties {
		p := &s.Object.Properties[i]
		p.Default, p.OneOf, p.Minimum, p.Maximum = property.Null, nil, nil, nil
		p.Replace, p.Computed = false, false
		if !s.fields[i].shape.nilable() {
			p.Required = true
		}
	}
	return s, nil
}

// Insert inserts an element. Lists are kept sorted so, few as their elements are,
// because a sorting algorithm for each type would be a noticeable part of a guest.
func Insert[T any](list []T, at int, element T) []T {
	list = append(list, element)
	copy(list[at+1:], list[at:])
	list[at] = element
	return list
}

// Types returns the nested objects of all shapes, sorted by token.
func (b *Builder) Types() []*schema.Object {
	var types []*schema.Object
	for _, s := range b.named {
		types = append(types, s.Object)
	}
	return types
}

// fields adds the fields of t, which lies at the offset in s. where is the way to
// it from the outermost struct, for messages.
func (b *Builder) fields(s *Shape, t reflect.Type, where string, offset uintptr) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := where + "." + f.Name
		_, tagged := f.Tag.Lookup("husk")
		if f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct {
			if err := b.fields(s, f.Type, at, offset+f.Offset); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() {
			if tagged {
				return errors.New(at + ": it has a husk tag but is not exported")
			}
			continue
		}
		tag, skip, err := parseTag(f.Tag)
		if err != nil {
			return errors.New(at + ": " + err.Error())
		}
		if skip {
			continue
		}
		if err := b.field(s, t, f, &tag, offset); err != nil {
			return errors.New(at + ": " + err.Error())
		}
	}
	return nil
}

func (b *Builder) field(s *Shape, in reflect.Type, f reflect.StructField, tag *tag, offset uintptr) error {
	at, exists := slices.BinarySearchFunc(s.fields, tag.name, func(f field, name string) int {
		return strings.Compare(f.name, name)
	})
	if exists {
		return errors.New("the property " + quote(tag.name) + " exists already")
	}
	fs, err := b.shape(f.Type)
	if err != nil {
		return err
	}
	if f.Type.Kind() == reflect.Pointer {
		tag.optional = true
	}
	p := schema.Property{Type: fs.Type}
	if tag.resource != "" {
		if p.Type, err = b.referring(fs.Type, tag.resource); err != nil {
			return err
		}
		if tag.resource[0] != '/' {
			b.references = append(b.references, Reference{f.Name, tag.resource})
		}
	}
	if err := tag.apply(&p); err != nil {
		return err
	}
	p.Description = docs.Describe(p.Description, in.PkgPath(), in.Name(), f.Name)
	if tag.autoname {
		if fs.Type.Kind != schema.KindString || s.autoname != "" || !s.given {
			return errors.New("autoname: only one input of a resource can have it, which is text")
		}
		s.autoname, s.longest = tag.name, tag.longest
	}
	s.Object.Properties = Insert(s.Object.Properties, at, p)
	added := field{
		name: tag.name, offset: offset + f.Offset, shape: fs, secret: tag.secret,
		optional: !p.Required && !p.HasDefault(),
	}
	s.fields = Insert(s.fields, at, added)
	at, _ = slices.BinarySearchFunc(s.encoded, tag.name, func(f field, name string) int {
		return property.CompareKeys(f.name, name)
	})
	s.encoded = Insert(s.encoded, at, added)
	return nil
}

// scalar returns the kind of a basic Go type; ok is false for other types.
func scalar(k reflect.Kind) (kind kind, typ schema.Kind, ok bool) {
	switch k {
	case reflect.Bool:
		return kindBool, schema.KindBool, true
	case reflect.Int8:
		return kindInt8, schema.KindInteger, true
	case reflect.Int16:
		return kindInt16, schema.KindInteger, true
	case reflect.Int32:
		return kindInt32, schema.KindInteger, true
	case reflect.Int64, reflect.Int:
		return kindInt64, schema.KindInteger, true
	case reflect.Uint8:
		return kindUint8, schema.KindInteger, true
	case reflect.Uint16:
		return kindUint16, schema.KindInteger, true
	case reflect.Uint32:
		return kindUint32, schema.KindInteger, true
	case reflect.Uint64, reflect.Uint:
		return kindUint64, schema.KindInteger, true
	case reflect.Float32:
		return kindFloat32, schema.KindNumber, true
	case reflect.Float64:
		return kindFloat64, schema.KindNumber, true
	case reflect.String:
		return kindString, schema.KindString, true
	}
	return 0, 0, false
}

// direct returns the kind and type of the types of package property; ok is false for other types.
func direct(t reflect.Type) (kind kind, typ *schema.Type, ok bool) {
	switch t {
	case reflect.TypeFor[property.Value]():
		return kindValue, &schema.Type{Kind: schema.KindAny}, true
	case reflect.TypeFor[property.Map]():
		return kindProperties, &schema.Type{Kind: schema.KindMap, Element: &schema.Type{}}, true
	case reflect.TypeFor[property.Asset]():
		return kindAsset, &schema.Type{Kind: schema.KindAsset}, true
	case reflect.TypeFor[property.Archive]():
		return kindArchive, &schema.Type{Kind: schema.KindArchive}, true
	case reflect.TypeFor[property.ResourceReference]():
		return kindReference, &schema.Type{Kind: schema.KindResource}, true
	}
	return 0, nil, false
}

func (b *Builder) shape(t reflect.Type) (*Shape, error) {
	if s, ok := b.shapes[t]; ok {
		return s, nil
	}
	s := &Shape{size: t.Size(), goType: t}
	if b.shapes == nil {
		b.shapes = map[reflect.Type]*Shape{}
	}
	b.shapes[t] = s // before its parts are looked at: they may contain t
	if kind, typ, ok := direct(t); ok {
		s.kind, s.Type = kind, typ
		return s, nil
	}
	if kind, typ, ok := scalar(t.Kind()); ok {
		s.kind, s.Type = kind, &schema.Type{Kind: typ}
		return s, nil
	}
	if of := eventualType(t); of != nil {
		known, err := b.shape(of)
		if err != nil {
			return nil, err
		}
		s.kind, s.Type = kindEventual, known.Type
		return s, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return s, b.nested(s, t)
	case reflect.Pointer:
		if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
			return nil, errors.New("a pointer to " + k.String() + " is not supported; " + k.String() + " alone can be left out")
		}
		s.kind, s.Type = kindPointer, &schema.Type{}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil, errors.New("bytes are not supported; use a string, for example with base64 in it")
		}
		s.kind, s.Type = kindSlice, &schema.Type{Kind: schema.KindArray}
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, errors.New("the keys of a map must be strings, not " + t.Key().String())
		}
		s.kind, s.Type = kindMap, &schema.Type{Kind: schema.KindMap}
	default:
		return nil, errors.New("fields of type " + t.String() + " are not supported")
	}
	element, err := b.shape(t.Elem())
	if err != nil {
		return nil, err
	}
	s.element = element
	if s.kind == kindMap && element.layout() == layoutNone {
		return nil, errors.New("a map of " + t.Elem().String() + " is not supported; use a map of pointers to it")
	}
	if s.kind == kindPointer {
		*s.Type = *element.Type // in place: a type that contains itself refers to it already
	} else {
		s.Type.Element = element.Type
	}
	return s, nil
}

// nested makes s the shape of a nested struct, which is a type of the package.
func (b *Builder) nested(s *Shape, t reflect.Type) error {
	name := t.Name()
	if name == "" || strings.ContainsAny(name, "[]") {
		return errors.New("a nested struct needs a name of its own, for it becomes a type of the package")
	}
	token := b.Package + ":index/" + strings.ToLower(name[:1]) + name[1:] + ":" + strings.ToUpper(name[:1]) + name[1:]
	at, exists := slices.BinarySearchFunc(b.named, token, func(s *Shape, token string) int {
		return strings.Compare(s.Object.Token, token)
	})
	if exists {
		return errors.New(t.String() + " and " + b.named[at].goType.String() + " would both be the type " + token + "; rename one")
	}
	s.kind = kindStruct
	s.Object = &schema.Object{Token: token, Description: docs.Type("", t)}
	b.named = Insert(b.named, at, s)
	s.Type = &schema.Type{Kind: schema.KindObject, Object: s.Object}
	if err := b.fields(s, t, name, 0); err != nil {
		return err
	}
	if len(s.fields) == 0 {
		return errors.New(t.String() + " has no fields with husk tags")
	}
	return nil
}
