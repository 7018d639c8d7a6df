package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// direction is the way of a value. Some properties of a schema are only read or only written.
type direction uint8

const (
	given    direction = iota // by a program to the service
	answered                  // by the service
	both                      // the same in both
)

type types struct {
	pkg     string
	objects map[objectKey]*schema.Object
	tokens  names
	// open are the schemas that are being translated.
	open map[*openapi3.Schema]bool
	// same are schemas that are known to be the same in both directions, with all that they lead to.
	same map[*openapi3.Schema]bool
}

type objectKey struct {
	schema *openapi3.Schema
	way    direction
}

func (t *types) sorted() []*schema.Object {
	list := slices.Collect(maps.Values(t.objects))
	slices.SortFunc(list, func(a, b *schema.Object) int { return strings.Compare(a.Token, b.Token) })
	return list
}

// merged is a schema with all that it is composed of.
type merged struct {
	*openapi3.Schema
	properties map[string]*openapi3.SchemaRef
	required   map[string]bool
	// further says what properties that are not named hold; nil if there are none.
	further *openapi3.SchemaRef
	types   []string
}

func merge(s *openapi3.Schema) *merged {
	m := &merged{Schema: s, properties: map[string]*openapi3.SchemaRef{}, required: map[string]bool{}}
	m.add(s, map[*openapi3.Schema]bool{})
	return m
}

// add adds a schema, once: one may be composed of itself.
func (m *merged) add(s *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	for _, part := range s.AllOf {
		m.add(part.Value, seen)
	}
	for name, p := range s.Properties {
		if p != nil && p.Value != nil {
			m.properties[name] = p
		}
	}
	for _, name := range s.Required {
		m.required[name] = true
	}
	if more := s.AdditionalProperties; more.Schema != nil {
		m.further = more.Schema
	} else if more.Has != nil && *more.Has {
		m.further = &openapi3.SchemaRef{Value: &openapi3.Schema{}}
	}
	for _, typ := range s.Type.Slice() {
		if typ != openapi3.TypeNull && !slices.Contains(m.types, typ) {
			m.types = append(m.types, typ)
		}
	}
	if len(m.types) == 0 && len(m.properties) > 0 {
		m.types = []string{openapi3.TypeObject}
	}
}

func (m *merged) isObject() bool { return len(m.types) == 1 && m.types[0] == openapi3.TypeObject }

func (m *merged) isArray() bool { return len(m.types) == 1 && m.types[0] == openapi3.TypeArray }

// typ returns the type of a schema. hint names an object that has no name in the document.
func (t *types) typ(ref *openapi3.SchemaRef, way direction, hint string) *schema.Type {
	if ref == nil || ref.Value == nil {
		return &schema.Type{}
	}
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		hint = upperCamel(wordsOf(name))
	}
	m := merge(ref.Value)
	isObject := m.isObject() && m.further == nil && len(m.properties) > 0
	if !isObject && t.open[ref.Value] {
		return &schema.Type{} // a list of itself, for example; only objects have names
	}
	t.open[ref.Value] = true
	defer delete(t.open, ref.Value)
	if alternatives := slices.Concat(m.OneOf, m.AnyOf); len(alternatives) > 0 && len(m.properties) == 0 {
		return t.union(alternatives, way, hint)
	}
	if len(m.types) != 1 {
		return &schema.Type{} // of several types, or of any
	}
	switch m.types[0] {
	case openapi3.TypeBoolean:
		return &schema.Type{Kind: schema.KindBool}
	case openapi3.TypeInteger:
		return &schema.Type{Kind: schema.KindInteger}
	case openapi3.TypeNumber:
		return &schema.Type{Kind: schema.KindNumber}
	case openapi3.TypeString:
		return &schema.Type{Kind: schema.KindString}
	case openapi3.TypeArray:
		return &schema.Type{Kind: schema.KindArray, Element: t.typ(m.Items, way, hint+"Item")}
	case openapi3.TypeObject:
		switch {
		case isObject:
			return &schema.Type{Kind: schema.KindObject, Object: t.object(m, way, hint)}
		case m.further != nil && len(m.properties) == 0:
			return &schema.Type{Kind: schema.KindMap, Element: t.typ(m.further, way, hint+"Value")}
		}
		return &schema.Type{Kind: schema.KindMap, Element: &schema.Type{}}
	}
	return &schema.Type{}
}

