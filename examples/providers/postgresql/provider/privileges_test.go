package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// Privileges are on all kinds of objects, and each grant changes only what it is about.
func TestGrants(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	s.Execute(t, "postgres", `
		CREATE ROLE "re'ad@er"; CREATE SCHEMA "s,1";
		CREATE FUNCTION "s,1"."add"(a integer, b numeric) RETURNS integer LANGUAGE sql AS 'SELECT 1';
		CREATE FUNCTION "s,1"."add"(a text) RETURNS integer LANGUAGE sql AS 'SELECT 1';
		CREATE FUNCTION "s,1".other() RETURNS integer LANGUAGE sql AS 'SELECT 1';
		CREATE PROCEDURE "s,1".clean() LANGUAGE sql AS 'SELECT 1';
		CREATE TABLE "s,1".people (id integer, "na""me" text, salary integer);
		REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA "s,1" FROM PUBLIC;
		CREATE FOREIGN DATA WRAPPER "w'1"; CREATE SERVER "sr""v" FOREIGN DATA WRAPPER "w'1"`)
	inSchema := func(objectType string, more pt.Object) pt.Object {
		return pt.With(pt.Object{"role": "re'ad@er", "database": "postgres", "objectType": objectType, "schema": "s,1"}, more)
	}
	execute := []string{"EXECUTE"}
	// may lists the routines that the role may call.
	may := func(routines ...string) {
		t.Helper()
		var want []pt.Object
		for _, routine := range routines {
			want = append(want, pt.Object{"routine": routine})
		}
		require.Equal(t, rows(want...), ask(p, `
			SELECT p.oid::regprocedure AS routine FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE n.nspname = 's,1' AND has_function_privilege('re''ad@er', p.oid, 'EXECUTE') ORDER BY p.oid::regprocedure::text`))
	}

	t.Run("routines", func(t *testing.T) {
		p := p.In(t)
		inputs := inSchema("function", pt.Object{"objects": []string{"add(int, numeric(3, 1))"}, "privileges": execute})
		one := settled(p, p.Create(grant, inputs), inputs)
		require.Equal(t, "re'ad%40er@postgres@function@s%2C1@add(int%252C numeric(3%252C 1))", one.ID)
		imported(p, one, inputs)
		may(`"s,1".add(integer,numeric)`)
		s.Execute(t, "postgres", `REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA "s,1" FROM "re'ad@er"`)
		_, exists := p.Refresh(one)
		require.False(t, exists)
		one = p.Create(grant, inputs)

		named := inSchema("function", pt.Object{"objects": []string{"other"}, "privileges": execute})
		other := settled(p, p.Create(grant, named), named)
		called := inSchema("procedure", pt.Object{"privileges": execute})
		all := settled(p, p.Create(grant, called), called)
		imported(p, all, called)
		may(`"s,1".add(integer,numeric)`, `"s,1".clean()`, `"s,1".other()`)
		gone(p, all)
		gone(p, other)
		may(`"s,1".add(integer,numeric)`)

		either := inSchema("routine", pt.Object{"objects": []string{"clean()", "other()"}, "privileges": execute, "withGrantOption": true})
		both := settled(p, p.Create(grant, either), either)
		may(`"s,1".add(integer,numeric)`, `"s,1".clean()`, `"s,1".other()`)
		gone(p, both)
		gone(p, one)
		may()

		for object, want := range map[string]string{
			"add":                   `function name "s,1.add" is not unique`,
			"add(date)":             "there is no function s,1.add(date) in postgres",
			"missing(integer)":      "there is no function s,1.missing(integer) in postgres",
			`add(text); DROP (int)`: "there is no function s,1.add(text); DROP (int) in postgres",
			`add(int) TO "x"; --)`:  `there is no function s,1.add(int) TO "x"; --) in postgres`,
			"clean()":               "is not a function",
		} {
			_, err := p.TryCreate(grant, pt.With(inputs, pt.Object{"objects": []string{object}}))
			require.ErrorContains(t, err, want, object)
		}
		s.Execute(t, "postgres", `CREATE FUNCTION "s,1".gone(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'`)
		inputs = inSchema("function", pt.Object{"objects": []string{"gone(integer)"}, "privileges": execute})
		one = settled(p, p.Create(grant, inputs), inputs)
		s.Execute(t, "postgres", `DROP FUNCTION "s,1".gone(integer)`)
		gone(p, one)
	})

	t.Run("columns", func(t *testing.T) {
		p := p.In(t)
		read := inSchema("column", pt.Object{"objects": []string{"people"}, "columns": []string{`na"me`, "id"}, "privileges": []string{"select"}})
		reads := settled(p, p.Create(grant, read), read)
		write := inSchema("column", pt.Object{"objects": []string{"people"}, "columns": []string{"id"}, "privileges": []string{"UPDATE", "REFERENCES"}, "withGrantOption": true})
		writes := settled(p, p.Create(grant, write), write)
		settled(p, reads, read)
		columns := func() any {
			return ask(p, `SELECT attname, array_to_string(attacl, ' ') AS acl FROM pg_attribute WHERE attrelid = '"s,1".people'::regclass AND attacl IS NOT NULL ORDER BY 1`)
		}
		require.Equal(t, rows(pt.Object{"attname": "id", "acl": `"re'ad@er"=rw*x*/postgres`}, pt.Object{"attname": `na"me`, "acl": `"re'ad@er"=r/postgres`}), columns())
		found, err := p.TryImport(grant, writes.ID)
		require.NoError(t, err)
		require.Empty(t, p.Diff(found, pt.With(write, pt.Object{"privileges": []string{"REFERENCES", "SELECT", "UPDATE"}, "withGrantOption": false})))

		writes = update(p, writes, pt.With(write, pt.Object{"privileges": []string{"UPDATE"}, "withGrantOption": false}),
			"privileges[0] update", "privileges[1] delete", "withGrantOption update")
		require.Equal(t, rows(pt.Object{"attname": "id", "acl": `"re'ad@er"=rw/postgres`}, pt.Object{"attname": `na"me`, "acl": `"re'ad@er"=r/postgres`}), columns())
		gone(p, writes)
		settled(p, reads, read)
		s.Execute(t, "postgres", `REVOKE SELECT (id) ON "s,1".people FROM "re'ad@er"`)
		_, exists := p.Refresh(reads)
		require.False(t, exists)
		s.Execute(t, "postgres", `ALTER TABLE "s,1".people DROP COLUMN id`)
		gone(p, reads)
		require.Equal(t, rows(), columns())
		s.Execute(t, "postgres", `DROP TABLE "s,1".people`)
		gone(p, reads)
	})

	t.Run("tables, of which one is gone", func(t *testing.T) {
		p := p.In(t)
		s.Execute(t, "postgres", `CREATE TABLE "s,1".one (); CREATE TABLE "s,1".two ()`)
		inputs := inSchema("table", pt.Object{"objects": []string{"one", "two"}, "privileges": []string{"SELECT"}})
		both := settled(p, p.Create(grant, inputs), inputs)
		imported(p, both, inputs)
		s.Execute(t, "postgres", `DROP TABLE "s,1".one`)
		both = settled(p, both, inputs)
		gone(p, both)
	})

	t.Run("foreign data", func(t *testing.T) {
		p := p.In(t)
		for objectType, object := range map[string]string{"foreign_data_wrapper": "w'1", "foreign_server": `sr"v`} {
			inputs := pt.Object{"role": "re'ad@er", "database": "postgres", "objectType": objectType, "objects": []string{object}, "privileges": []string{"ALL"}}
			usage := settled(p, p.Create(grant, inputs), inputs)
			imported(p, usage, inputs)
			gone(p, usage)
		}
	})

	for id, want := range map[string]string{
		"re'ad%40er@postgres":               `the ID is to be role@database@objectType@schema@objects@columns, with "%40" for an @ in a name`,
		"re'ad%40er@postgres@moon":          "there are no privileges on a moon",
		"re'ad%40er@postgres@schema@s@o@c@": "the ID is to be",
	} {
		_, err := p.TryImport(grant, id)
		require.ErrorContains(t, err, want)
	}
	for _, id := range []string{"missing@postgres@schema@s", "re'ad%40er@missing@database", "re'ad%40er@postgres@schema@missing"} {
		found, err := p.TryImport(grant, id)
		require.NoError(t, err)
		require.Empty(t, found.ID)
	}
}

