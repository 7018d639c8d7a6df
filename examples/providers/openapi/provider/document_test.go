package provider

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/examples/providers/openapi/document"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

// written returns a document in a file of its own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// packageOf returns the package that a document describes.
func packageOf(t *testing.T, source string) *schema.Package {
	t.Helper()
	made, err := parameterize(t.Context(), guest.Parameters{Args: []string{source, "test"}})
	require.NoError(t, err)
	p, err := guest.New(made.Provider)
	require.NoError(t, err)
	r, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.NoError(t, metaschema.Validate([]byte(r.Schema)))
	pkg, err := schemajson.Parse([]byte(r.Schema))
	require.NoError(t, err)
	return pkg
}

func TestSwagger(t *testing.T) {
	made, err := parameterize(t.Context(), guest.Parameters{Args: []string{"testdata/swagger.json"}})
	require.NoError(t, err)
	require.Equal(t, "library", made.Provider.Name)
	require.Equal(t, "1.0.0", made.Provider.Version)
	again, err := parameterize(t.Context(), guest.Parameters{Name: "library", Value: made.Value})
	require.NoError(t, err)
	require.Equal(t, made.Value, again.Value)
	require.Equal(t, len(made.Provider.Resources), len(again.Provider.Resources))

	pkg := packageOf(t, "testdata/swagger.json")
	require.Equal(t, "https://books.example.org/api", text(pkg.Config.Property("baseUrl").Default))
	require.Equal(t, []string{"apiKey", "baseUrl", "headers", "maxRetries", "password", "username"}, pkg.Config.Names())
	book := pkg.Resource("test:index:Book")
	require.Equal(t, []string{"isbn", "pages", "title"}, book.Inputs.Names())
	require.True(t, book.Inputs.Property("isbn").Replace, "it is in the path")
	require.False(t, book.Inputs.Property("title").Replace)
	require.Equal(t, 1.0, *book.Inputs.Property("pages").Minimum)
}

func TestDocumentOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"api.yaml":           strings.ReplaceAll(things, "{type: object, properties: {size: {type: integer}}}", "{$ref: 'schemas/thing.yaml'}"),
		"schemas/thing.yaml": "type: object\nproperties: {size: {$ref: 'size.json#/size'}}",
		"schemas/size.json":  `{"size": {"type": "number"}}`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	made, err := parameterize(t.Context(), guest.Parameters{Args: []string{filepath.Join(dir, "api.yaml")}})
	require.NoError(t, err)
	require.NotContains(t, string(made.Value), dir)
	require.NoError(t, os.RemoveAll(dir))
	again, err := parameterize(t.Context(), guest.Parameters{Name: "things", Value: made.Value})
	require.NoError(t, err)
	require.Equal(t, made.Value, again.Value)
	require.Len(t, again.Provider.Resources, 1)
}

// things is a small document.
const things = `
openapi: 3.1.0
info: {title: Things, version: 2024-05-01}
servers: [{url: "https://{region}.example.org/", variables: {region: {default: eu}}}]
paths:
  /v1/things:
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {size: {type: integer}}}}}}
      responses: {"201": {description: It., headers: {Location: {schema: {type: string}}}}}
  /v1/things/{key}:
    get:
      responses: {"200": {description: It., content: {application/vnd.things+json: {schema: {type: object, properties: {size: {type: integer}}}}}}}
    delete: {responses: {"204": {description: It is gone.}}}
`

func TestDocument31(t *testing.T) {
	pkg := packageOf(t, written(t, "things.yaml", things))
	require.Equal(t, "0.0.0", pkg.Version, "a date is no version")
	require.Equal(t, "https://eu.example.org", text(pkg.Config.Property("baseUrl").Default))
	thing := pkg.Resource("test:index:Thing")
	require.Equal(t, []string{"size"}, thing.Outputs.Names())
	require.True(t, thing.Inputs.Property("size").Replace, "there is nothing to change it with")
}

