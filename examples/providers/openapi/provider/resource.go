package provider

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
)

// resource is a type of resource: the members of a collection, or a path to PUT to.
type resource struct {
	client    *client
	name      string
	described schema.Resource
	overrides *document.Resource

	create, read, remove *operation
	// updates are tried one after the other. There are none if the resource can only be replaced.
	updates []*operation
	// path are the values in the path of read, in its order.
	path []pathValue
	// fixed are paths in inputs whose change replaces the resource, beside the properties that the schema says.
	fixed []fieldPath
	// envelope is the field of answers that the resource is in, empty for none, and beside are other fields of them that it
	// has.
	envelope string
	beside   []string
	// fields are the names in JSON of the properties that have others there, and sources are where answers have
	// properties that they do not have under their names.
	fields  map[string]string
	sources map[string]fieldPath
	// created and updated are the properties that the operations' bodies have; updated the properties of any of them, and bodies
	// the properties of each.
	created, updated map[string]bool
	bodies           map[*operation]map[string]bool
	// keyed says that a creation has an idempotency key, which is an input.
	keyed bool
	// asked are the parameters in queries and headers that are sent, beside the service's own.
	asked []asked
}

// pathValue is a value in the path of a resource.
type pathValue struct {
	// parameter is its name in the path, and property the name of its output; empty for none.
	parameter, property string
	// input is where inputs have it; nil if the service chooses it.
	input fieldPath
	// made is its path in the answer to a creation, and found in other answers; nil if they lack it.
	made, found fieldPath
}

// asked is a parameter in a query or a header.
type asked struct {
	*openapi3.Parameter
	// source is the place of its value in answers, such as a version; nil for an input.
	source fieldPath
}

func (r *resource) field(property string) string {
	if name, ok := r.fields[property]; ok {
		return name
	}
	return property
}

func hasBody(o *operation) bool { return o != nil && o.body != nil && o.body.Value != nil }

// pathShape returns a path without the names of its parameters, and without a slash at the end.
func pathShape(path string) string {
	path, ext := cutExtension(path)
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/") + ext
}

// cutExtension splits a path without a slash at the end from the form of its answers, as /pets.json and /pets/{petId}.xml
// have one.
func cutExtension(path string) (base, ext string) {
	path = strings.TrimRight(path, "/")
	at := strings.LastIndexByte(path, '.')
	if at < 1 || at < strings.LastIndexByte(path, '/') || strings.ContainsAny(path[at:], "{}") ||
		path[at-1] != '}' && path[at:] != ".json" {
		return path, ""
	}
	return path[:at], path[at:]
}

// cutLast returns the collection of a path whose last segment is a parameter: /pets.json for /pets/{petId}.json.
func cutLast(path string) (collection string, ok bool) {
	path, ext := cutExtension(path)
	at := strings.LastIndexByte(path, '/')
	if at < 1 {
		return "", false
	}
	segment := path[at+1:]
	if len(segment) < 3 || segment[0] != '{' || strings.IndexByte(segment, '}') != len(segment)-1 {
		return "", false
	}
	return path[:at] + ext, true
}

// pathParameter is the name of a parameter in a path, with the word before it.
type pathParameter struct{ name, before string }

func pathParameters(path string) (list []pathParameter) {
	before := ""
	for segment := range strings.SplitSeq(path, "/") {
		begin, end := strings.IndexByte(segment, '{'), strings.IndexByte(segment, '}')
		if begin >= 0 && end > begin {
			list = append(list, pathParameter{segment[begin+1 : end], before})
		} else if words := wordsOf(strings.TrimSuffix(segment, ".json")); len(words) > 0 {
			words[len(words)-1] = singular(words[len(words)-1])
			before = lowerCamel(words)
		}
	}
	return list
}

// remarks are properties of an answer that are not part of the object.
var remarks = []string{"ok", "success", "error", "errors", "message", "messages", "warning", "warnings", "response metadata", "request id"}

// envelope returns the property of a response that has the resource: its only one, if that is an object; the object beside
// which it says whether it was successful; or the object that is called as the resource is, beside remarks and lists.
func envelope(ref *openapi3.SchemaRef, resource string) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	m := merge(ref.Value)
	var objects []string
	lists, scalars, flagged := 0, 0, false
	for name, inner := range m.properties {
		switch s := merge(inner.Value); {
		case named(flags, name) && slices.Equal(s.types, []string{openapi3.TypeBoolean}):
			flagged = true
		case named(remarks, name):
		case s.isObject() && len(s.properties) > 0:
			objects = append(objects, name)
		case s.isArray():
			lists++
		default:
			scalars++
		}
	}
	slices.Sort(objects)
	if len(objects) == 1 && (len(m.properties) == 1 || flagged && lists+scalars == 0) {
		return objects[0]
	}
	words := wordsOf(resource)
	for _, name := range objects {
		if scalars == 0 && len(words) > 0 && (sameName(name, resource) || sameName(name, words[len(words)-1])) {
			return name
		}
	}
	return ""
}