// What a role will make is for others at once.
func TestDefaultPrivileges(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	s.Execute(t, "postgres", `CREATE ROLE reader; CREATE ROLE "own'er"; CREATE SCHEMA "s,1" AUTHORIZATION "own'er"`)
	for objectType, made := range map[string]string{
		"table": `SET ROLE "own'er"; CREATE TABLE "s,1".t (); RESET ROLE`, "sequence": `SET ROLE "own'er"; CREATE SEQUENCE "s,1".s; RESET ROLE`,
		"function": "", "routine": "", "type": "", "schema": "",
	} {
		t.Run(objectType, func(t *testing.T) {
			p := p.In(t)
			inputs := pt.Object{"role": "reader", "database": "postgres", "owner": "own'er", "objectType": objectType, "privileges": []string{"all"}, "withGrantOption": true}
			if objectType != "schema" {
				inputs["schema"] = "s,1"
			}
			all := settled(p, p.Create(defaultPrivileges, inputs), inputs)
			imported(p, all, inputs)
			if made != "" {
				s.Execute(t, "postgres", made)
			}
			s.Execute(t, "postgres", `ALTER DEFAULT PRIVILEGES FOR ROLE "own'er" REVOKE USAGE ON SCHEMAS FROM reader;
				ALTER DEFAULT PRIVILEGES FOR ROLE "own'er" IN SCHEMA "s,1" REVOKE ALL ON TYPES FROM reader;
				ALTER DEFAULT PRIVILEGES FOR ROLE "own'er" IN SCHEMA "s,1" REVOKE ALL ON FUNCTIONS FROM reader`)
			refreshed, exists := p.Refresh(all)
			switch objectType {
			case "table", "sequence":
				require.True(t, exists)
			case "schema":
				require.Equal(t, []string{"privileges[1] add"}, p.Diff(refreshed, inputs))
				all = settled(p, p.Update(refreshed, inputs), inputs)
			default:
				require.False(t, exists)
				all = p.Create(defaultPrivileges, inputs)
			}
			gone(p, all)
		})
	}
	require.Equal(t, rows(pt.Object{"t": "t", "s": "t", "m": "t"}), ask(p, `
		SELECT has_table_privilege('reader', '"s,1".t', 'DELETE WITH GRANT OPTION') AS t, has_sequence_privilege('reader', '"s,1".s', 'USAGE') AS s,
			(SELECT count(*) FROM pg_default_acl) = 0 AS m`))

	inputs := pt.Object{"role": "reader", "database": "postgres", "owner": "own'er", "objectType": "table", "privileges": []string{"SELECT", "INSERT"}}
	anywhere := settled(p, p.Create(defaultPrivileges, inputs), inputs)
	inputs["privileges"] = []string{"SELECT"}
	anywhere = update(p, anywhere, inputs, "privileges[0] update", "privileges[1] delete")
	require.Equal(t, []string{"schema update-replace"}, p.Diff(anywhere, pt.With(inputs, pt.Object{"schema": "s,1"})))
	gone(p, anywhere)

	// What all have by default is taken away with none for public.
	inputs = pt.Object{"role": "public", "database": "postgres", "owner": "own'er", "objectType": "function", "privileges": []string{}}
	nobody := settled(p, p.Create(defaultPrivileges, inputs), inputs)
	s.Execute(t, "postgres", `SET ROLE "own'er"; CREATE FUNCTION "s,1".f() RETURNS integer LANGUAGE sql AS 'SELECT 1'`)
	require.Equal(t, rows(pt.Object{"may": "f"}), ask(p, `SELECT has_function_privilege('reader', '"s,1".f()', 'EXECUTE') AS may`))
	s.Execute(t, "postgres", `ALTER DEFAULT PRIVILEGES FOR ROLE "own'er" GRANT EXECUTE ON FUNCTIONS TO PUBLIC`)
	refreshed, _ := p.Refresh(nobody)
	require.Equal(t, []string{"privileges[0] delete"}, p.Diff(refreshed, inputs))
	settled(p, p.Update(refreshed, inputs), inputs)
	s.Execute(t, "postgres", `DROP SCHEMA "s,1" CASCADE; DROP OWNED BY "own'er"; DROP ROLE "own'er"`)
	gone(p, nobody)

	// A role that is no superuser makes itself a member of the owner meanwhile, as it may.
	s.Execute(t, "postgres", `CREATE ROLE admin LOGIN PASSWORD 'x' CREATEROLE`)
	as := open(t, s, pt.Object{"username": "admin", "password": "x"})
	maker := as.Create(role, pt.Object{"name": "maker"})
	inputs = pt.Object{"role": "reader", "database": "postgres", "owner": "maker", "objectType": "table", "privileges": []string{"SELECT"}}
	made := settled(as, as.Create(defaultPrivileges, inputs), inputs)
	require.Equal(t, rows(pt.Object{"none": "t"}), ask(p, "SELECT NOT pg_has_role('admin', 'maker', 'USAGE') AS none"))
	gone(as, made)
	gone(as, maker)
	gone(as, made)

	found, err := p.TryImport(defaultPrivileges, "reader@postgres@postgres@table")
	require.NoError(t, err)
	require.Empty(t, found.ID)
	_, err = p.TryImport(defaultPrivileges, "reader_postgres_noschema_postgres_table")
	require.ErrorContains(t, err, "the ID is to be role@database@owner@objectType@schema")
	require.Equal(t, []string{"schema: is not for default privileges on schemas: no schema is in another one",
		"withGrantOption: is not for public: PostgreSQL lets only a role pass privileges on", "privileges: there is no SELECT for a schema; there are ALL, CREATE, USAGE"},
		p.Failures(defaultPrivileges, pt.Object{"role": "public", "database": "d", "owner": "o", "objectType": "schema", "schema": "s", "withGrantOption": true, "privileges": []string{"SELECT"}}))
}