// union returns a type of alternatives that differ by their kind; of others, any value.
func (t *types) union(alternatives openapi3.SchemaRefs, way direction, hint string) *schema.Type {
	var list []*schema.Type
	for _, ref := range alternatives {
		if ref.Value != nil && ref.Value.Type.Is(openapi3.TypeNull) {
			continue
		}
		one := t.typ(ref, way, hint)
		if one.Kind == schema.KindAny || slices.ContainsFunc(list, func(other *schema.Type) bool { return shapeOf(other) == shapeOf(one) }) {
			return &schema.Type{}
		}
		list = append(list, one)
	}
	switch len(list) {
	case 0:
		return &schema.Type{}
	case 1:
		return list[0]
	}
	return &schema.Type{Kind: schema.KindUnion, OneOf: list}
}

// shapeOf returns a kind, the same for kinds with one form in JSON.
func shapeOf(t *schema.Type) schema.Kind {
	switch t.Kind {
	case schema.KindInteger:
		return schema.KindNumber
	case schema.KindMap:
		return schema.KindObject
	}
	return t.Kind
}

// object returns the object with a schema's properties: one for both directions if they do not differ.
func (t *types) object(m *merged, way direction, hint string) *schema.Object {
	if seen := map[*openapi3.Schema]bool{}; !t.differs(m.Schema, seen) {
		maps.Copy(t.same, seen)
		way = both
	}
	key := objectKey{m.Schema, way}
	if o := t.objects[key]; o != nil {
		return o
	}
	name := hint
	if way == given {
		name += "Input"
	}
	name = t.tokens.take(name)
	o := &schema.Object{Token: t.pkg + ":index/" + lowerCamel(wordsOf(name)) + ":" + name, Description: m.Description}
	t.objects[key] = o // before its properties, which may be of the same type
	o.Properties = t.properties(m, way, hint)
	return o
}

// differs reports whether a schema has parts that are only read or only written.
func (t *types) differs(s *openapi3.Schema, seen map[*openapi3.Schema]bool) bool {
	if s == nil || seen[s] || t.same[s] {
		return false
	}
	seen[s] = true
	m := merge(s)
	inside := slices.Concat(slices.Collect(maps.Values(m.properties)), m.OneOf, m.AnyOf, openapi3.SchemaRefs{m.Items, m.further})
	return slices.ContainsFunc(inside, func(ref *openapi3.SchemaRef) bool {
		return ref != nil && ref.Value != nil && (ref.Value.ReadOnly || ref.Value.WriteOnly || t.differs(ref.Value, seen))
	})
}

// properties returns an object's properties in a direction, sorted by name.
func (t *types) properties(m *merged, way direction, hint string) []schema.Property {
	var list []schema.Property
	for _, name := range slices.Sorted(maps.Keys(m.properties)) {
		ref := m.properties[name]
		if way == given && ref.Value.ReadOnly || way == answered && ref.Value.WriteOnly {
			continue
		}
		p := t.property(name, ref, way, hint+upperCamel(wordsOf(name)))
		p.Required = m.required[name] && !p.HasDefault()
		list = append(list, p)
	}
	return list
}

// property returns a property with all that the document says of its values.
func (t *types) property(name string, ref *openapi3.SchemaRef, way direction, hint string) schema.Property {
	s := ref.Value
	p := schema.Property{Name: name, Type: t.typ(ref, way, hint), Description: s.Description}
	p.Secret = s.WriteOnly || s.Format == "password"
	if s.Deprecated {
		p.Deprecation = "the service deprecates it"
	}
	if way == answered {
		return p
	}
	scalar := p.Type.Kind >= schema.KindBool && p.Type.Kind <= schema.KindString
	if !scalar {
		return p
	}
	for _, value := range s.Enum {
		if value != nil {
			p.OneOf = append(p.OneOf, fromAny(value))
		}
	}
	if s.Const != nil {
		p.Const = fromAny(s.Const)
	}
	if s.Default != nil {
		if value := fromAny(s.Default); fits(p.Type, value) {
			p.Default = value
		}
	}
	if p.Type.Kind == schema.KindInteger || p.Type.Kind == schema.KindNumber {
		p.Minimum, p.Maximum = s.Min, s.Max
	}
	return p
}

func fits(t *schema.Type, value property.Value) bool {
	o := schema.Object{Properties: []schema.Property{{Name: "value", Type: t}}}
	_, failures := o.Check(property.NewMap(property.Entry{Key: "value", Value: value}))
	return len(failures) == 0
}

func fromAny(value any) property.Value {
	text, err := json.Marshal(value)
	if err != nil {
		return property.Null
	}
	v, err := decodeJSON(text)
	if err != nil {
		return property.Null
	}
	return v
}
