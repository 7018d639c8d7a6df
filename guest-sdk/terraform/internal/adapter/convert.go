package adapter

//lint:file-ignore SA1019 servers and clients of the protocol encode with these functions; there are no others

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/names"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// isNull reports whether v is null or nothing.
func isNull(v tftypes.Value) bool { return v.Type() == nil || v.IsNull() }

// isUnknown reports whether v itself is unknown.
func isUnknown(v tftypes.Value) bool { return v.Type() != nil && !v.IsKnown() }

// fields returns the parts of a known object or map.
func fields(v tftypes.Value) (parts map[string]tftypes.Value) {
	if !isNull(v) && !isUnknown(v) && v.As(&parts) != nil {
		return nil
	}
	return parts
}

// elements returns the parts of a known list, set, or tuple.
func elements(v tftypes.Value) (parts []tftypes.Value) {
	if !isNull(v) && !isUnknown(v) && v.As(&parts) != nil {
		return nil
	}
	return parts
}

// at returns an element, or nothing.
func at(list []tftypes.Value, i int) (v tftypes.Value) {
	if i >= 0 && i < len(list) {
		return list[i]
	}
	return v
}

func indexOf(list []tftypes.Value, v tftypes.Value) int {
	return slices.IndexFunc(list, func(w tftypes.Value) bool { return same(v, w) })
}

// same reports whether two values are equal, or both null or nothing.
func same(v, w tftypes.Value) bool {
	if isNull(v) || isNull(w) {
		return isNull(v) && isNull(w)
	}
	return v.Equal(w)
}

// encoded returns the value as the protocol sends it.
func encoded(v tftypes.Value) (*tf.Value, error) {
	data, err := v.MarshalMsgPack(v.Type())
	if err != nil {
		return nil, err
	}
	return &tf.Value{MsgPack: data}, nil
}

// decoded returns the value that the protocol has sent, null for nothing.
func decoded(t tftypes.Type, v *tf.Value) (tftypes.Value, error) {
	switch {
	case v == nil || v.JSON == nil && v.MsgPack == nil:
		return tftypes.NewValue(t, nil), nil
	case v.JSON != nil:
		return tftypes.ValueFromJSON(v.JSON, t)
	}
	return tftypes.ValueFromMsgPack(v.MsgPack, t)
}

// decodedInPart returns the object that the protocol has sent, with null for each attribute that cannot be read. It fails if the
// value is not an object at all.
func decodedInPart(s *tf.Attributes, v *tf.Value) (_ tftypes.Value, faults []fault, err error) {
	parts, values := map[string]*tf.Value{}, map[string]tftypes.Value{}
	if v.JSON != nil {
		var raw map[string]json.RawMessage
		err = json.Unmarshal(v.JSON, &raw)
		for name, part := range raw {
			parts[name] = &tf.Value{JSON: part}
		}
	} else {
		var raw map[string][]byte
		raw, err = packedParts(v.MsgPack)
		for name, part := range raw {
			parts[name] = &tf.Value{MsgPack: part}
		}
	}
	if err == nil && len(parts) == 0 {
		err = errors.New("it has no attributes")
	}
	if err != nil {
		return tftypes.Value{}, nil, err
	}
	for _, a := range s.List {
		value, err := decoded(a.Type.Wire, parts[a.Name])
		if err != nil {
			faults = append(faults, fault{a.Property, abi.NewError(abi.ErrorKindInternal, a.Property+": "+err.Error())})
			value = tftypes.NewValue(a.Type.Wire, nil)
		}
		values[a.Name] = value
	}
	return tftypes.NewValue(s.Wire(), values), faults, nil
}

// encoder makes values of the protocol of properties.
type encoder struct {
	// config marks a configuration, which may have settable attributes only. A state has all.
	config bool
	path   property.Path
}

func (e *encoder) wrong(t *tf.Type, v property.Value) error {
	return e.refuse("expected " + kindNames[t.Kind] + ", got " + v.Kind().String())
}

func (e *encoder) refuse(message string) error {
	err := abi.NewError(abi.ErrorKindInvalidArgument, message)
	err.Path = e.path.String()
	return err
}