// A membership is given and ended by itself.
func TestGrantRole(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	s.Execute(t, "postgres", `CREATE ROLE "ann@x"; CREATE ROLE "read'ers"; CREATE ROLE writers; GRANT writers TO "ann@x"; GRANT "read'ers" TO "ann@x" WITH ADMIN OPTION`)
	inputs := pt.Object{"role": "ann@x", "grantRole": "read'ers"}
	member := settled(p, p.Create(grantRole, inputs), inputs)
	require.Equal(t, "ann%40x@read'ers", member.ID)
	imported(p, member, inputs)
	options := func() any {
		return ask(p, "SELECT roleid::regrole AS role, admin_option AS admin FROM pg_auth_members WHERE member = '\"ann@x\"'::regrole ORDER BY 1")
	}
	writes := pt.Object{"role": "writers", "admin": "f"}
	require.Equal(t, rows(pt.Object{"role": `"read'ers"`, "admin": "f"}, writes), options())
	inputs["withAdminOption"] = true
	member = update(p, member, inputs, "withAdminOption update")
	require.Equal(t, rows(pt.Object{"role": `"read'ers"`, "admin": "t"}, writes), options())
	s.Execute(t, "postgres", `REVOKE ADMIN OPTION FOR "read'ers" FROM "ann@x"`)
	refreshed, _ := p.Refresh(member)
	require.Equal(t, []string{"withAdminOption update"}, p.Diff(refreshed, inputs))
	require.Equal(t, []string{"grantRole update-replace", "withAdminOption update"}, p.Diff(refreshed, pt.With(inputs, pt.Object{"grantRole": "writers"})))
	gone(p, member)
	require.Equal(t, rows(writes), options())
	p.Delete(member)
	s.Execute(t, "postgres", `DROP ROLE "read'ers"`)
	gone(p, member)
	_, err := p.TryImport(grantRole, "ann")
	require.ErrorContains(t, err, "the ID is to be role@grantRole")
}
