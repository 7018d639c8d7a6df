package document

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
)

func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

const head = "openapi: 3.0.0\ninfo: {title: A, version: '1'}\nservers: [{url: /v1}]\n"

// Operations that cannot be understood are left out, each with its place and the reason.
func TestOperationsThatCannotBeUnderstood(t *testing.T) {
	const good = "{responses: {'200': {description: A, content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}"
	doc, err := Load(t.Context(), written(t, "a.yaml", head+`
paths:
  /a: {get: `+good+`, delete: {responses: {'200': {description: A, content: {application/json: }}}}}
  /b: {get: {responses: {'200': {$ref: '#/components/responses/None'}}}}
  /c: {get: `+good+`, put: {parameters: [{$ref: '#/components/parameters/Bad'}]}}
  /d: {get: {responses: {'200': {description: A, content: {application/json: {schema: {type: object, properties: {a: {type: 5}}}}}}}}}
  /e: {parameters: [{$ref: 'none.yaml#/x'}], get: `+good+`}
components: {schemas: {A: {type: string}}, parameters: {Bad: {$ref: '#/components/parameters/Bad'}}}
`), Overrides{})
	require.NoError(t, err)
	var said []string
	for _, s := range doc.Skipped {
		said = append(said, s.String())
	}
	require.Len(t, said, 5, "%s", said)
	require.Equal(t, "DELETE /a is left out: there is nothing at paths./a.delete.responses.200.content.application/json, where an object must be", said[0])
	require.Equal(t, "GET /b is left out: it refers to #/components/responses/None, which is not there", said[1])
	require.Contains(t, said[2], "PUT /c is left out: ")
	require.Contains(t, said[3], "GET /d is left out: ")
	require.Contains(t, said[4], "GET /e is left out: ")
	require.NotNil(t, doc.Spec.Paths.Value("/a").Get)
	require.Nil(t, doc.Spec.Paths.Value("/a").Delete)
	require.NotNil(t, doc.Spec.Paths.Value("/c").Get)

	again, err := Parse(t.Context(), doc.Value)
	require.NoError(t, err)
	require.Equal(t, doc.Spec.Paths.Len(), again.Spec.Paths.Len(), "nothing of them is kept")
}

// A document from the network must not make a provider read files, and its own URL is that of its server.
func TestDocumentOfTheNetwork(t *testing.T) {
	secret := written(t, "secret.yaml", "type: string")
	ref := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(head + "paths: {/a: {get: {responses: {'200': {description: A, content: {application/json: {schema: " + ref + "}}}}}}}\n"))
	}))
	defer server.Close()
	for _, name := range []string{"file://" + secret, secret} {
		ref = "{$ref: '" + name + "'}"
		_, err := Load(t.Context(), server.URL+"/docs/a.yaml", Overrides{})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.ErrorContains(t, err, "a document on the network cannot refer to the file "+secret)
	}
	ref = "{type: string}"
	doc, err := Load(t.Context(), server.URL+"/docs/a.yaml", Overrides{})
	require.NoError(t, err)
	require.Equal(t, server.URL+"/v1", doc.Server)
	again, err := Parse(t.Context(), doc.Value)
	require.NoError(t, err)
	require.Equal(t, doc.Server, again.Server)
}

// large is a document in the forms that people and programs write.
func large() string {
	var b strings.Builder
	b.WriteString("---\n# A large document\n" + head + "tags:\n- name: a\n- name: b\npaths:\n")
	for _, name := range strings.Fields("a b c d e f g h") {
		b.WriteString("  /" + name + "s:\n    get:\n      description: |\n        Not a path:\n\n          /x:\n            get: no\n      responses:\n        '200':\n          description: \"more than\n" +
			"            one line: yes\"\n          content:\n            application/json:\n              schema:\n                $ref: '#/components/schemas/" + name + "'\n")
		b.WriteString("  # a comment\n  \"/" + name + "s/{id}\":\n    delete:\n      parameters:\n      - name: id\n        in: path\n      responses: {}\n")
	}
	b.WriteString("components:\n  schemas:\n")
	for _, name := range strings.Fields("a b c d e f g h") {
		b.WriteString("    " + name + ":\n      type: object\n      properties:\n        x: {type: string}\n        'y: z':\n          type: integer\n")
	}
	b.WriteString("  parameters:\n    p:\n      name: p\n      in: query\n  securitySchemes: {k: {type: http, scheme: bearer}}\n")
	return b.String()
}

// A document in pieces is the same as in one.
func TestPieces(t *testing.T) {
	text := []byte(large())
	whole, err := yamlIndex([][]byte{text})
	require.NoError(t, err)
	want, err := whole.write(whole.operations)
	require.NoError(t, err)
	for _, size := range []int{1, 100, 300, 1000} {
		pieces := piecesOf(text, size)
		require.Greater(t, len(pieces), 2, size)
		x, err := yamlIndex(pieces)
		require.NoError(t, err, size)
		got, err := x.write(x.operations)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), size)
	}
	require.Greater(t, len(piecesOf(text, 1)), 20)
}

// Whatever is cut: if the pieces can be read at all, they are the document.
func FuzzPieces(f *testing.F) {
	f.Add([]byte(large()), 10)
	f.Add([]byte("paths:\n  /a: {get: {}}\n  /b:\n    get: {}\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		pieces := piecesOf(text, max(size, 1))
		if len(pieces) < 2 {
			return
		}
		x, err := yamlIndex(pieces)
		if err != nil {
			return
		}
		whole, err := yamlIndex([][]byte{text})
		if err != nil {
			return // it is refused when it is read as a whole, or has more in it than is read
		}
		got, err := x.write(x.operations)
		want, wantErr := whole.write(whole.operations)
		require.Equal(t, wantErr == nil, err == nil)
		if err == nil {
			require.JSONEq(t, string(want), string(got))
		}
	})
}
