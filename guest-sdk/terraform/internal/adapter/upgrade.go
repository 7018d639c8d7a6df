package adapter

import (
	"context"
	"encoding/json"
	"hash"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/names"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// edition returns a text that is another one for another version of a provider, and for another schema. Builds of a
// provider under development have one version and many schemas.
func edition(version string, s *tf.Schema) string {
	h := fnv.New64a()
	note(h, version, strconv.FormatInt(s.Version, 10))
	noteAttributes(h, s.Attributes)
	return strconv.FormatUint(h.Sum64(), 36)
}

func note(h hash.Hash, parts ...string) {
	for _, part := range parts {
		_, _ = h.Write([]byte(part + "\x00"))
	}
}

func noteAttributes(h hash.Hash, s *tf.Attributes) {
	for _, a := range s.List {
		note(h, a.Name, a.Property, a.Type.Wire.String())
		for _, is := range []bool{a.Required, a.Optional, a.Computed, a.Sensitive, a.WriteOnly, a.Nested, a.Block, a.Flat, a.Hidden} {
			note(h, strconv.FormatBool(is))
		}
		if nested := objectIn(a.Type); nested != nil {
			noteAttributes(h, nested)
		}
		note(h, "")
	}
}

// outdated reports whether another edition of the provider made a state. Terraform has the provider upgrade it and
// read the resource, before it compares anything: the resource may have values of attributes that are new.
func (r *resource) outdated(m meta) bool { return m.Edition != r.edition() }

// upgraded returns a recorded state in the provider's schema. One of another edition is the provider's to upgrade.
func (p *provider) upgraded(ctx context.Context, r *resource, state property.Map, m meta) (tftypes.Value, error) {
	version, _ := m.version()
	if version > r.Version {
		return tftypes.Value{}, abi.NewError(abi.ErrorKindInternal, "the recorded state is of version "+m.SchemaVersion+" of the schema of "+r.name+
			", and this version of the provider has "+strconv.FormatInt(r.Version, 10)+"; use the version that wrote the state, or a later one")
	}
	if !r.outdated(m) {
		value, err := (&encoder{}).object(r.Attributes, state)
		if err == nil {
			return value, nil
		}
		e := *abi.AsError(err)
		e.Kind, e.Message = abi.ErrorKindInternal, "the recorded value does not fit this version of the provider: "+e.Message
		return value, &e
	}
	raw := rawObject(r.Attributes, state.Without(metaKey, "urn"), m.Names, "")
	if version == r.Version {
		addBlocks(r.Attributes, raw)
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return tftypes.Value{}, abi.AsError(err)
	}
	value, found, err := p.server.UpgradeState(ctx, r.name, version, data)
	if err := outcome(ctx, found, err, nil); err != nil {
		return tftypes.Value{}, err
	}
	return decoded(r.Attributes.Wire(), value)
}

// addBlocks adds empty block types to an object of JSON, as Terraform has them in its states.
func addBlocks(s *tf.Attributes, raw map[string]any) {
	for _, a := range s.List {
		if !a.Block {
			continue
		}
		switch v := raw[a.Name].(type) {
		case nil:
			switch a.Type.Kind {
			case tf.List, tf.Set:
				raw[a.Name] = []any{}
			case tf.Map:
				raw[a.Name] = map[string]any{}
			}
		case []any:
			for _, element := range v {
				if part, ok := element.(map[string]any); ok && a.Type.Element != nil && a.Type.Element.Object != nil {
					addBlocks(a.Type.Element.Object, part)
				}
			}
		case map[string]any:
			if a.Type.Object != nil {
				addBlocks(a.Type.Object, v)
			}
		}
	}
}

// attributeOf returns the name of the attribute that a recorded property was, and the attribute that has this name
// now, nil if there is none. flat reports that the value was the only element of the attribute. named are the names
// of the state. Of what they do not have, the schema and the value tell.
func attributeOf(s *tf.Attributes, key string, v property.Value, named map[string]string, at string) (a *tf.Attribute, name string, flat bool) {
	if name, has := named[at]; has {
		name, flat = strings.CutSuffix(name, "[]")
		if s != nil {
			a = s.Get(name)
		}
		return a, name, flat && !isSeveral(elementOf(typeOfAttribute(a)), v)
	}
	name = names.Snake(key)
	if s == nil {
		return nil, name, false
	}
	if named == nil {
		a = s.OfProperty(key)
	}
	if a == nil {
		a = s.Get(name)
	}
	if a == nil {
		a = formerly(s, key)
	}
	if a == nil {
		return nil, name, false
	}
	return a, a.Name, named == nil && isElement(a, v)
}

// formerly returns the attribute whose property had another name in another edition: the plural, for a list.
func formerly(s *tf.Attributes, key string) *tf.Attribute {
	if a := s.OfProperty(key); a != nil {
		return a
	}
	for _, a := range s.List {
		if names.Camel(names.Plural(a.Name)) == key {
			return a
		}
	}
	return nil
}

// isElement reports whether the value of an attribute is the only element of its list, and not the list.
func isElement(a *tf.Attribute, v property.Value) bool {
	switch {
	case a.Type.Kind != tf.List && a.Type.Kind != tf.Set || v.Plain().IsNull():
		return false
	case v.Plain().IsUnknown():
		return a.Flat
	}
	element := a.Type.Element
	switch element.Kind {
	case tf.List, tf.Set, tf.Tuple, tf.Dynamic:
		return a.Flat && !isSeveral(element, v)
	}
	_, isList := v.Plain().AsArray()
	return !isList
}

func typeOfAttribute(a *tf.Attribute) *tf.Type {
	if a == nil {
		return nil
	}
	return a.Type
}

// elementOf returns the type of the elements of a type, nil for none.
func elementOf(t *tf.Type) *tf.Type {
	if t == nil {
		return nil
	}
	return t.Element
}

// rawObject returns a state as JSON with the names of the provider, whose schema may be an older one.
func rawObject(s *tf.Attributes, m property.Map, named map[string]string, path string) map[string]any {
	out := map[string]any{}
	for key, v := range m.All() {
		at := joined(path, key)
		a, name, flat := attributeOf(s, key, v, named, at)
		typ := typeOfAttribute(a)
		if flat {
			typ = elementOf(typ)
		}
		value := rawValue(typ, v.Plain(), named, at)
		if flat {
			value = []any{value}
		}
		out[name] = value
	}
	return out
}

func rawValue(t *tf.Type, v property.Value, named map[string]string, path string) any {
	v = v.Plain()
	if t != nil && t.Kind == tf.Dynamic && !v.IsNull() {
		if value, err := (&encoder{}).dynamic(v); err == nil {
			if typ, err := value.Type().MarshalJSON(); err == nil {
				return map[string]any{"type": json.RawMessage(typ), "value": rawValue(nil, v, map[string]string{path + ".*": "*"}, path)}
			}
		}
	}
	if b, ok := v.AsBool(); ok {
		return b
	}
	if n, ok := v.AsNumber(); ok {
		return n
	}
	if s, ok := v.AsString(); ok {
		return s
	}
	if list, ok := v.AsArray(); ok {
		out := make([]any, len(list))
		for i, v := range list {
			out[i] = rawValue(elementOf(t), v, named, path)
		}
		return out
	}
	m, ok := v.AsObject()
	if !ok {
		return nil
	}
	_, isMap := named[joined(path, "*")]
	if t != nil && t.Kind == tf.Map || isMap {
		out := map[string]any{}
		for key, v := range m.All() {
			out[key] = rawValue(elementOf(t), v, named, joined(path, "*"))
		}
		return out
	}
	var s *tf.Attributes
	if t != nil {
		s = t.Object
	}
	return rawObject(s, m, named, path)
}

// fits reports whether properties have names and shapes of this edition.
func fits(s *tf.Attributes, m property.Map) bool {
	for key, v := range m.All() {
		a := s.OfProperty(key)
		if a == nil || a.Flat && !isElement(a, v) && !v.Plain().IsNull() || !a.Flat && isElement(a, v) || !fitsValue(flattened(a), v) {
			return false
		}
	}
	return true
}

func fitsValue(t *tf.Type, v property.Value) bool {
	v = v.Plain()
	if list, ok := v.AsArray(); ok && t.Element != nil && objectIn(t) != nil {
		return !slices.ContainsFunc(list, func(v property.Value) bool { return !fitsValue(t.Element, v) })
	}
	m, ok := v.AsObject()
	if ok && t.Kind == tf.Object {
		return fits(t.Object, m)
	}
	if ok && t.Kind == tf.Map && objectIn(t) != nil {
		for _, part := range m.All() {
			if !fitsValue(t.Element, part) {
				return false
			}
		}
	}
	return true
}

// renamed returns properties of another edition with their present names and shapes. Properties that the provider no longer has
// stay as they are.
func renamed(s *tf.Attributes, m property.Map, named map[string]string, path string) property.Map {
	entries := make([]property.Entry, 0, m.Len())
	for key, v := range m.All() {
		at := joined(path, key)
		a, _, _ := attributeOf(s, key, v, named, at)
		if a == nil {
			entries = append(entries, property.Entry{Key: key, Value: v})
			continue
		}
		typ, alone := a.Type, isElement(a, v)
		if alone {
			typ = a.Type.Element
		}
		v = renamedValue(typ, v, named, at)
		if a.Flat && !alone {
			v = onlyElement(v)
		} else if !a.Flat && alone {
			v = property.Array(v)
		}
		if !v.Plain().IsNull() {
			entries = append(entries, property.Entry{Key: a.Property, Value: v})
		}
	}
	return property.NewMap(entries...)
}

// onlyElement returns the element of a list that has one, null for an empty list, and any other value as it is.
func onlyElement(v property.Value) property.Value {
	switch list, isList := v.Plain().AsArray(); {
	case !isList || len(list) > 1:
		return v
	case len(list) == 0:
		return property.Null
	case v.IsSecret():
		return property.Secret(list[0])
	default:
		return list[0]
	}
}

func renamedValue(t *tf.Type, v property.Value, named map[string]string, path string) property.Value {
	if inner, ok := v.AsSecret(); ok {
		return property.Secret(renamedValue(t, inner, named, path))
	}
	if list, ok := v.AsArray(); ok && t.Element != nil {
		out := make([]property.Value, len(list))
		for i := range list {
			out[i] = renamedValue(t.Element, list[i], named, path)
		}
		return property.Array(out...)
	}
	m, ok := v.AsObject()
	switch {
	case ok && t.Kind == tf.Object:
		return property.Object(renamed(t.Object, m, named, path))
	case ok && t.Kind == tf.Map:
		entries := make([]property.Entry, 0, m.Len())
		for key, part := range m.All() {
			entries = append(entries, property.Entry{Key: key, Value: renamedValue(t.Element, part, named, joined(path, "*"))})
		}
		return property.Object(property.NewMap(entries...))
	}
	return v
}

// asNow returns the request to read a resource whose state is outdated, with its properties under their present names, and the
// state with new attributes. The provider has upgraded the values of the state: the upgrade does not change the resource.
func (p *provider) asNow(ctx context.Context, r *resource, request abi.ReadRequest, prior recorded) (abi.ReadRequest, recorded, error) {
	if request.Inputs != nil {
		inputs := renamed(r.Attributes, *request.Inputs, prior.names, "")
		request.Inputs = &inputs
		if !prior.tainted {
			prior.value = p.withNewDefaults(ctx, r, prior, inputs)
		}
	}
	state := renamed(r.Attributes, *request.State, prior.names, "")
	upgraded, _ := (&decoder{names: map[string]string{}, several: firstOfSeveral}).readable(r.Attributes, prior.value)
	for key, v := range upgraded.All() {
		if state.Get(key).IsSecret() {
			v = property.Secret(v)
		}
		state = state.With(key, v)
	}
	request.State = &state
	var err error
	if prior.Value, err = encoded(prior.value); err != nil {
		return request, prior, abi.AsError(err)
	}
	return request, prior, nil
}

// withNewDefaults returns a state that is outdated with the defaults of attributes that are new, as far as their absence would
// replace the resource. The recorded inputs cannot have set such an attribute. The provider reads its value; if it does not read
// the attribute, the resource has had the default all along.
func (p *provider) withNewDefaults(ctx context.Context, r *resource, prior recorded, inputs property.Map) tftypes.Value {
	config, err := r.config(inputs, "update", 0)
	if err != nil {
		return prior.value // inputs like these will be refused
	}
	do, err := p.plan(ctx, r, prior, config)
	if err != nil {
		return prior.value // the plan of the program's inputs says so
	}
	value := prior.value
	for _, path := range do.replace {
		if path = ofSet(path); len(path.Steps()) > 0 {
			value = defaultedAt(value, config, do.planned, path)
		}
	}
	return value
}

// ofSet returns the path of the outermost set in which a path is, or the path itself. Elements of sets have no place.
func ofSet(path *tftypes.AttributePath) *tftypes.AttributePath {
	for i, step := range path.Steps() {
		if _, ok := step.(tftypes.ElementKeyValue); ok {
			return tftypes.NewAttributePathWithSteps(path.Steps()[:i])
		}
	}
	return path
}

// defaultedAt returns a value with the planned part at a path, if neither the value nor the configuration has anything there.
func defaultedAt(value, config, planned tftypes.Value, path *tftypes.AttributePath) tftypes.Value {
	was, _ := walk(value, path)
	asked, _ := walk(config, path)
	is, ok := walk(planned, path)
	if !ok {
		return value
	}
	now := defaulted(was, asked, is)
	if same(was, now) {
		return value
	}
	changed, err := tftypes.Transform(value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if at.Equal(path) {
			return now, nil
		}
		return v, nil
	})
	if err != nil {
		return value
	}
	return changed
}

// defaulted returns a value with the planned parts where neither it nor the configuration has anything. Elements of a set become
// the planned ones that differ in nothing else.
func defaulted(was, asked, is tftypes.Value) tftypes.Value {
	switch {
	case isNull(was):
		if isNull(asked) && !isNull(is) && is.IsFullyKnown() {
			return is
		}
		return was
	case isNull(is) || !is.IsKnown() || !was.IsKnown() || same(was, is):
		return was
	}
	before, after, config := fields(was), fields(is), fields(asked)
	if was.Type().Is(tftypes.Object{}) {
		values := map[string]tftypes.Value{}
		for name, v := range before {
			values[name] = defaulted(v, config[name], after[name])
		}
		return tftypes.NewValue(was.Type(), values)
	}
	if !was.Type().Is(tftypes.Set{}) {
		return was
	}
	old, new := elements(was), elements(is)
	values := make([]tftypes.Value, len(old))
	for i, v := range old {
		values[i] = v
		if indexOf(new, v) >= 0 {
			continue
		}
		for _, w := range new {
			if same(defaulted(v, tftypes.Value{}, w), w) {
				values[i] = w
				break
			}
		}
	}
	return tftypes.NewValue(was.Type(), values)
}
