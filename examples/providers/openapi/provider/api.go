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

func derive(doc *document, name string) (*api, error) {
	spec := doc.spec
	a := &api{
		name: name, version: semanticVersion(spec.Info.Version), info: spec.Info,
		types: &types{pkg: name, objects: map[objectKey]*schema.Object{}, tokens: names{}, open: map[*openapi3.Schema]bool{}},
	}
	if len(spec.Servers) > 0 && strings.Contains(spec.Servers[0].URL, "://") {
		a.server = strings.TrimRight(spec.Servers[0].URL, "/")
	}
	a.auth = newAuth(spec.Components.SecuritySchemes)
	a.client = &client{pkg: name, auth: a.auth}

	operations := operationsOf(spec)
	read := a.deriveResources(operations)
	a.deriveFunctions(operations, read)
	if len(a.resources)+len(a.functions) == 0 {
		return nil, guest.InvalidArgument("", "the document describes nothing that can be used: a resource has a path such as /pets with POST and one such as /pets/{petId} with GET and DELETE; "+
			"functions are the other GET operations; bodies must be JSON")
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
	// body is what is sent as JSON, under this media type; nil if there is nothing.
	body      *openapi3.SchemaRef
	mediaType string
	// response is the JSON that is answered; nil if there is none.
	response *openapi3.SchemaRef
	// security are the alternative sets of schemes that authorize the operation.
	security openapi3.SecurityRequirements
}

type paths map[string]map[string]*operation

func operationsOf(spec *openapi3.T) paths {
	all := paths{}
	for path, item := range spec.Paths.Map() {
		all[path] = map[string]*operation{}
		for method, described := range item.Operations() {
			o := &operation{method: method, path: path, Operation: described, security: spec.Security}
			if described.Security != nil {
				o.security = *described.Security
			}
			o.addParameters(item.Parameters)
			o.addParameters(described.Parameters)
			o.body, o.mediaType = requestBody(described, method)
			o.response = responseBody(described)
			all[path][method] = o
		}
	}
	return all
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

// jsonMedia finds the JSON among the forms of a body. Patches of RFC 6902 are lists of operations,
// which no resource can have.
func jsonMedia(content openapi3.Content) (string, *openapi3.SchemaRef) {
	for _, name := range slices.SortedFunc(maps.Keys(content), func(a, b string) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(a, b))
	}) {
		if media := content[name]; preference(name) < noJSON && media != nil && media.Schema != nil {
			if preference(name) == anyMedia {
				name = "application/json"
			}
			return name, media.Schema
		}
	}
	return "", nil
}

// How well a media type suits, the best first.
const (
	plainJSON = iota
	mergePatch
	otherJSON
	anyMedia
	noJSON
)

func preference(media string) int {
	media, _, _ = strings.Cut(media, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case media == "application/json":
		return plainJSON
	case media == "application/merge-patch+json":
		return mergePatch
	case media == "application/json-patch+json":
		return noJSON
	case strings.HasSuffix(media, "+json"):
		return otherJSON
	case media == "*/*" || media == "application/*":
		return anyMedia
	}
	return noJSON
}

func requestBody(o *openapi3.Operation, method string) (*openapi3.SchemaRef, string) {
	if o.RequestBody == nil || o.RequestBody.Value == nil || method == http.MethodGet || method == http.MethodDelete {
		return nil, ""
	}
	name, body := jsonMedia(o.RequestBody.Value.Content)
	return body, name
}

// responseBody returns the body of the first response that is a success.
func responseBody(o *openapi3.Operation) *openapi3.SchemaRef {
	all := o.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(all)) { // 200, 201, ..., default
		response := all[status].Value
		if response == nil || !strings.HasPrefix(status, "2") && status != "default" {
			continue
		}
		if _, body := jsonMedia(response.Content); body != nil {
			return body
		}
	}
	return nil
}