func TestDocumentsThatCannotBeUsed(t *testing.T) {
	for want, content := range map[string]string{
		"it is neither JSON nor YAML":                                                                      "a: [",
		"it is not an OpenAPI document: it has no openapi":                                                 "a: b",
		"it is not an OpenAPI document: it is not an object":                                               "[1, 2]",
		"its version is 1.2; versions 2.0 (Swagger) and 3":                                                 "swagger: '1.2'",
		"it has no info with a title and a version":                                                        "openapi: 3.0.0\npaths: {/a: {get: {responses: {}}}}",
		"there is nothing at paths./a.get.responses.200.content.application/json, where an object must be": "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {'200': {description: A, content: {application/json: }}}}}}",
		"it has no paths": "openapi: 3.0.0\ninfo: {title: A, version: '1'}",
		"describes nothing that can be used: a resource has":         "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {}}}}",
		"it refers to #/components/schemas/None, which is not there": strings.ReplaceAll(things, "{type: integer}", "{$ref: '#/components/schemas/None'}"),
		"no-such-file.yaml": strings.ReplaceAll(things, "{type: integer}", "{$ref: 'no-such-file.yaml'}"),
		"the name of a package has lower-case letters, digits, and": strings.ReplaceAll(things, "title: Things", "title: '7'"),
	} {
		_, err := parameterize(t.Context(), guest.Parameters{Args: []string{written(t, "a.yaml", content)}})
		require.ErrorIs(t, err, abi.ErrInvalidArgument, content)
		require.ErrorContains(t, err, want)
	}
	for want, args := range map[string][]string{
		"the parameters are the document, as a file or a URL": {},
		"the parameters are the document":                     {"a", "b", "c", "d"},
		"the name of a package has lower-case letters":        {"testdata/petstore.yaml", "Pet Store"},
		"no such file or directory":                           {"testdata/none.yaml"},
	} {
		_, err := parameterize(t.Context(), guest.Parameters{Args: args})
		require.ErrorContains(t, err, want)
	}
	_, err := parameterize(t.Context(), guest.Parameters{Name: "a", Value: []byte("{")})
	require.ErrorContains(t, err, "the document in the state: ")
}

// circular are documents with a part that is described by nothing but itself, by the reference
// that an error names.
func circular() map[string][]string {
	const head = "openapi: 3.0.0\ninfo: {title: A, version: '1'}\n"
	const swagger = "swagger: '2.0'\ninfo: {title: A, version: '1'}\n"
	get := func(schema string) string {
		return head + "paths: {/a: {get: {responses: {'200': {description: A, content: {application/json: {schema: " + schema + "}}}}}}}\n"
	}
	operation := func(members, components string) string {
		return head + "paths:\n  /a: {get: {responses: {'200': {description: A, content: {application/json: {schema: {type: string}}}}}}}\n" +
			"  /b: {post: {" + members + "}}\ncomponents: {" + components + "}"
	}
	const used, responses = "{$ref: '#/components/schemas/X'}", "responses: {'200': {description: A}}"
	return map[string][]string{
		"#/components/schemas/X": {
			get(used) + "components: {schemas: {X: " + used + "}}",
			strings.Replace(get(used), "3.0.0", "3.1.0", 1) + "components: {schemas: {X: {description: A, $ref: '#/components/schemas/X'}}}",
		},
		"#/definitions/X, at paths./a.get.responses.200.schema": {
			swagger + "paths: {/a: {get: {responses: {'200': {description: A, schema: {$ref: '#/definitions/X'}}}}}}\ndefinitions: {X: {$ref: '#/definitions/X'}}",
		},
		"#/components/schemas/X/properties/a":                            {get(used) + "components: {schemas: {X: {type: object, properties: {a: {$ref: '#/components/schemas/X/properties/a'}}}}}"},
		"#/components/schemas/X, at paths./a":                            {get("{type: object, properties: {a: "+used+"}}") + "components: {schemas: {X: {$ref: '#/components/schemas/Y'}, Y: {$ref: '#/components/schemas/Z'}, Z: " + used + "}}"},
		"#/components/schemas/X/items":                                   {get(used) + "components: {schemas: {X: {type: array, items: {$ref: '#/components/schemas/X/items'}}}}"},
		"#/components/schemas/X/allOf/0":                                 {get(used) + "components: {schemas: {X: {allOf: [{$ref: '#/components/schemas/X/allOf/0'}]}}}"},
		"#/paths/~1a/get/responses/200/content/application~1json/schema": {get("{$ref: '#/paths/~1a/get/responses/200/content/application~1json/schema'}")},
		"a.yaml#/components/schemas/X":                                   {get("{$ref: 'a.yaml#/components/schemas/X'}") + "components: {schemas: {X: {$ref: 'a.yaml#/components/schemas/X'}}}"},
		"#/components/parameters/X":                                      {operation("parameters: [{$ref: '#/components/parameters/X'}], "+responses, "parameters: {X: {$ref: '#/components/parameters/X'}}")},
		"#/paths/~1b/post/parameters/0":                                  {operation("parameters: [{$ref: '#/paths/~1b/post/parameters/0'}], "+responses, "")},
		"#/components/requestBodies/X":                                   {operation("requestBody: {$ref: '#/components/requestBodies/X'}, "+responses, "requestBodies: {X: {$ref: '#/components/requestBodies/X'}}")},
		"#/components/responses/X":                                       {operation("responses: {'200': {$ref: '#/components/responses/X'}}", "responses: {X: {$ref: '#/components/responses/X'}}")},
		"#/paths/~1b/post/responses/200":                                 {operation("responses: {'200': {$ref: '#/paths/~1b/post/responses/200'}}", "")},
		"#/components/securitySchemes/X":                                 {operation("security: [{X: []}], "+responses, "securitySchemes: {X: {$ref: '#/components/securitySchemes/X'}}")},
		"#/paths/~1":                                                     {head + "paths: {/a: {get: {" + responses + "}}, /b: {$ref: '#/paths/~1b'}}", head + "paths: {/a: {$ref: '#/paths/~1b'}, /b: {$ref: '#/paths/~1a'}}"},
	}
}

