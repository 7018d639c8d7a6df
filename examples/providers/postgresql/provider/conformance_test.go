package provider_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	abigrant "github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/conformance"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// A module keeps to the contract with a server that has something in it, which generated names are not.
func TestConformance(t *testing.T) {
	nightly.Skip(t)
	s := postgrestest.Start(t, "wal_level=logical")
	s.Execute(t, "postgres", `CREATE ROLE member; CREATE SCHEMA reports; CREATE TABLE reports.sales (item text); DROP EXTENSION plpgsql;
		CREATE FOREIGN DATA WRAPPER fdw; CREATE SERVER remote FOREIGN DATA WRAPPER fdw; GRANT CREATE ON DATABASE postgres TO member;
		CREATE FUNCTION reports.total(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'; REVOKE ALL ON FUNCTION reports.total FROM PUBLIC;
		CREATE PUBLICATION sales`)
	module := testmodule.Load(t, "..", host.NewConfig())
	granted, err := abigrant.ParseTCP("localhost:" + strconv.Itoa(s.Port))
	require.NoError(t, err)
	open := func(ctx context.Context) (abi.Provider, error) {
		return module.NewProvider(ctx, host.ProviderOptions{Name: "postgresql", Lenient: true, Grants: host.Grants{TCP: []host.TCPGrant{granted}}})
	}
	sales := pt.Object{"role": "member", "database": "postgres", "objectType": "table", "schema": "reports", "privileges": []string{"SELECT"}}
	columns := pt.With(sales, pt.Object{"objectType": "column", "objects": []string{"sales"}, "columns": []string{"item"}})
	onFunction := pt.With(sales, pt.Object{"objectType": "function", "objects": []string{"total(integer)"}, "privileges": []string{"EXECUTE"}})
	defaults := pt.Object{"role": "member", "database": "postgres", "owner": "postgres", "objectType": "table", "schema": "reports", "privileges": []string{"SELECT"}}
	subscribed := pt.Object{"name": "sub", "publications": []string{"sales"}, "createSlot": false, "enabled": false,
		"conninfo": "host=127.0.0.1 port=" + strconv.Itoa(s.Port) + " dbname=postgres user=postgres sslmode=disable password=" + s.Password}
	cases := &conformance.Cases{
		Config: pt.MapOf(s.Configuration()),
		Resources: map[string][]conformance.Case{
			role: {
				changed(pt.Object{}, "update", pt.Object{"login": true}),
				changed(pt.Object{"login": true, "password": property.Secret(property.String("pa55word")), "roles": []string{"member"}}, "update", pt.Object{"connectionLimit": 3}),
				changed(pt.Object{"searchPaths": []string{"reports"}, "statementTimeout": 5, "parameters": pt.List{pt.Object{"name": "work_mem", "value": "5MB"}}},
					"update", pt.Object{"name": "renamed", "assumeRole": "member", "validUntil": "2030-01-01"}),
			},
			database: {
				changed(pt.Object{}, "update", pt.Object{"connectionLimit": 3}),
				changed(pt.Object{"owner": "member", "encoding": "SQL_ASCII"}, "replace", pt.Object{"encoding": "UTF8"}),
			},
			schema: {changed(pt.Object{"database": "postgres"}, "update", pt.Object{"database": "postgres", "owner": "member"})},
			grant: {
				changed(sales, "update", pt.With(sales, pt.Object{"privileges": []string{"ALL"}})),
				changed(columns, "update", pt.With(columns, pt.Object{"privileges": []string{"UPDATE"}})),
				changed(onFunction, "update", pt.With(onFunction, pt.Object{"withGrantOption": true})),
			},
			defaultPrivileges: {changed(defaults, "update", pt.With(defaults, pt.Object{"privileges": []string{"INSERT", "SELECT"}}))},
			grantRole:         {changed(pt.Object{"role": "member", "grantRole": "pg_monitor"}, "update", pt.Object{"role": "member", "grantRole": "pg_monitor", "withAdminOption": true})},
			publication: {
				changed(pt.Object{"tables": []string{"reports.sales"}}, "update", pt.Object{"publishParams": []string{"insert"}}),
				changed(pt.Object{"allTables": true}, "replace", pt.Object{"owner": "member"}),
			},
			function: {changed(pt.Object{"name": "f", "args": pt.List{pt.Object{"type": "int"}}, "returns": "text", "language": "sql", "body": "SELECT 'a'"},
				"update", pt.Object{"name": "f", "args": pt.List{pt.Object{"type": "int"}}, "returns": "text", "language": "sql", "body": "SELECT 'b'"})},
			subscription:  {changed(subscribed, "replace", pt.With(subscribed, pt.Object{"publications": []string{"more"}}))},
			slot:          {changed(pt.Object{"name": "a", "plugin": "pgoutput"}, "replace", pt.Object{"name": "a", "plugin": "test_decoding"})},
			physicalSlot:  {changed(pt.Object{"name": "b"}, "replace", pt.Object{"name": "c"})},
			foreignServer: {changed(pt.Object{"serverName": "s", "fdwName": "fdw"}, "update", pt.Object{"serverName": "s", "fdwName": "fdw", "options": pt.Object{"host": "h"}, "serverOwner": "postgres"})},
			userMapping:   {changed(pt.Object{"userName": "member", "serverName": "remote", "options": pt.Object{"user": "u"}}, "update", pt.Object{"userName": "member", "serverName": "remote"})},
			extension: {changed(pt.Object{"name": "plpgsql", "database": "postgres"},
				"update", pt.Object{"name": "plpgsql", "database": "postgres", "dropCascade": true})},
		},
		Functions: map[string][]conformance.Case{
			query: {{Inputs: pt.MapOf(pt.Object{"sql": "SELECT $1 AS a, NULL AS b", "parameters": []string{"x"}})}},
		},
	}
	report, err := conformance.Run(t.Context(), open, conformance.Options{Seed: 1, Cases: cases})
	require.NoError(t, err)
	require.NotEmpty(t, report.Results)
	for _, r := range report.Results {
		what := r.Check + " of " + r.Subject
		require.NotEqual(t, conformance.Failed, r.Status, "%s: %s", what, r.Message)
		require.NotEqual(t, conformance.Skipped, r.Status, "%s: %s", what, r.Message)
	}
	require.True(t, slices.ContainsFunc(report.Results, func(r conformance.Result) bool { return r.Subject == query }))
}

// changed returns a case with one later deployment.
func changed(inputs pt.Object, expect string, later pt.Object) conformance.Case {
	return conformance.Case{Inputs: pt.MapOf(inputs), Updates: []conformance.Update{{Inputs: pt.MapOf(later), Expect: expect}}}
}
