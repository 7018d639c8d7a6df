package provider

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/internal/metaschema"
)

// written is a document in a file of its own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// packageOf is the package that a document describes.
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
	require.Contains(t, string(made.Value), `"openapi":"3.0.3"`)

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
		"it is neither JSON nor YAML":                           "a: [",
		"it is not an OpenAPI document: it has no openapi":      "a: b",
		"it is not an OpenAPI document: json: cannot unmarshal": "[1, 2]",
		"its version is 1.2; versions 2.0 (Swagger) and 3":      "swagger: '1.2'",
		"it has no info with a title and a version":             "openapi: 3.0.0\npaths: {/a: {get: {responses: {}}}}",
		"something in it is empty that must be an object":       "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {'200': {description: A, content: {application/json: }}}}}}",
		"it has no paths": "openapi: 3.0.0\ninfo: {title: A, version: '1'}",
		"describes nothing that can be used: a resource has":        "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {}}}}",
		`map key "components" not found`:                            strings.ReplaceAll(things, "{type: integer}", "{$ref: '#/components/schemas/None'}"),
		"no-such-file.yaml":                                         strings.ReplaceAll(things, "{type: integer}", "{$ref: 'no-such-file.yaml'}"),
		"the name of a package has lower-case letters, digits, and": strings.ReplaceAll(things, "title: Things", "title: '7'"),
	} {
		_, err := parameterize(t.Context(), guest.Parameters{Args: []string{written(t, "a.yaml", content)}})
		require.ErrorIs(t, err, abi.ErrInvalidArgument, content)
		require.ErrorContains(t, err, want)
	}
	for want, args := range map[string][]string{
		"the parameters are the document, as a file or a URL": {},
		"the parameters are the document":                     {"a", "b", "c"},
		"the name of a package has lower-case letters":        {"testdata/petstore.yaml", "Pet Store"},
		"no such file or directory":                           {"testdata/none.yaml"},
	} {
		_, err := parameterize(t.Context(), guest.Parameters{Args: args})
		require.ErrorContains(t, err, want)
	}
	_, err := parameterize(t.Context(), guest.Parameters{Name: "a", Value: []byte("{")})
	require.ErrorContains(t, err, "the document in the state: ")
}

// A document from the network must not make a provider read files.
func TestDocumentOfTheNetworkRefersToNoFile(t *testing.T) {
	at := &url.URL{Scheme: "http", Host: "example.org", Path: "/api.yaml"}
	secret := written(t, "secret.yaml", "type: string")
	for _, ref := range []string{"file://" + secret, secret} {
		loader := openapi3.NewLoader()
		loader.ReadFromURIFunc = readFrom(t.Context(), at)
		_, err := read(loader, []byte(strings.ReplaceAll(things, "{type: integer}", "{$ref: '"+ref+"'}")), at)
		require.ErrorContains(t, err, "a document on the network cannot refer to the file "+secret)
	}
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
		require.Equal(t, name, resourceName(path, false), path)
	}
	require.Equal(t, "ApiV2Pet", resourceName("/api/v2/pets/{id}", true))
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