// What is described by nothing but itself is an error, or left out if there is more.
func TestReferencesToThemselvesAreLeftOut(t *testing.T) {
	for ref, documents := range circular() {
		for _, content := range documents {
			doc, err := document.Load(t.Context(), written(t, "a.yaml", content), document.Overrides{})
			if err == nil {
				require.NotEmpty(t, doc.Skipped, content)
				err = errors.New(doc.Skipped[0].String())
			} else {
				require.ErrorIs(t, err, abi.ErrInvalidArgument, content)
			}
			require.ErrorContains(t, err, "the $ref to ", content)
			require.ErrorContains(t, err, "leads only to itself: nothing is described there", content)
			require.ErrorContains(t, err, ref, content)
		}
	}
	_, err := parameterize(t.Context(), guest.Parameters{Name: "a", Value: []byte(`{"openapi": "3.0.0", "info": {"title": "A", "version": "1"},
		"paths": {"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/X"}}}}}, "components": {"responses": {"X": {"$ref": "#/components/responses/X"}}}}`)})
	require.ErrorContains(t, err, "the document in the state: the $ref to #/components/responses/X, at paths./a.get.responses.200, leads only to itself")
}

// What a document describes in one place and refers to from another is found wherever the document
// is: the library looks for a common directory, and never finds one for an absolute path.
func TestReferencesWithinADocument(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	content := strings.Replace(things, "{type: object, properties: {size: {type: integer}}}}}}}\n    delete", "{$ref: '#/paths/~1v1~1things/post/requestBody/content/application~1json/schema'}}}}}\n    delete", 1)
	require.NotEqual(t, things, content)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	require.Equal(t, []string{"size"}, packageOf(t, file).Resource("test:index:Thing").Outputs.Names())

	// A file of the same name as a component is another schema than that.
	content = strings.Replace(content, "{type: integer}", "{$ref: 'Size.yaml'}", 1) + "components: {schemas: {Size: {type: string}}}\n"
	content = strings.Replace(content, "properties: {size:", "properties: {other: {$ref: '#/components/schemas/Size'}, size:", 1)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Size.yaml"), []byte("type: number"), 0o644))
	require.Equal(t, map[string]string{"other": "string", "size": "number"}, shown(&packageOf(t, file).Resource("test:index:Thing").Outputs))

	// What calls back to itself is nothing that the provider looks at.
	require.NotNil(t, packageOf(t, written(t, "a.yaml", strings.Replace(things, "    post:\n", "    post:\n      callbacks: {again: {'http://a': {$ref: '#/paths/~1v1~1things'}}}\n", 1))).Resource("test:index:Thing"))
}

// damaged returns a document with each of its parts replaced in turn.
func damaged(document any, by any) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		whole := func() bool { text, err := json.Marshal(document); return err != nil || yield(text) }
		var walk func(node any) bool
		walk = func(node any) bool {
			switch node := node.(type) {
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(node)) {
					was := node[name]
					node[name] = by
					if !whole() {
						return false
					}
					if node[name] = was; !walk(was) {
						return false
					}
				}
			case []any:
				for i, was := range node {
					node[i] = by
					if !whole() {
						return false
					}
					if node[i] = was; !walk(was) {
						return false
					}
				}
			}
			return true
		}
		walk(document)
	}
}