// besideEnvelope returns the properties that a response has only beside an envelope, without remarks.
func besideEnvelope(ref *openapi3.SchemaRef, envelope string) (list []string) {
	outer := merge(ref.Value)
	inner := outer.properties[envelope]
	if inner == nil {
		return nil
	}
	within := merge(inner.Value).properties
	for name := range outer.properties {
		if name != envelope && within[name] == nil && !named(remarks, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// inEnvelope returns the resource's part of a response: the properties in the envelope, and beside it.
func inEnvelope(ref *openapi3.SchemaRef, envelope string) *openapi3.SchemaRef {
	outer := merge(ref.Value)
	inner := outer.properties[envelope]
	if inner == nil {
		return ref
	}
	beside := besideEnvelope(ref, envelope)
	if len(beside) == 0 {
		return inner
	}
	m := merge(inner.Value)
	s := *inner.Value
	s.Properties = maps.Clone(m.properties)
	for _, name := range beside {
		s.Properties[name] = outer.properties[name]
	}
	s.AllOf, s.Required = nil, slices.Sorted(maps.Keys(m.required))
	s.Type = &openapi3.Types{openapi3.TypeObject}
	return &openapi3.SchemaRef{Value: &s}
}

// identifiers returns the parameters that identify the object of a read: the ones in its path, then the ones in its query whose
// place in answers the user gives. Without either, it is the only parameter that its query must have.
func (r *resource) identifiers() []pathParameter {
	list := pathParameters(r.read.path)
	var required []pathParameter
	for _, p := range r.read.parameters {
		if p.In != openapi3.ParameterInQuery {
			continue
		}
		if _, ok := r.overrides.ID[p.Name]; ok {
			list = append(list, pathParameter{name: p.Name})
		} else if p.Required {
			required = append(required, pathParameter{name: p.Name})
		}
	}
	if len(list) == 0 && len(required) == 1 {
		return required
	}
	return list
}

// identifies reports whether a parameter says which one an operation is about.
func (r *resource) identifies(name string) bool {
	return slices.ContainsFunc(r.path, func(v pathValue) bool { return v.parameter == name })
}

// describe describes a resource. The error says what the document does not: where an answer has the ID.
func (a *api) describe(r *resource) error {
	answer := inEnvelope(r.read.response, r.envelope)
	answer, err := r.marked(answer)
	if err != nil {
		return err
	}
	body, err := r.marked(r.create.body)
	if err != nil {
		return err
	}
	d := &description{api: a, resource: r, outputs: a.objectProperties(answer, answered, r.name), inputs: a.objectProperties(body, given, r.name)}
	r.created = nameSet(d.inputs)
	if err := d.updates(body); err != nil {
		return err
	}
	if err := d.sources(answer); err != nil {
		return err
	}
	if err := d.path(answer); err != nil {
		return err
	}
	d.parameters(answer)
	r.keyed = r.create.method == http.MethodPost && r.create.takesKey() && !nameSet(d.inputs)[keyInput] && !nameSet(d.outputs)[keyInput]
	if r.keyed {
		d.inputs = append(d.inputs, keyProperty())
	}
	byName := func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(d.inputs, byName)
	slices.SortFunc(d.outputs, byName)
	r.described = schema.Resource{
		Token: a.name + ":index:" + r.name, Description: firstOf(r.create.Description, r.create.Summary),
		Inputs: schema.Object{Properties: d.inputs}, Outputs: schema.Object{Properties: d.outputs}, Identity: d.identity(),
	}
	if r.create.Deprecated {
		r.described.Deprecation = "the service deprecates it"
	}
	return nil
}

// marked returns a schema with those properties marked that the user says are only read or only written.
func (r *resource) marked(ref *openapi3.SchemaRef) (*openapi3.SchemaRef, error) {
	var err error
	mark := func(paths []string, set func(*openapi3.Schema)) {
		for _, path := range paths {
			changed := marked(ref, fieldPathOf(path), set)
			if changed == nil && fieldPathOf(path).schema(r.create.body) == nil && fieldPathOf(path).schema(inEnvelope(r.read.response, r.envelope)) == nil {
				err = errors.New("there is no property " + path)
			}
			if changed != nil {
				ref = changed
			}
		}
	}
	mark(r.overrides.ReadOnly, func(s *openapi3.Schema) { s.ReadOnly, s.WriteOnly = true, false })
	mark(r.overrides.WriteOnly, func(s *openapi3.Schema) { s.WriteOnly, s.ReadOnly = true, false })
	return ref, err
}

// marked returns a copy of a schema in which a property is changed, nil if there is none. Other uses of the schema stay as
// they are.
func marked(ref *openapi3.SchemaRef, path fieldPath, set func(*openapi3.Schema)) *openapi3.SchemaRef {
	if ref == nil || ref.Value == nil {
		return nil
	}
	s := *ref.Value
	if len(path) == 0 {
		set(&s)
		return &openapi3.SchemaRef{Value: &s}
	}
	m := merge(ref.Value)
	inner := m.properties[path[0]]
	changed := marked(inner, path[1:], set)
	if changed == nil {
		return nil
	}
	s.Properties = openapi3.Schemas{}
	for name, p := range m.properties {
		s.Properties[name] = p
	}
	s.Properties[path[0]] = changed
	s.AllOf = nil
	s.Type = &openapi3.Types{openapi3.TypeObject}
	s.Required = nil
	for name := range m.required {
		s.Required = append(s.Required, name)
	}
	slices.Sort(s.Required)
	return &openapi3.SchemaRef{Value: &s}
}

// description is a resource that is being described.
type description struct {
	*api
	*resource
	inputs, outputs []schema.Property
}

func find(list []schema.Property, name string) *schema.Property {
	if i := slices.IndexFunc(list, func(p schema.Property) bool { return p.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// updates adds the properties of updates. A merge patch that does not say what it takes takes what a creation does.
func (d *description) updates(body *openapi3.SchemaRef) error {
	r := d.resource
	r.updated, r.bodies = map[string]bool{}, map[*operation]map[string]bool{}
	for _, o := range r.updates {
		update := o.body
		if m := merge(update.Value); len(m.properties) == 0 && (o.mediaType == document.MergePatch || m.isObject()) {
			update = body
		}
		update, err := r.marked(update)
		if err != nil {
			return err
		}
		properties := slices.DeleteFunc(d.objectProperties(update, given, r.name), func(p schema.Property) bool {
			return !r.created[p.Name] && r.inBody(o, p.Name)
		})
		r.bodies[o] = nameSet(properties)
		for _, p := range properties {
			r.updated[p.Name] = true
			if !r.created[p.Name] && find(d.inputs, p.Name) == nil {
				p.Required, p.Default = false, property.Null // creating the resource works without
				d.inputs = append(d.inputs, p)
			}
		}
	}
	return nil
}

// holders are some services' names of the object in an answer that has the inputs.
var holders = []string{"spec", "config", "configuration", "settings", "attributes", "properties", "definition"}

// sources finds where answers have inputs that they do not have under their names: as the user says, or all in one object.
func (d *description) sources(answer *openapi3.SchemaRef) error {
	r := d.resource
	add := func(name string, path fieldPath) bool {
		input := find(d.inputs, name)
		ref := path.schema(answer)
		if input == nil || ref == nil {
			return false
		}
		r.sources[name] = path
		p := d.types.property(name, ref, answered, r.name+upperCamel(wordsOf(name)))
		if at := find(d.outputs, name); at != nil {
			*at = p
		} else {
			d.outputs = append(d.outputs, p)
		}
		return true
	}
	for name, path := range r.overrides.Properties {
		if !add(name, fieldPathOf(path)) {
			return errors.New("properties." + name + ": " + name + " is an input, and " + path + " is where answers have it; one of them is not in the document")
		}
	}
	var absent []string
	for _, p := range d.inputs {
		if find(d.outputs, p.Name) == nil && !p.WriteOnly && !d.alias(p.Name) {
			absent = append(absent, p.Name)
		}
	}
	m := merge(answer.Value)
	for name, inner := range m.properties {
		if inner.Value == nil || !slices.ContainsFunc(holders, func(h string) bool { return sameName(h, name) }) {
			continue
		}
		var held []string
		for _, p := range absent {
			if merge(inner.Value).properties[p] != nil {
				held = append(held, p)
			}
		}
		if len(held) > 0 && 2*len(held) >= len(absent) {
			for _, p := range held {
				add(p, fieldPath{name, p})
			}
			break
		}
	}
	return nil
}

// alias finds an output that is called as an input is but for how the name is written, as friendly_name for FriendlyName, and
// has it under the name of the input.
func (d *description) alias(input string) bool {
	var same []int
	for i, p := range d.outputs {
		if sameName(p.Name, input) && find(d.inputs, p.Name) == nil {
			same = append(same, i)
		}
	}
	if len(same) != 1 || reserved(input) {
		return false
	}
	p := &d.outputs[same[0]]
	d.resource.sources[input] = fieldPath{p.Name}
	p.Name = input
	return true
}

// path finds the places of the path's values, and adds the ones that programs give to the inputs and outputs.
func (d *description) path(answer *openapi3.SchemaRef) error {
	r := d.resource
	made := r.create.response
	if made != nil && made.Value != nil {
		made = inEnvelope(made, r.envelope)
	}
	parameters := r.identifiers()
	if len(parameters) == 0 {
		return errors.New("nothing in " + r.read.name() + " says which one it reads; name the parameter in its id, as {channel: channel.id}")
	}
	inCreate := map[int]bool{}
	var outside []string
	for i, q := range pathParameters(r.create.path) {
		if at := r.indexOf(r.create, i, q.name); at >= 0 {
			inCreate[at] = true
		} else {
			outside = append(outside, r.outside(q))
		}
	}
	for i, q := range parameters {
		last := i == len(parameters)-1
		v := pathValue{parameter: q.name, made: idPath(made, q.name, r.name, last), found: idPath(answer, q.name, r.name, last)}
		if path, ok := r.overrides.ID[q.name]; ok {
			v.made, v.found = fieldPathOf(path), fieldPathOf(path)
		} else if path, ok := r.overrides.ID[""]; ok && last {
			v.made, v.found = fieldPathOf(path), fieldPathOf(path)
		}
		switch nested := idPath(r.create.body, q.name, r.name, false); {
		case inCreate[i] && len(nested) == 2:
			v.input = nested
		case inCreate[i]:
			name := q.name
			if reserved(name) && last {
				name = r.named(name)
			} else if reserved(name) {
				name = q.before + upperCamel(wordsOf(name))
			}
			v.input, v.property = fieldPath{name}, name
		case v.made == nil && v.found == nil && !last:
			return errors.New("no answer has the " + q.name + " of its path; say in its id where that is")
		}
		r.path = append(r.path, v)
	}
	last := &r.path[len(r.path)-1]
	for _, v := range r.path {
		if len(v.input) > 1 {
			r.fixed = append(r.fixed, v.input)
		}
	}
	if len(last.found) > 1 && last.found.schema(r.create.body) != nil {
		r.fixed = append(r.fixed, last.found)
	}
	for i := range d.inputs {
		p := &d.inputs[i]
		p.Replace = len(r.updates) > 0 && !r.updated[p.Name] || len(last.found) == 1 && p.Name == last.found[0]
		p.Computed = !p.Required && !p.HasDefault() && find(d.outputs, p.Name) != nil
	}
	for i := range d.outputs {
		d.outputs[i].Stable = len(last.found) == 1 && d.outputs[i].Name == last.found[0]
	}
	r.renameReserved(d.inputs, d.outputs)
	for i, v := range r.path {
		if v.property != "" {
			if find(d.outputs, v.property) == nil {
				d.alias(v.property)
			}
			d.add(v.property, r.read.parameter(openapi3.ParameterInPath, parameters[i].name))
		}
	}
	for _, name := range outside {
		if find(d.outputs, name) == nil {
			d.alias(name)
		}
		d.add(name, r.create.parameter(openapi3.ParameterInPath, name))
	}
	return nil
}

// add adds a parameter that programs must give to the inputs and outputs.
func (d *description) add(name string, p *openapi3.Parameter) {
	for _, list := range []*[]schema.Property{&d.inputs, &d.outputs} {
		if at := find(*list, name); at != nil {
			if list == &d.inputs {
				at.Required, at.Computed, at.Replace = true, false, true
			}
			continue
		}
		described := d.parameterProperty(name, p)
		described.Required, described.Replace, described.Stable = true, list == &d.inputs, list == &d.outputs
		*list = append(*list, described)
	}
}

// parameters adds the parameters of queries and headers: required ones, the ones that the user wants, and a name.
func (d *description) parameters(answer *openapi3.SchemaRef) {
	r := d.resource
	for _, o := range append([]*operation{r.create, r.read, r.remove}, r.updates...) {
		for _, p := range o.parameters {
			if p.In == openapi3.ParameterInPath || reserved(p.Name) || ownHeader(p) || isKeyHeader(p) || o != r.create && r.identifies(p.Name) ||
				slices.ContainsFunc(r.asked, func(a asked) bool { return a.Name == p.Name && a.In == p.In }) {
				continue
			}
			wanted := slices.Contains(r.overrides.Parameters, p.Name) || o == r.create && p.In == openapi3.ParameterInQuery && p.Name == "name"
			switch source := versionPath(answer, p.Name); {
			case p.Required && r.create.parameter(p.In, p.Name) == nil && source != nil:
				r.asked = append(r.asked, asked{p, source})
			case p.Required:
				r.asked = append(r.asked, asked{Parameter: p})
				d.add(p.Name, p)
			case wanted && find(d.inputs, p.Name) == nil:
				r.asked = append(r.asked, asked{Parameter: p})
				described := d.parameterProperty(p.Name, p)
				described.Replace = true
				d.inputs = append(d.inputs, described)
			}
		}
	}
}

// versionPath returns where an answer has the value of a parameter that only an update or a deletion needs, such as the version
// of the object: in a property of the name, or in the only part of an object of the name.
func versionPath(answer *openapi3.SchemaRef, parameter string) fieldPath {
	if at := idPath(answer, parameter, "", false); at != nil {
		return at
	}
	for name, inner := range merge(answer.Value).properties {
		if inner.Value == nil || !sameName(name, parameter) {
			continue
		}
		if parts := merge(inner.Value).properties; len(parts) == 1 {
			for part := range parts {
				return fieldPath{name, part}
			}
		}
	}
	return nil
}

// identity returns the inputs that identify a resource. A replacement at a path of the program's choice would overwrite the old
// object.
func (d *description) identity() []string {
	r := d.resource
	last := r.path[len(r.path)-1]
	name := ""
	switch given := nameSet(d.inputs); {
	case last.input != nil:
		name = last.input[0]
	case last.found != nil && given[last.found[0]]:
		name = last.found[0]
	case r.keyed:
		return []string{keyInput}
	default:
		return nil
	}
	list := []string{name}
	for _, v := range r.path[:len(r.path)-1] {
		if v.input != nil {
			list = append(list, v.input[0])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// objectProperties returns the properties of a resource or of the result of a function.
func (a *api) objectProperties(ref *openapi3.SchemaRef, way direction, hint string) []schema.Property {
	return a.types.properties(merge(ref.Value), way, hint)
}

func nameSet(list []schema.Property) map[string]bool {
	set := map[string]bool{}
	for _, p := range list {
		set[p.Name] = true
	}
	return set
}

// reserved reports whether every resource has a property of the name.
func reserved(name string) bool { return name == "id" || name == "urn" }

// renameReserved gives properties with such a name the resource's name, too: petId.
func (r *resource) renameReserved(inputs, outputs []schema.Property) {
	for _, old := range []string{"id", "urn"} {
		renamed := r.named(old)
		for nameSet(inputs)[renamed] || nameSet(outputs)[renamed] {
			renamed += "_"
		}
		for _, list := range [][]schema.Property{inputs, outputs} {
			for i := range list {
				if list[i].Name == old {
					list[i].Name = renamed
					r.fields[renamed] = old
				}
			}
		}
		sets := []map[string]bool{r.created, r.updated}
		for _, set := range r.bodies {
			sets = append(sets, set)
		}
		for _, set := range sets {
			if set[old] {
				delete(set, old)
				set[renamed] = true
			}
		}
	}
}

// named returns a name with the resource's own before it.
func (r *resource) named(name string) string { return lowerCamel(append(wordsOf(r.name), name)) }

// parameterProperty returns a parameter as a property. An integer may also be text, such as the ID of
// another resource.
func (a *api) parameterProperty(name string, p *openapi3.Parameter) schema.Property {
	ref := &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeString}}}
	described := ""
	if p != nil {
		described = p.Description
		if p.Schema != nil && p.Schema.Value != nil {
			ref = p.Schema
		}
	}
	property := a.types.property(name, ref, given, upperCamel(wordsOf(name)))
	if property.Description == "" {
		property.Description = described
	}
	if property.Type.Kind == schema.KindInteger && len(property.OneOf) == 0 {
		property.Type = &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{property.Type, {Kind: schema.KindString}}}
		property.Minimum, property.Maximum = nil, nil
	}
	return property
}

// ownHeader reports whether the client sets the header by itself. OpenAPI ignores such parameters, too.
func ownHeader(p *openapi3.Parameter) bool {
	return p.In == openapi3.ParameterInCookie || p.In == openapi3.ParameterInHeader &&
		slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name))
}
