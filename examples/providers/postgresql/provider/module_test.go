package provider_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	abigrant "github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/examples/internal/hosttest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// In a module the driver is the same, its TLS too, over connections that the host makes:
// to the server that was granted, and to no other.
func TestModule(t *testing.T) {
	s := postgrestest.Start(t, "wal_level=logical")
	module := testmodule.Load(t, "..", host.NewConfig())
	start := func(grant string) *pt.Provider {
		granted, err := abigrant.ParseTCP(grant)
		require.NoError(t, err)
		p := hosttest.New(t, module, host.ProviderOptions{Name: "postgresql", Grants: host.Grants{TCP: []host.TCPGrant{granted}}})
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
	for _, r := range []pt.Resource{usage, sales, ann} {
		gone(p, r)
	}

	s.Execute(t, "app", "CREATE FUNCTION public.total(text[]) RETURNS integer LANGUAGE sql AS 'SELECT 1'; CREATE TABLE public.sales (item text); CREATE FOREIGN DATA WRAPPER fdw")
	owner := p.Create(role, pt.Object{"name": "owner", "searchPaths": []string{"$user"}, "parameters": pt.List{pt.Object{"name": "work_mem", "value": "4MB"}}})
	s.Execute(t, "app", "ALTER TABLE public.sales OWNER TO owner")
	inApp := pt.Object{"role": "public", "database": "app", "schema": "public"}
	declared := []struct {
		token  string
		inputs pt.Object
	}{
		{grant, pt.With(inApp, pt.Object{"objectType": "function", "objects": []string{"total(text[])"}, "privileges": []string{"EXECUTE"}})},
		{grant, pt.With(inApp, pt.Object{"objectType": "column", "objects": []string{"sales"}, "columns": []string{"item"}, "privileges": []string{"SELECT"}})},
		{defaultPrivileges, pt.With(inApp, pt.Object{"owner": "owner", "objectType": "table", "privileges": []string{"SELECT"}})},
		{grantRole, pt.Object{"role": "owner", "grantRole": "pg_monitor"}},
		{function, pt.Object{"name": "f", "database": "app", "body": "BEGIN END"}},
		{publication, pt.Object{"name": "p", "database": "app", "tables": []string{"sales"}}},
		{slot, pt.Object{"name": "s", "database": "app", "plugin": "pgoutput"}},
		{physicalSlot, pt.Object{"name": "ps"}},
		{foreignServer, pt.Object{"serverName": "srv", "database": "app", "fdwName": "fdw", "dropCascade": true}},
		{userMapping, pt.Object{"userName": "owner", "serverName": "srv", "database": "app", "options": pt.Object{"user": "u"}}},
	}
	var made []pt.Resource
	for _, d := range declared {
		made = append(made, settled(p, p.Create(d.token, d.inputs), d.inputs))
	}
	for _, r := range made {
		p.Delete(r)
	}
	gone(p, owner)
	require.Equal(t, rows(pt.Object{"tableowner": "postgres"}),
		p.Invoke(query, pt.Object{"sql": "SELECT tableowner FROM pg_tables WHERE tablename = 'sales'", "database": "app"}).Get("rows"))
	gone(p, app)

	for _, grant := range []string{"localhost:1", "*.localhost:" + strconv.Itoa(s.Port)} {
		_, err := start(grant).TryInvoke(query, pt.Object{"sql": "SELECT 1"})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.ErrorContains(t, err, "the provider may not connect to "+address+": its grants: tcp are "+grant)
		require.ErrorContains(t, err, "add to the provider's grants: tcp "+address, "what to grant")
	}
}
