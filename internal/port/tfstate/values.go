package tfstate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// metaKey is the property of a state for data that is not an attribute, in ported providers and Pulumi's bridge.
const metaKey = "__meta"

// meta is the data that ported providers read there.
type meta struct {
	SchemaVersion   string            `json:"schema_version,omitempty"`
	PrivateState    string            `json:"private_state,omitempty"`
	Identity        json.RawMessage   `json:"identity,omitempty"`
	IdentityVersion int64             `json:"identity_version,omitempty"`
	Tainted         bool              `json:"tainted,omitempty"`
	Names           map[string]string `json:"names"`
}

// converter makes properties of the attributes of one resource.
type converter struct {
	mapped bool
	secret map[string]bool
	// names are the attributes by the paths of their properties that do not follow from these.
	names map[string]string
	// outputs are the paths of properties that no program gives.
	outputs map[string]bool
	// dropped are the attributes without a property.
	dropped []string
}

// properties returns the state and inputs of a resource, and the attributes for which it has no property.
func (r *Resource) properties(typ *schema.Resource, m *MappedType) (state, inputs property.Map, dropped []string, err error) {
	c := &converter{mapped: m != nil, secret: make(map[string]bool), names: make(map[string]string), outputs: make(map[string]bool)}
	for _, path := range r.Sensitive {
		c.secret[pathText(path)] = true
	}
	in := level{object: &typ.Outputs}
	if m != nil {
		in.fields, in.attributes = m.Fields, m.schema
	}
	if state, err = c.object(r.Attributes, in, "", nil); err != nil {
		return state, inputs, nil, err
	}
	if c.secret[""] {
		for key, v := range state.All() {
			state = state.With(key, property.Secret(v.Unwrap()))
		}
	}
	inputs = c.inputs(&typ.Inputs, state, "")
	if m == nil {
		return state, inputs, c.dropped, nil
	}
	extra := meta{
		PrivateState: r.Private, Identity: r.Identity, IdentityVersion: r.IdentityVersion, Tainted: r.Tainted, Names: c.names,
	}
	if r.SchemaVersion > 0 {
		extra.SchemaVersion = strconv.FormatInt(r.SchemaVersion, 10)
	}
	text, err := json.Marshal(extra)
	if err != nil {
		return state, inputs, nil, err
	}
	note := property.String(string(text))
	if state.ContainsSecrets() && (r.Private != "" || r.Identity != nil) {
		note = property.Secret(note) // who knows what the provider has in it
	}
	return state.With(metaKey, note), inputs, nil, nil
}

func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		fmt.Fprintf(&b, "/%v", step)
	}
	return b.String()
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// level describes the attributes of an object: the mapping's fields, Terraform's schema, and the schema here. Each may be
// missing.
type level struct {
	fields     map[string]*field
	attributes map[string]*attribute
	object     *schema.Object
}

// one describes a value: an attribute, or a part of one.
type one struct {
	field     *field
	attribute *attribute
	typ       *schema.Type
}

func (o one) level() level {
	return level{o.field.inner(), o.attribute.inner(), o.typ.Object}
}

// element returns the description of the elements, which share fields and attributes.
func (o one) element() one {
	return one{o.field, o.attribute, cmp.Or(o.typ.Element, &schema.Type{})}
}

// object returns the properties of attributes. path is the path of the properties, and at the path of the attributes.
func (c *converter) object(attributes map[string]any, in level, path string, at []any) (property.Map, error) {
	var entries []property.Entry
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v, f, o := attributes[name], in.fields[name], in.object
		if v == nil || len(at) == 0 && name == "timeouts" && f == nil {
			continue // Timeouts of operations are options here.
		}
		here := append(slices.Clip(at), name)
		key, p := c.property(name, f, o)
		if key == "" {
			if !isEmpty(v) && !(len(at) == 0 && name == "id") {
				c.dropped = append(c.dropped, name)
			}
			continue
		}
		d := one{f, in.attributes[name], &schema.Type{}}
		if p != nil {
			d.typ = cmp.Or(p.Type, d.typ)
		}
		list, isList := v.([]any)
		flat := isList && (f != nil && f.MaxItemsOne != nil && *f.MaxItemsOne || p != nil && !isArray(d.typ))
		inner := joined(path, key)
		if d.attribute.isOutput() {
			c.outputs[inner] = true
		}
		if flat {
			c.names[inner] = name + "[]"
			if len(list) == 0 {
				continue
			} else if len(list) > 1 {
				return property.Map{}, fmt.Errorf("%s has %d elements where the provider has one object", name, len(list))
			}
			here, v = append(here, 0), list[0]
		} else if snake(key) != name {
			c.names[inner] = name
		}
		value, err := c.value(v, d, inner, here)
		if err != nil {
			return property.Map{}, err
		}
		if flat && c.secret[pathText(here[:len(here)-1])] {
			value = property.Secret(value.Unwrap())
		}
		entries = append(entries, property.Entry{Key: key, Value: value})
	}
	return property.NewMap(entries...), nil
}

