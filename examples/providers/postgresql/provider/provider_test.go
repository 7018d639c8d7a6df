package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/examples/internal/postgrestest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/postgresql/provider"
)

const (
	role      = "postgresql:index/role:Role"
	database  = "postgresql:index/database:Database"
	schema    = "postgresql:index/schema:Schema"
	grant     = "postgresql:index/grant:Grant"
	extension = "postgresql:index/extension:Extension"
	query     = "postgresql:index/query:query"
)

// open is the provider, configured for a server, as the role.
func open(t *testing.T, s *postgrestest.Server, as pt.Object) *pt.Provider {
	t.Helper()
	p := pt.New(t, provider.New())
	require.NoError(t, configure(p, pt.With(s.Configuration(), as)))
	return p
}

func configure(p *pt.Provider, config pt.Object) error {
	checked, err := p.Provider.CheckConfig(p.Context, abi.CheckRequest{News: pt.MapOf(config)})
	require.NoError(p.T, err)
	require.Empty(p.T, checked.Failures)
	return p.Provider.Configure(p.Context, abi.ConfigureRequest{Inputs: checked.Inputs})
}

// ask asks the server with the provider's function. A value that is null is missing.
func ask(p *pt.Provider, sql string, parameters ...string) property.Value {
	p.T.Helper()
	return p.Invoke(query, pt.Object{"sql": sql, "parameters": parameters}).Get("rows")
}

// rows are what ask answers.
func rows(rows ...pt.Object) property.Value {
	list := pt.List{}
	for _, row := range rows {
		list = append(list, row)
	}
	return pt.Of(list)
}

// settled requires that nothing differs from what a resource was made of, neither now nor
// after it was read.
func settled(p *pt.Provider, r pt.Resource, inputs pt.Object) pt.Resource {
	p.T.Helper()
	require.Empty(p.T, p.Diff(r, inputs))
	refreshed, exists := p.Refresh(r)
	require.True(p.T, exists)
	require.Equal(p.T, r.State, refreshed.State)
	require.Empty(p.T, p.Diff(refreshed, inputs))
	return refreshed
}

// update changes what is to differ, and nothing else.
func update(p *pt.Provider, r pt.Resource, inputs pt.Object, differs ...string) pt.Resource {
	p.T.Helper()
	require.Equal(p.T, differs, p.Diff(r, inputs))
	return settled(p, p.Update(r, inputs), inputs)
}

// gone deletes a resource, of which nothing is left then.
func gone(p *pt.Provider, r pt.Resource) {
	p.T.Helper()
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(p.T, exists)
}
