package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/examples/internal/hosttest"
	"github.com/husk-dev/husk/examples/internal/petstore"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// document describes what the pet store does.
const document = "testdata/petstore.yaml"

const (
	pet   = "petstore:index:Pet"
	owner = "petstore:index:Owner"
	visit = "petstore:index:Visit"
	tag   = "petstore:index:Tag"
)

// A world is where providers run: in the test's program or as modules.
type world func(t *testing.T, s *petstore.Store) *pt.Provider

func TestInAProgram(t *testing.T) {
	specification(t, func(t *testing.T, _ *petstore.Store) *pt.Provider { return pt.New(t, provider.New()) })
}

func TestAsAModule(t *testing.T) {
	module := testmodule.Load(t, "..", host.NewConfig())
	specification(t, func(t *testing.T, s *petstore.Store) *pt.Provider {
		return hosttest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: grants(t, s)})
	})
	t.Run("is told what to grant", func(t *testing.T) { testDenials(t, module) })
	t.Run("continues a trace", func(t *testing.T) { testTrace(t, module) })
	t.Run("takes a large document", func(t *testing.T) { testLargeDocument(t, module) })
}

// testTrace calls a function within the span of a call: the service is told, unless the provider tells it something else.
func testTrace(t *testing.T, module *host.Module) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		_, _ = w.Write([]byte("[]"))
	}))
	defer server.Close()
	s := petstore.New(t, document)
	g := grants(t, s)
	service, err := grant.ParseHTTP(server.URL)
	require.NoError(t, err)
	g.HTTP = append(g.HTTP, service)
	exporter, err := trace.Open(filepath.Join(t.TempDir(), "trace.jsonl"), func(string) string { return "" })
	require.NoError(t, err)
	span := trace.NewTracer(exporter).Start(trace.ID{}, "call", trace.Client)
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, headers := range []pt.Object{{}, {"traceparent": own}} {
		p := hosttest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: g})
		parameterize(t, p, args(document, "petstore"))
		require.NoError(t, configure(p, pt.Object{"baseUrl": server.URL, "token": "t", "headers": headers}))
		p.Context = trace.With(t.Context(), span)
		p.Invoke("petstore:index:listPets", pt.Object{})
	}
	require.Equal(t, []string{span.ID().Traceparent(), own}, got)
	require.NoError(t, exporter.Close())
}

// testLargeDocument gives a module a document of 15 MB, most of which nothing is made of, within the memory that providers
// have by default.
func testLargeDocument(t *testing.T, module *host.Module) {
	const collections, size = 250, 15 << 20
	var b strings.Builder
	b.WriteString(`{"openapi": "3.0.3", "info": {"title": "Large", "version": "1.0.0"}, "paths": {`)
	example := strings.Repeat(`{"size": 1, "label": "an example of what the service answers with"}, `, size/collections/140)
	for i := range collections {
		name := fmt.Sprintf("thing%d", i)
		body := `"content": {"application/json": {"schema": {"$ref": "#/components/schemas/` + name + `"}, "example": [` + example + `null]}}`
		fmt.Fprintf(&b, `%s"/%ss": {"post": {"requestBody": {%s}, "responses": {"201": {"description": "made", %s}}}},
			"/%ss/{id}": {"get": {"responses": {"200": {"description": "it", %s}}}, "delete": {"responses": {"204": {"description": "gone"}}}}`,
			map[bool]string{true: "", false: ", "}[i == 0], name, body, body, name, `"content": {"application/json": {"schema": {"$ref": "#/components/schemas/`+name+`"}}}`)
	}
	b.WriteString(`}, "components": {"schemas": {"shared": {"type": "object", "properties": {"label": {"type": "string"}}}`)
	for i := range collections {
		fmt.Fprintf(&b, `, "thing%d": {"type": "object", "properties": {"id": {"type": "string", "readOnly": true}`, i)
		for j := range 20 {
			fmt.Fprintf(&b, `, "p%d": {"type": "string", "description": "Property %d, with a description of some length, as documents have them."}`, j, j)
		}
		b.WriteString(`, "more": {"$ref": "#/components/schemas/shared"}}}`)
	}
	b.WriteString("}}}")
	require.Greater(t, b.Len(), size)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large.json"), []byte(b.String()), 0o644))
	fs, err := grant.InProject(dir, ".", false)
	require.NoError(t, err)
	p := hosttest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: host.Grants{FS: []host.FSGrant{fs}}})
	parameterize(t, p, args("large.json", "large"))
	pkg := parsed(t, schemaOf(t, p))
	require.Len(t, pkg.Resources, collections)
	require.NotNil(t, pkg.Resource("large:index:Thing249").Inputs.Property("p19"))
}

