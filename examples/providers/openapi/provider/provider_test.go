package provider_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/examples/internal/moduletest"
	"github.com/husk-dev/husk/examples/internal/petstore"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
)

// document describes what the pet store does.
const document = "testdata/petstore.yaml"

const (
	pet   = "petstore:index:Pet"
	owner = "petstore:index:Owner"
	visit = "petstore:index:OwnerVisit"
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
		return moduletest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: grants(t, s)})
	})
	t.Run("is told what to grant", func(t *testing.T) { testDenials(t, module) })
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
	p := moduletest.New(t, module, host.ProviderOptions{Name: "openapi"})
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
	p = moduletest.New(t, module, host.ProviderOptions{Name: "openapi", Grants: g})
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
