package provider

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type api struct {
	name    string
	version string
	info    *openapi3.Info
	types   *types
	auth    *auth
	// server is the URL of the service, unless it is configured; empty for none.
	server    string
	client    *client
	resources []*resource
	functions []*function
}

func derive(doc *document.Document, name string) (*api, error) {
	spec := doc.Spec
	a := &api{
		name: name, version: semanticVersion(spec.Info.Version), info: spec.Info,
		types: &types{
			pkg: name, objects: map[objectKey]*schema.Object{}, tokens: names{}, open: map[*openapi3.Schema]bool{},
			same: map[*openapi3.Schema]bool{},
		},
	}
	a.server = doc.Server
	a.auth = newAuth(spec.Components.SecuritySchemes)
	a.client = &client{pkg: name, auth: a.auth}

	operations := operationsOf(spec)
	read, err := a.deriveResources(operations, doc.Overrides.Resources)
	if err != nil {
		return nil, err
	}
	a.deriveFunctions(operations, read)
	if len(a.resources)+len(a.functions) == 0 {
		text := "the document describes nothing that can be used: a resource has a path such as /pets with POST and one such as /pets/{petId} with GET and DELETE; " +
			"functions are the other GET operations; bodies must be JSON or forms, and answers JSON"
		for _, skipped := range doc.Skipped[:min(len(doc.Skipped), manySkipped)] {
			text += "\n" + skipped.String()
		}
		return nil, guest.InvalidArgument("", text)
	}
	return a, nil
}

// semanticVersion returns the document's version as packages have one.
func semanticVersion(text string) string {
	if v, err := semver.ParseTolerant(text); err == nil {
		return v.String()
	}
	return "0.0.0"
}

func (a *api) provider() guest.Provider {
	p := guest.Provider{
		Name: a.name, Version: a.version, DisplayName: a.info.Title, Description: a.info.Description,
		Config: guest.ConfigFrom(a.config(), func(_ context.Context, config property.Map) error {
			return a.client.configure(config, a.server)
		}),
	}
	for _, r := range a.resources {
		p.Resources = append(p.Resources, guest.ResourceFrom(r.described, r.implementation()))
	}
	for _, f := range a.functions {
		p.Functions = append(p.Functions, guest.FunctionFrom(f.described, f.call))
	}
	p.Types = a.types.sorted()
	return p
}

type operation struct {
	method string
	path   string
	*openapi3.Operation
	// parameters are of the path and of the operation, sorted by place and name.
	parameters []*openapi3.Parameter
	// body is the schema of the request's body, under this media type; nil if there is none. encoding says how the fields of a
	// form are written.
	body      *openapi3.SchemaRef
	mediaType string
	encoding  map[string]*openapi3.Encoding
	// response is the JSON of the answer; nil if there is none. gone are its values for a deleted object.
	response *openapi3.SchemaRef
	gone     document.Conditions
	// security are the alternative sets of schemes that authorize the operation.
	security openapi3.SecurityRequirements
}

// paths are the operations of a document.
type paths struct {
	// all are the operations by path and method, and sorted the paths in order.
	all    map[string]map[string]*operation
	sorted []string
	// shapes are the paths by their shape, and numbered those by the shape of their parent and their last word in the
	// singular.
	shapes   map[string]string
	numbered map[[2]string][]string
	// last are the paths by their last word in the singular.
	last map[string][]string
}

func operationsOf(spec *openapi3.T) *paths {
	p := &paths{all: map[string]map[string]*operation{}, shapes: map[string]string{}, numbered: map[[2]string][]string{}, last: map[string][]string{}}
	items := spec.Paths.Map()
	p.sorted = slices.Sorted(maps.Keys(items))
	for _, path := range p.sorted {
		item := items[path]
		p.all[path] = map[string]*operation{}
		for method, described := range item.Operations() {
			o := &operation{method: method, path: path, Operation: described, security: spec.Security}
			if described.Security != nil {
				o.security = *described.Security
			}
			o.addParameters(item.Parameters)
			o.addParameters(described.Parameters)
			o.takeBody()
			o.response, o.gone = existing(responseBody(described))
			p.all[path][method] = o
		}
		if shape := pathShape(path); p.shapes[shape] == "" {
			p.shapes[shape] = path
		}
		if above, segment, ok := cutSegment(path); ok {
			if n := number(segment); n != "" {
				key := [2]string{pathShape(above), n}
				p.numbered[key] = append(p.numbered[key], path)
				p.last[n] = append(p.last[n], path)
			}
		}
	}
	return p
}