// property returns the name of the property for an attribute, and its description if the schema has it.
func (c *converter) property(name string, f *field, o *schema.Object) (string, *schema.Property) {
	if f != nil && f.Name != "" {
		if o == nil {
			return f.Name, nil
		}
		return f.Name, o.Property(f.Name)
	}
	if p := propertyFor(o, name); p != nil {
		return p.Name, p
	}
	if c.mapped {
		return camel(name), nil // of an earlier version of the provider, which the later one reads
	}
	return "", nil
}

func isArray(t *schema.Type) bool {
	return t == nil || t.Kind == schema.KindArray || t.Kind == schema.KindAny ||
		t.Kind == schema.KindUnion && slices.ContainsFunc(t.OneOf, isArray)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (c *converter) value(v any, d one, path string, at []any) (property.Value, error) {
	out, err := c.plain(v, d, path, at)
	if err == nil && c.secret[pathText(at)] {
		out = property.Secret(out.Unwrap())
	}
	return out, err
}

func (c *converter) plain(v any, d one, path string, at []any) (property.Value, error) {
	switch v := v.(type) {
	case bool:
		return property.Bool(v), nil
	case string:
		return property.String(v), nil
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return property.Null, fmt.Errorf("%s is a number that is too large", path)
		}
		return property.Number(n), nil
	case []any:
		list := make([]property.Value, len(v))
		for i, part := range v {
			var err error
			if list[i], err = c.value(part, d.element(), path, append(slices.Clip(at), i)); err != nil {
				return property.Null, err
			}
		}
		return property.Array(list...), nil
	case map[string]any:
		if d.typ.Kind == schema.KindObject && d.typ.Object != nil {
			m, err := c.object(v, d.level(), path, at)
			return property.Object(m), err
		}
		if value, ok := v["value"]; ok && d.typ.Kind == schema.KindAny && v["type"] != nil && len(v) == 2 {
			return c.plain(value, one{typ: &schema.Type{}}, path, at) // a value of any type
		}
		return c.entries(v, d.element(), joined(path, "*"), at)
	}
	return property.Null, nil
}

// entries returns a map. Its keys are not names of attributes.
func (c *converter) entries(v map[string]any, d one, path string, at []any) (property.Value, error) {
	c.names[path] = "*"
	var entries []property.Entry
	for _, key := range slices.Sorted(maps.Keys(v)) {
		value, err := c.value(v[key], d, path, append(slices.Clip(at), key))
		if err != nil {
			return property.Null, err
		}
		entries = append(entries, property.Entry{Key: key, Value: value})
	}
	return property.Object(property.NewMap(entries...)), nil
}

// inputs returns the part of a state that a program would give.
func (c *converter) inputs(o *schema.Object, state property.Map, path string) property.Map {
	var entries []property.Entry
	for i := range o.Properties {
		p := &o.Properties[i]
		v := state.Get(p.Name)
		here := joined(path, p.Name)
		if v.Plain().IsNull() || p.WriteOnly || here == "id" || c.outputs[here] {
			continue
		}
		v = c.input(p.Type, v, here)
		if !p.Required && (p.Deprecation != "" || isEmptyValue(v.Plain())) {
			continue
		}
		if p.Secret {
			v = property.Secret(v.Unwrap())
		}
		entries = append(entries, property.Entry{Key: p.Name, Value: v})
	}
	return property.NewMap(entries...)
}

func (c *converter) input(t *schema.Type, v property.Value, path string) property.Value {
	if t == nil {
		return v
	}
	if inner, ok := v.AsSecret(); ok {
		return property.Secret(c.input(t, inner, path))
	}
	m, isObject := v.AsObject()
	switch list, isList := v.AsArray(); {
	case isList && t.Kind == schema.KindArray:
		out := make([]property.Value, len(list))
		for i := range list {
			out[i] = c.input(t.Element, list[i], path)
		}
		return property.Array(out...)
	case isObject && t.Kind == schema.KindObject && t.Object != nil:
		return property.Object(c.inputs(t.Object, m, path))
	case isObject && t.Kind == schema.KindMap:
		entries := make([]property.Entry, 0, m.Len())
		for key, part := range m.All() {
			entries = append(entries, property.Entry{Key: key, Value: c.input(t.Element, part, joined(path, "*"))})
		}
		return property.Object(property.NewMap(entries...))
	}
	return v
}

func isEmptyValue(v property.Value) bool {
	if s, ok := v.AsString(); ok {
		return s == ""
	}
	if list, ok := v.AsArray(); ok {
		return len(list) == 0
	}
	m, ok := v.AsObject()
	return ok && m.Len() == 0
}

// id returns the ID of a resource, which is its name if it has no attribute id.
func (r *Resource) id(m *MappedType, name string) string {
	attributes := []string{"id"}
	if m != nil && len(m.ID) > 0 {
		attributes = m.ID
	}
	var parts []string
	for _, attribute := range attributes {
		switch v := r.Attributes[attribute].(type) {
		case string:
			parts = append(parts, v)
		case json.Number:
			parts = append(parts, v.String())
		}
	}
	if id := strings.Join(parts, "/"); id != "" && len(parts) == len(attributes) {
		return id
	}
	return name
}