// open returns a new store, and the provider that is configured for it.
func (in world) open(t *testing.T, more pt.Object) (*petstore.Store, *pt.Provider) {
	t.Helper()
	s := petstore.New(t, document)
	p := in(t, s)
	parameterize(t, p, args("./"+document, "petstore"))
	require.NoError(t, configure(p, pt.With(pt.Object{"baseUrl": s.URL + "/v2", "token": "t0ken"}, more)))
	return s, p
}

// grants returns those that the provider needs: the document's directory, and the store.
func grants(t *testing.T, s *petstore.Store) host.Grants {
	t.Helper()
	dir, err := filepath.Abs(".")
	require.NoError(t, err)
	fs, err := grant.InProject(dir, "testdata", false)
	require.NoError(t, err)
	service, err := grant.ParseHTTP(s.URL)
	require.NoError(t, err)
	return host.Grants{FS: []host.FSGrant{fs}, HTTP: []host.HTTPGrant{service}}
}

// testDenials has modules use what they may not.
func testDenials(t *testing.T, module *host.Module) {
	s := petstore.New(t, document)
	p := hosttest.New(t, module, host.ProviderOptions{Name: "openapi"})
	for source, want := range map[string]string{
		"api/petstore.yaml":     "    - path: api",
		s.URL + "/openapi.yaml": "grants: http " + s.URL,
		document:                "    - path: testdata",
	} {
		_, err := p.Provider.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: args(source)})
		require.ErrorIs(t, err, abi.ErrDenied, source)
		require.ErrorContains(t, err, want)
	}

	g := grants(t, s)
	g.HTTP = nil
	p = hosttest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: g})
	parameterize(t, p, args(document, "petstore"))
	require.NoError(t, configure(p, pt.Object{"baseUrl": s.URL + "/v2", "token": "t0ken"}))
	_, err := p.TryCreate(pet, pt.Object{"name": "Rex", "kind": "dog"})
	require.ErrorIs(t, err, abi.ErrDenied)
	require.ErrorContains(t, err, "petstore 2.1.0: create: the provider may not send POST "+s.URL+"/v2/pets: nothing under its grants: http allows it")
}

func parameterize(t *testing.T, p *pt.Provider, parameters abi.Parameters) abi.ParameterizeResponse {
	t.Helper()
	r, err := p.Provider.Parameterize(t.Context(), abi.ParameterizeRequest{Parameters: parameters})
	require.NoError(t, err)
	return r
}

func args(args ...string) abi.Parameters {
	return abi.Parameters{Case: abi.ParametersCaseArgs, Args: args}
}

func configure(p *pt.Provider, config pt.Object) error {
	checked, err := p.Provider.CheckConfig(p.Context, abi.CheckRequest{News: pt.MapOf(config)})
	require.NoError(p.T, err)
	require.Empty(p.T, checked.Failures)
	return p.Provider.Configure(p.Context, abi.ConfigureRequest{Inputs: checked.Inputs})
}

func schemaOf(t *testing.T, p *pt.Provider) string {
	t.Helper()
	r, err := p.Provider.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	return r.Schema
}

func sorted(list []string) []string { slices.Sort(list); return list }

// withoutWorld returns an error without what a host adds.
func withoutWorld(err error) error {
	e := *abi.AsError(err)
	e.Provider, e.Version, e.Method = "", "", ""
	return &e
}