// addParameters adds parameters; later ones take the place of earlier ones.
func (o *operation) addParameters(list openapi3.Parameters) {
	for _, ref := range list {
		p := ref.Value
		if p == nil {
			continue
		}
		o.parameters = slices.DeleteFunc(o.parameters, func(other *openapi3.Parameter) bool { return other.In == p.In && other.Name == p.Name })
		o.parameters = append(o.parameters, p)
	}
	slices.SortFunc(o.parameters, func(a, b *openapi3.Parameter) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Name, b.Name))
	})
}

// parameter returns the operation's parameter of that name; nil if there is none.
func (o *operation) parameter(in, name string) *openapi3.Parameter {
	for _, p := range o.parameters {
		if p.In == in && p.Name == name {
			return p
		}
	}
	return nil
}

// takeBody finds what the operation sends.
func (o *operation) takeBody() {
	if o.RequestBody == nil || o.RequestBody.Value == nil || o.method == http.MethodGet || o.method == http.MethodDelete {
		return
	}
	name, media := document.Body(o.RequestBody.Value.Content)
	switch {
	case media == nil:
	case document.IsForm(name):
		o.mediaType, o.body, o.encoding = name, withoutFiles(media.Schema), media.Encoding
	default:
		o.mediaType, o.body = name, media.Schema
	}
}

// isForm reports whether the operation takes a form.
func (o *operation) isForm() bool { return document.IsForm(o.mediaType) }

// responseBody returns the body of the first response that is a success.
func responseBody(o *openapi3.Operation) *openapi3.SchemaRef {
	all := o.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(all)) { // 200, 201, ..., default
		response := all[status].Value
		if response == nil || !strings.HasPrefix(status, "2") && status != "default" {
			continue
		}
		if _, body := document.JSON(response.Content); body != nil {
			return body
		}
	}
	return nil
}

// existing returns the schema of an answer that may be one of several objects: one says that the object was deleted, by a
// property that is always true then; the properties of the others are taken together.
func existing(ref *openapi3.SchemaRef) (*openapi3.SchemaRef, document.Conditions) {
	if ref == nil || ref.Value == nil || len(merge(ref.Value).properties) > 0 {
		return ref, nil
	}
	alternatives := slices.Concat(ref.Value.OneOf, ref.Value.AnyOf)
	var gone document.Conditions
	var others openapi3.SchemaRefs
	for _, one := range alternatives {
		if one.Value == nil || !merge(one.Value).isObject() {
			return ref, nil
		}
		if c := deletion(merge(one.Value)); c != nil && len(alternatives) > 1 {
			gone = c
		} else {
			others = append(others, one)
		}
	}
	switch len(others) {
	case 0:
		return ref, nil
	case 1:
		return others[0], gone
	}
	s := &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeObject}, Description: ref.Value.Description, Properties: openapi3.Schemas{}}
	always := merge(others[0].Value).required
	for _, one := range others {
		m := merge(one.Value)
		for name, p := range m.properties {
			if s.Properties[name] == nil {
				s.Properties[name] = p
			}
		}
		maps.DeleteFunc(always, func(name string, _ bool) bool { return !m.required[name] })
	}
	s.Required = slices.Sorted(maps.Keys(always))
	return &openapi3.SchemaRef{Value: s}, gone
}

// deletion returns the conditions under which an object says that it was deleted, nil if it does not.
func deletion(m *merged) document.Conditions {
	p := m.properties["deleted"]
	if p == nil || p.Value == nil || !m.required["deleted"] || !alwaysTrue(p.Value) {
		return nil
	}
	return document.Conditions{"deleted": {true}}
}

func alwaysTrue(s *openapi3.Schema) bool {
	return s.Const == true || len(s.Enum) == 1 && s.Enum[0] == true
}