var kindNames = [...]string{
	tf.Dynamic: "any value", tf.Bool: "bool", tf.Number: "number", tf.String: "string", tf.List: "array", tf.Set: "array",
	tf.Map: "object", tf.Object: "object", tf.Tuple: "array",
}

// object returns the object of properties.
func (e *encoder) object(s *tf.Attributes, m property.Map) (tftypes.Value, error) {
	values := make(map[string]tftypes.Value, len(s.List))
	for _, a := range s.List {
		var v property.Value
		if !a.Hidden {
			v = m.Get(a.Property).Plain()
		}
		e.path = append(e.path, property.Key(a.Property))
		if e.config && !a.Settable() && !v.IsNull() {
			return tftypes.Value{}, e.refuse("the provider computes this property; remove it")
		}
		var err error
		if values[a.Name], err = e.attribute(a, v); err != nil {
			return tftypes.Value{}, err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return tftypes.NewValue(s.Wire(), values), nil
}

func (e *encoder) attribute(a *tf.Attribute, v property.Value) (tftypes.Value, error) {
	if v.IsNull() && a.Block {
		return absentBlock(a.Type), nil
	}
	if a.Block || a.Nested {
		v = spread(a.Type, v)
	}
	if !a.Flat || v.IsNull() || v.IsUnknown() || !e.config && isSeveral(a.Type.Element, v) {
		return e.value(a.Type, v)
	}
	element, err := e.value(a.Type.Element, v)
	if err != nil {
		return tftypes.Value{}, err
	}
	return tftypes.NewValue(a.Type.Wire, []tftypes.Value{element}), nil
}

// isSeveral reports whether the value of a flat property, in a state, holds several elements and not one: a provider
// may answer more than its schema allows, as Terraform takes it. t is the type of an element, nil if it is not known.
func isSeveral(t *tf.Type, v property.Value) bool {
	list, ok := v.Plain().AsArray()
	if !ok || len(list) < 2 {
		return false
	}
	if t != nil && t.Kind != tf.List && t.Kind != tf.Set && t.Kind != tf.Tuple && t.Kind != tf.Dynamic {
		return true
	}
	for _, element := range list {
		_, isArray := element.Plain().AsArray()
		_, isObject := element.Plain().AsObject()
		if !isArray && (!isObject || t != nil) {
			return false
		}
	}
	return true
}

// spread returns blocks or nested objects in which unknown ones have unknown attributes: a
// configuration of Terraform has no unknown block, and the plugin framework refuses unknown objects in
// lists and maps that have required attributes.
func spread(t *tf.Type, v property.Value) property.Value {
	if t.Element == nil || t.Element.Kind != tf.Object {
		return v
	}
	if list, ok := v.AsArray(); ok {
		out := make([]property.Value, len(list))
		for i := range list {
			out[i] = spreadObject(t.Element.Object, list[i])
		}
		return property.Array(out...)
	}
	if m, ok := v.AsObject(); ok && t.Kind == tf.Map {
		var entries []property.Entry
		for key, v := range m.All() {
			entries = append(entries, property.Entry{Key: key, Value: spreadObject(t.Element.Object, v)})
		}
		return property.Object(property.NewMap(entries...))
	}
	return v
}

func spreadObject(s *tf.Attributes, v property.Value) property.Value {
	if !v.Plain().IsUnknown() {
		return v
	}
	var entries []property.Entry
	for _, a := range s.List {
		if a.Settable() {
			entries = append(entries, property.Entry{Key: a.Property, Value: property.Unknown})
		}
	}
	return property.Object(property.NewMap(entries...))
}

// absentBlock returns the value of a block type without blocks.
func absentBlock(t *tf.Type) tftypes.Value {
	switch t.Kind {
	case tf.List, tf.Set:
		return tftypes.NewValue(t.Wire, []tftypes.Value{})
	case tf.Map:
		return tftypes.NewValue(t.Wire, map[string]tftypes.Value{})
	}
	return tftypes.NewValue(t.Wire, nil)
}

func (e *encoder) value(t *tf.Type, v property.Value) (tftypes.Value, error) {
	v = v.Plain()
	switch {
	case v.IsNull():
		return tftypes.NewValue(t.Wire, nil), nil
	case v.IsUnknown():
		return tftypes.NewValue(t.Wire, tftypes.UnknownValue), nil
	}
	switch t.Kind {
	case tf.Bool:
		if b, ok := v.AsBool(); ok {
			return tftypes.NewValue(t.Wire, b), nil
		}
	case tf.Number:
		if n, ok := v.AsNumber(); ok {
			return e.number(t.Wire, n)
		}
	case tf.String:
		if s, ok := v.AsString(); ok {
			return tftypes.NewValue(t.Wire, s), nil
		}
	case tf.List, tf.Set, tf.Tuple:
		if list, ok := v.AsArray(); ok {
			return e.list(t, list)
		}
	case tf.Map:
		if m, ok := v.AsObject(); ok {
			values := make(map[string]tftypes.Value, m.Len())
			for key, v := range m.All() {
				e.path = append(e.path, property.Key(key))
				element, err := e.value(t.Element, v)
				if err != nil {
					return tftypes.Value{}, err
				}
				values[key] = element
				e.path = e.path[:len(e.path)-1]
			}
			return tftypes.NewValue(t.Wire, values), nil
		}
	case tf.Object:
		if m, ok := v.AsObject(); ok {
			return e.object(t.Object, m)
		}
	default:
		return e.dynamic(v)
	}
	return tftypes.Value{}, e.wrong(t, v)
}

func (e *encoder) number(wire tftypes.Type, n float64) (tftypes.Value, error) {
	if n != n {
		return tftypes.Value{}, e.refuse("expected number, got NaN")
	}
	return tftypes.NewValue(wire, big.NewFloat(n)), nil
}

func (e *encoder) list(t *tf.Type, list []property.Value) (tftypes.Value, error) {
	if t.Kind == tf.Tuple && len(list) != len(t.Elements) {
		return tftypes.Value{}, e.refuse("expected as many elements as the provider's type has")
	}
	values := make([]tftypes.Value, 0, len(list))
	for i, v := range list {
		typ := t.Element
		if t.Kind == tf.Tuple {
			typ = t.Elements[i]
		}
		e.path = append(e.path, property.Index(i))
		element, err := e.value(typ, v)
		if err != nil {
			return tftypes.Value{}, err
		}
		if t.Kind != tf.Set || indexOf(values, element) < 0 || isUnknown(element) {
			values = append(values, element)
		}
		e.path = e.path[:len(e.path)-1]
	}
	return tftypes.NewValue(t.Wire, values), nil
}

// dynamic returns a value of the type that a property has.
func (e *encoder) dynamic(v property.Value) (tftypes.Value, error) {
	v = v.Plain()
	switch v.Kind() {
	case property.KindNull:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil), nil
	case property.KindUnknown:
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue), nil
	case property.KindBool:
		b, _ := v.AsBool()
		return tftypes.NewValue(tftypes.Bool, b), nil
	case property.KindNumber:
		n, _ := v.AsNumber()
		return e.number(tftypes.Number, n)
	case property.KindString:
		s, _ := v.AsString()
		return tftypes.NewValue(tftypes.String, s), nil
	case property.KindArray:
		list, _ := v.AsArray()
		var types []tftypes.Type
		values := make([]tftypes.Value, len(list))
		for i, v := range list {
			e.path = append(e.path, property.Index(i))
			element, err := e.dynamic(v)
			if err != nil {
				return tftypes.Value{}, err
			}
			values[i], types = element, append(types, element.Type())
			e.path = e.path[:len(e.path)-1]
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, values), nil
	case property.KindObject:
		m, _ := v.AsObject()
		types, values := map[string]tftypes.Type{}, map[string]tftypes.Value{}
		for key, v := range m.All() {
			e.path = append(e.path, property.Key(key))
			element, err := e.dynamic(v)
			if err != nil {
				return tftypes.Value{}, err
			}
			values[key], types[key] = element, element.Type()
			e.path = e.path[:len(e.path)-1]
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, values), nil
	}
	return tftypes.Value{}, e.refuse("expected a plain value, got " + v.Kind().String())
}

