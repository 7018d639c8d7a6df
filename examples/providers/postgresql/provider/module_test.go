package provider_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	abigrant "github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/examples/internal/moduletest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/postgrestest"
	"github.com/husk-dev/husk/internal/testmodule"
)

// In a module the driver is the same, its TLS too, over connections that the host makes:
// to the server that was granted, and to no other.
func TestModule(t *testing.T) {
	s := postgrestest.Start(t)
	module := testmodule.Load(t, "..", host.NewConfig())
	start := func(grant string) *pt.Provider {
		granted, err := abigrant.ParseTCP(grant)
		require.NoError(t, err)
		p := moduletest.New(t, module, host.ProviderOptions{Name: "postgresql", Grants: host.Grants{TCP: []host.TCPGrant{granted}}})
		require.NoError(t, configure(p, s.Configuration()))
		return p
	}
	address := "localhost:" + strconv.Itoa(s.Port)
	p := start(address)
	require.Equal(t, rows(pt.Object{"ssl": "t"}), ask(p, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))

	app := p.Create(database, pt.Object{"name": "app"})
	ann := p.Create(role, pt.Object{"name": "ann", "login": true, "password": "secret"})
	sales := p.Create(schema, pt.Object{"name": "sales", "database": "app"})
	inputs := pt.Object{"role": "ann", "database": "app", "objectType": "schema", "schema": "sales", "privileges": []string{"USAGE"}}
	usage := settled(p, p.Create(grant, inputs), inputs)
	require.Equal(t, rows(pt.Object{"may": "t"}), ask(p, "SELECT rolcanlogin AS may FROM pg_roles WHERE rolname = $1", "ann"))
	for _, r := range []pt.Resource{usage, sales, ann, app} {
		gone(p, r)
	}

	for _, grant := range []string{"localhost:1", "*.localhost:" + strconv.Itoa(s.Port)} {
		_, err := start(grant).TryInvoke(query, pt.Object{"sql": "SELECT 1"})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.ErrorContains(t, err, "the provider may not connect to "+address+": its grants: tcp are "+grant)
		require.ErrorContains(t, err, "add to the provider's grants: tcp "+address, "what to grant")
	}
}