// TestDamagedDocuments puts something that does not belong there into each place of a document:
// what comes out is a package or an error.
func TestDamagedDocuments(t *testing.T) {
	swagger, err := os.ReadFile("testdata/swagger.json")
	require.NoError(t, err)
	for _, data := range [][]byte{swagger, []byte(things + `
components:
  schemas:
    A: {type: object, required: [a], properties: {a: {allOf: [{$ref: '#/components/schemas/B'}], enum: [{a: 1}]}}, additionalProperties: {$ref: '#/components/schemas/B'}}
    B: {oneOf: [{type: array, items: {$ref: '#/components/schemas/A'}}, {type: string, default: b}], discriminator: {propertyName: a, mapping: {a: '#/components/schemas/A'}}}
  parameters: {P: {in: query, name: p, schema: {$ref: '#/components/schemas/B'}}}
  securitySchemes: {S: {type: http, scheme: bearer}}
`)} {
		for _, by := range []any{nil, map[string]any{}, []any{}, "", map[string]any{"$ref": "#"}, map[string]any{"$ref": "#/components/schemas/A"}} {
			text, err := yaml.YAMLToJSON(data)
			require.NoError(t, err)
			var document any
			require.NoError(t, json.Unmarshal(text, &document))
			for text := range damaged(document, by) {
				made, err := parameterize(t.Context(), guest.Parameters{Args: []string{written(t, "a.json", string(text)), "test"}})
				if err == nil {
					_, err = guest.New(made.Provider)
					require.NoError(t, err, string(text))
				}
				_, err = parameterize(t.Context(), guest.Parameters{Name: "test", Value: text})
				_ = err // it does not panic
			}
		}
	}
}

// longest returns the longest of the names for a path, without its customary prefix.
func longest(path string) string {
	list := namesOf(path)
	if len(list) < 2 {
		return ""
	}
	return list[len(list)-2]
}

func TestNames(t *testing.T) {
	for name, words := range map[string]string{
		"petId": "pet id", "pet_id": "pet id", "PetID": "pet id", "list-pets": "list pets", "HTTPServer2": "http server2", "": "", "x.y/z": "x y z", "ÄÖ": "äö",
	} {
		require.Equal(t, words, strings.Join(wordsOf(name), " "), name)
	}
	for many, one := range map[string]string{
		"pets": "pet", "categories": "category", "boxes": "box", "classes": "class", "addresses": "address", "statuses": "status", "status": "status",
		"series": "series", "news": "new", "s": "s", "branches": "branch", "analysis": "analysis", "databases": "database",
	} {
		require.Equal(t, one, singular(many), many)
	}
	for path, name := range map[string]string{
		"/pets/{id}": "Pet", "/api/v2.1/pet-stores/{id}/open_days/{day}": "PetStoreOpenDay", "/2fa/{id}": "N2fa", "/v1/{id}": "", "/v1/api/{id}": "",
	} {
		require.Equal(t, name, longest(path), path)
	}
	require.Equal(t, []string{"Pet", "ApiV2Pet"}, namesOf("/api/v2/pets/{id}"))
	require.Equal(t, []string{"Visit", "OwnerVisit", "OwnerVisit"}, namesOf("/owners/{owner}/visits/{id}"))
	taken := names{}
	require.Equal(t, []string{"a", "b", "b2", "b3"}, []string{taken.take("a", "b"), taken.take("a", "b"), taken.take("a", "b"), taken.take("b")})
}

// FuzzDocument makes packages of arbitrary documents: what comes out is a package, or an
// error, but no crash.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(things))
	for _, name := range []string{"testdata/petstore.yaml", "testdata/swagger.json"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		made, err := parameterize(t.Context(), guest.Parameters{Args: []string{written(t, "a.yaml", string(data)), "test"}})
		if err != nil {
			return
		}
		_, err = guest.New(made.Provider)
		require.NoError(t, err)
		again, err := parameterize(t.Context(), guest.Parameters{Name: "test", Value: made.Value})
		require.NoError(t, err)
		require.Equal(t, made.Value, again.Value)
	})
}