// decoder makes properties of values of the protocol.
type decoder struct {
	path string
	// names are the names of attributes by the paths of their properties, without indexes, unless they
	// follow from the property's. Those of flat ones end in [], unless they always have several elements.
	names map[string]string
	// several is the treatment of several elements where the schema or the mapping allows one.
	several several
	// found reports that there were any.
	found bool
}

// several is the treatment of several elements of a flat property.
type several int

const (
	refuseSeveral several = iota
	firstOfSeveral
	allOfSeveral // as an array, which the published schema does not have
)

// object returns the properties of an object without nulls and empty blocks.
func (d *decoder) object(s *tf.Attributes, v tftypes.Value) (property.Map, error) {
	m, faults := d.readable(s, v)
	if len(faults) > 0 {
		return property.Map{}, faults[0].err
	}
	return m, nil
}

// fault is an attribute that cannot be read.
type fault struct {
	property string // empty if it is not an attribute
	err      error
}

// readable returns the properties of an object without nulls and empty blocks, as far as they can be read.
func (d *decoder) readable(s *tf.Attributes, v tftypes.Value) (_ property.Map, faults []fault) {
	parts := fields(v)
	entries := make([]property.Entry, 0, len(s.List))
	outer := d.path
	defer func() { d.path = outer }()
	for _, a := range s.List {
		part := parts[a.Name]
		if isNull(part) || a.Hidden || a.WriteOnly {
			continue
		}
		d.path = joined(outer, a.Property)
		typ, flat := a.Type, a.Flat
		if flat && !isUnknown(part) {
			switch list := elements(part); len(list) {
			case 0:
				continue
			case 1:
				part, typ = list[0], a.Type.Element
			default:
				d.found = true
				switch d.several {
				case firstOfSeveral:
					part, typ = list[0], a.Type.Element
				case allOfSeveral:
					flat = false
				default:
					faults = append(faults, fault{a.Property, abi.NewError(abi.ErrorKindInternal, d.path+": the provider returned several elements "+
						"where its schema or the mapping of names allows one; set maxItemsOne to false in the mapping")})
					continue
				}
			}
		}
		v, err := d.value(typ, part)
		if err != nil {
			faults = append(faults, fault{a.Property, err})
			continue
		}
		if list, ok := v.AsArray(); ok && a.Block && len(list) == 0 {
			continue
		}
		if a.Sensitive {
			v = property.Secret(v.Unwrap())
		}
		if flat {
			d.names[d.path] = a.Name + "[]"
		} else if names.Snake(a.Property) != a.Name && d.names[d.path] == "" {
			d.names[d.path] = a.Name
		}
		entries = append(entries, property.Entry{Key: a.Property, Value: v})
	}
	return property.NewMap(entries...), faults
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (d *decoder) value(t *tf.Type, v tftypes.Value) (property.Value, error) {
	switch {
	case isNull(v):
		return property.Null, nil
	case isUnknown(v):
		return property.Unknown, nil
	}
	if t.Kind == tf.Dynamic {
		t = tf.TypeOf(v.Type())
	}
	switch t.Kind {
	case tf.Bool:
		var b bool
		err := v.As(&b)
		return property.Bool(b), err
	case tf.Number:
		n := new(big.Float)
		err := v.As(&n)
		f, _ := n.Float64()
		return property.Number(f), err
	case tf.String:
		var s string
		err := v.As(&s)
		return property.String(validText(s)), err
	case tf.List, tf.Set, tf.Tuple:
		parts := elements(v)
		list := make([]property.Value, len(parts))
		for i, part := range parts {
			typ := t.Element
			if t.Kind == tf.Tuple {
				typ = t.Elements[i]
			}
			var err error
			if list[i], err = d.value(typ, part); err != nil {
				return property.Null, err
			}
		}
		return property.Array(list...), nil
	case tf.Map:
		var entries []property.Entry
		outer := d.path
		d.path = joined(outer, "*")
		defer func() { d.path = outer }()
		d.names[d.path] = "*"
		for key, part := range fields(v) {
			element, err := d.value(t.Element, part)
			if err != nil {
				return property.Null, err
			}
			entries = append(entries, property.Entry{Key: validText(key), Value: element})
		}
		return property.Object(property.NewMap(entries...)), nil
	case tf.Object:
		m, err := d.object(t.Object, v)
		return property.Object(m), err
	}
	return property.Null, abi.NewError(abi.ErrorKindInternal, d.path+": the provider returned a value of an unknown type")
}

// validText returns a text in which U+FFFD replaces each byte that is not UTF-8, as in Terraform's state.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
