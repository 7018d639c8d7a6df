package provider

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// resource is a type of resource: the members of a collection, or a path to PUT to.
type resource struct {
	client    *client
	name      string
	described schema.Resource

	create, read, remove *operation
	// update is nil if the resource can only be replaced.
	update *operation
	// parents are the properties with the values in the path, in its order, without the last.
	parents []string
	// last is the name of the path's last parameter.
	last string
	// chosen is the property with the last value in the path if the program chooses it.
	chosen string
	// idField is the field of a response with the last value in the path; empty for the header Location.
	idField string
	// envelope is the field of answers that the resource is in; empty for none.
	envelope string
	// fields are the names in JSON of the properties that have others there.
	fields map[string]string
	// created and updated are the properties that the operations' bodies have.
	created, updated map[string]bool
	// keyed says that a creation has an idempotency key, which is an input.
	keyed bool
	// asked are the parameters in queries and headers that operations require.
	asked []*openapi3.Parameter
}

func (r *resource) field(property string) string {
	if name, ok := r.fields[property]; ok {
		return name
	}
	return property
}

// deriveResources finds the resources, and returns the operations that read them.
func (a *api) deriveResources(all paths) (read map[*operation]bool) {
	read = map[*operation]bool{}
	byShape := map[string]string{}
	for path := range all {
		byShape[pathShape(path)] = path
	}
	taken := names{}
	items := slices.Collect(maps.Keys(all))
	// Shorter paths have the better claim to a name.
	slices.SortFunc(items, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, item := range items {
		prefix, last, ok := cutLast(item)
		if !ok {
			continue
		}
		r := &resource{client: a.client, read: all[item][http.MethodGet], remove: all[item][http.MethodDelete], last: last, fields: map[string]string{}}
		put, patch := all[item][http.MethodPut], all[item][http.MethodPatch]
		if r.create = all[byShape[pathShape(prefix)]][http.MethodPost]; r.create == nil || r.create.body == nil {
			r.create = put
		}
		switch {
		case hasBody(patch):
			r.update = patch
		case hasBody(put):
			r.update = put
		}
		if r.read == nil || r.remove == nil || !hasBody(r.create) || r.read.response == nil || !merge(r.create.body.Value).isObject() {
			continue
		}
		if r.envelope = envelope(r.read.response); !merge(r.inside(r.read.response).Value).isObject() {
			continue
		}
		r.name = taken.take(resourceName(item, false), resourceName(item, true))
		if r.name == "" {
			continue
		}
		read[r.read] = true
		a.describe(r)
		a.resources = append(a.resources, r)
	}
	return read
}

func hasBody(o *operation) bool { return o != nil && o.body != nil && o.body.Value != nil }

// pathShape returns a path without the names of its parameters, and without a slash at the end.
func pathShape(path string) string {
	segments := strings.Split(strings.TrimRight(path, "/"), "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// cutLast splits a path whose last segment is a parameter.
func cutLast(path string) (prefix, parameter string, ok bool) {
	path = strings.TrimRight(path, "/")
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", "", false
	}
	prefix, segment := path[:at], path[at+1:]
	if len(segment) < 3 || segment[0] != '{' || strings.IndexByte(segment, '}') != len(segment)-1 {
		return "", "", false
	}
	return prefix, segment[1 : len(segment)-1], prefix != ""
}

// pathParameters returns the names of the parameters in a path, with the word before each.
func pathParameters(path string) (list []struct{ name, before string }) {
	before := ""
	for segment := range strings.SplitSeq(path, "/") {
		begin, end := strings.IndexByte(segment, '{'), strings.IndexByte(segment, '}')
		if begin >= 0 && end > begin {
			list = append(list, struct{ name, before string }{segment[begin+1 : end], before})
		} else if words := wordsOf(segment); len(words) > 0 {
			words[len(words)-1] = singular(words[len(words)-1])
			before = lowerCamel(words)
		}
	}
	return list
}

// envelope returns the name of a response's only property if it is an object.
func envelope(ref *openapi3.SchemaRef) string {
	m := merge(ref.Value)
	if len(m.properties) != 1 {
		return ""
	}
	for name, inner := range m.properties {
		if merge(inner.Value).isObject() && len(merge(inner.Value).properties) > 0 {
			return name
		}
	}
	return ""
}

// inside returns the schema in the envelope.
func (r *resource) inside(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if inner := merge(ref.Value).properties[r.envelope]; r.envelope != "" && inner != nil {
		return inner
	}
	return ref
}

func (a *api) describe(r *resource) {
	answer := r.inside(r.read.response)
	outputs := a.objectProperties(answer, answered, r.name)
	inputs := a.objectProperties(r.create.body, given, r.name)
	r.created = nameSet(inputs)
	r.updated = map[string]bool{}
	if r.update != nil {
		updates := a.objectProperties(r.update.body, given, r.name)
		r.updated = nameSet(updates)
		for _, p := range updates {
			if !r.created[p.Name] {
				p.Required, p.Default = false, property.Null // creating the resource works without
				inputs = append(inputs, p)
			}
		}
	}
	r.idField = idField(outputs, r.last, r.name)
	for i := range inputs {
		p := &inputs[i]
		p.Replace = r.update != nil && !r.updated[p.Name] || p.Name == r.idField
		p.Computed = !p.Required && !p.HasDefault() && slices.ContainsFunc(outputs, func(o schema.Property) bool { return o.Name == p.Name })
	}
	for i := range outputs {
		outputs[i].Stable = outputs[i].Name == r.idField
	}
	r.renameReserved(inputs, outputs)

	add := func(name string, p *openapi3.Parameter) string {
		for _, list := range []*[]schema.Property{&inputs, &outputs} {
			if at := slices.IndexFunc(*list, func(p schema.Property) bool { return p.Name == name }); at >= 0 {
				if list == &inputs {
					inputs[at].Required, inputs[at].Computed, inputs[at].Replace = true, false, true
				}
				continue
			}
			described := a.parameterProperty(name, p)
			described.Required, described.Replace, described.Stable = true, list == &inputs, list == &outputs
			*list = append(*list, described)
		}
		return name
	}
	parameters := pathParameters(r.read.path)
	for i, q := range parameters {
		name := q.name
		if i < len(parameters)-1 {
			if reserved(name) {
				name = q.before + upperCamel(wordsOf(name))
			}
			r.parents = append(r.parents, add(name, r.read.parameter(openapi3.ParameterInPath, q.name)))
		} else if r.create.method == http.MethodPut {
			if reserved(name) {
				name = r.named(name)
			}
			r.chosen = add(name, r.read.parameter(openapi3.ParameterInPath, q.name))
		}
	}
	for _, o := range []*operation{r.create, r.read, r.update, r.remove} {
		if o == nil {
			continue
		}
		for _, p := range o.parameters {
			if p.Required && p.In != openapi3.ParameterInPath && !reserved(p.Name) && !ownHeader(p) && !isKeyHeader(p) {
				r.asked = append(r.asked, p)
				add(p.Name, p)
			}
		}
	}
	r.keyed = r.create.method == http.MethodPost && r.create.takesKey() && !nameSet(inputs)[keyInput] && !nameSet(outputs)[keyInput]
	if r.keyed {
		inputs = append(inputs, keyProperty())
	}
	byName := func(a, b schema.Property) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(inputs, byName)
	slices.SortFunc(outputs, byName)
	described := r.create.Description
	if described == "" {
		described = r.create.Summary
	}
	r.described = schema.Resource{
		Token: a.name + ":index:" + r.name, Description: described,
		Inputs: schema.Object{Properties: inputs}, Outputs: schema.Object{Properties: outputs},
	}
	// What the program puts at a path of its choice it would put over the old one.
	last := r.chosen
	if given := nameSet(inputs); last == "" && given[r.idField] {
		last = r.idField
	}
	switch {
	case last != "":
		r.described.Identity = append(slices.Clone(r.parents), last)
		slices.Sort(r.described.Identity)
	case r.keyed:
		r.described.Identity = []string{keyInput}
	}
	if r.create.Deprecated {
		r.described.Deprecation = "the service deprecates it"
	}
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
		for _, set := range []map[string]bool{r.created, r.updated} {
			if set[old] {
				delete(set, old)
				set[renamed] = true
			}
		}
	}
}

// named returns a name with the resource's own before it.
func (r *resource) named(name string) string { return lowerCamel(append(wordsOf(r.name), name)) }

// idField returns the field of a response with the value of the path's last parameter: petId, or id, or
// name for petName.
func idField(fields []schema.Property, parameter, resource string) string {
	matches := func(same func(name string) bool) string {
		for _, f := range fields {
			if f.Type.Kind != schema.KindObject && f.Type.Kind != schema.KindArray && f.Type.Kind != schema.KindMap && same(f.Name) {
				return f.Name
			}
		}
		return ""
	}
	words := wordsOf(resource)
	for _, same := range []func(string) bool{
		func(name string) bool { return name == parameter },
		func(name string) bool { return sameName(name, parameter) },
		func(name string) bool { return sameName(words[len(words)-1]+" "+name, parameter) },
		func(name string) bool { return name == "id" },
	} {
		if name := matches(same); name != "" {
			return name
		}
	}
	return ""
}

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
