package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// The sessions of a role begin with its parameters.
func TestRoleParameters(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	reader := p.Create(role, pt.Object{"name": "re'ader"})
	inputs := pt.Object{"name": "ann", "login": true, "password": "a", "roles": []string{"re'ader"}, "bypassRowLevelSecurity": true,
		"validUntil": "2030-01-31 13:00:00+01", "searchPaths": []string{`s"ales`, "$user", "a, b"}, "statementTimeout": 60000,
		"idleInTransactionSessionTimeout": 0, "assumeRole": "re'ader",
		"parameters": pt.List{
			pt.Object{"name": "work_mem", "value": "5MB"},
			pt.Object{"name": "datestyle", "value": "SQL, DMY"},
			pt.Object{"name": "local_preload_libraries", "value": "$libdir/plugins/x,y", "quote": false},
			pt.Object{"name": "app.motto", "value": "it's 'fine', \"really\""},
		}}
	ann := settled(p, p.Create(role, inputs), inputs)
	require.Equal(t, rows(pt.Object{
		"bypass": "t", "until": "2030-01-31 12:00:00", "path": `"s""ales", "$user", "a, b"`, "timeout": "1min", "idle": "0",
		"memory": "5MB", "style": "SQL, DMY", "libraries": `"$libdir/plugins/x", y`, "motto": `it's 'fine', "really"`,
	}), ask(p, `
		SELECT r.rolbypassrls AS bypass, r.rolvaliduntil AT TIME ZONE 'UTC' AS until, c->>'search_path' AS path, CASE c->>'statement_timeout' WHEN '60000' THEN '1min' END AS timeout,
			c->>'idle_in_transaction_session_timeout' AS idle, c->>'work_mem' AS memory, c->>'DateStyle' AS style, c->>'local_preload_libraries' AS libraries, c->>'app.motto' AS motto
		FROM pg_roles r, (SELECT json_object_agg(split_part(e, '=', 1), substr(e, strpos(e, '=') + 1)) FROM unnest((SELECT rolconfig FROM pg_roles WHERE rolname = 'ann')) e) x(c)
		WHERE r.rolname = 'ann'`))

	// What others write in another way is found, and what they change, too.
	s.Execute(t, "postgres", `ALTER ROLE ann SET statement_timeout TO '1min'; ALTER ROLE ann VALID UNTIL '2030-01-31T12:00:00Z'`)
	ann = settled(p, ann, inputs)
	s.Execute(t, "postgres", `ALTER ROLE ann SET statement_timeout TO '2h'; ALTER ROLE ann SET work_mem TO '6MB'; ALTER ROLE ann SET app.motto TO ''; ALTER ROLE ann RESET role`)
	refreshed, _ := p.Refresh(ann)
	require.Equal(t, []string{"assumeRole update", "parameters[0].value update", "parameters[3].value update", "statementTimeout update"}, p.Diff(refreshed, inputs))
	ann = settled(p, p.Update(refreshed, inputs), inputs)

	inputs = pt.Object{"name": "ann", "login": true, "password": "a", "statementTimeout": 0, "parameters": pt.List{pt.Object{"name": "work_mem", "value": "4MB"}}}
	ann = settled(p, p.Update(ann, inputs), inputs)
	require.Equal(t, rows(pt.Object{"rolconfig": "{statement_timeout=0,work_mem=4MB}", "rolvaliduntil": "infinity"}),
		ask(p, "SELECT rolconfig, rolvaliduntil FROM pg_roles WHERE rolname = 'ann'"))
	delete(inputs, "password")
	found, err := p.TryImport(role, "ann")
	require.NoError(t, err)
	require.Empty(t, p.Diff(found, inputs))
	gone(p, ann)
	gone(p, reader)
}

// A role that is renamed is the same one, with its password, even one that goes with the name.
func TestRoleIsRenamed(t *testing.T) {
	s := postgrestest.Start(t, "password_encryption=md5")
	p := open(t, s, nil)
	ann := p.Create(role, pt.Object{"name": "ann", "login": true, "password": "secret"})
	require.Equal(t, rows(pt.Object{"md5": "t"}), ask(p, "SELECT rolpassword LIKE 'md5%' AS md5 FROM pg_authid WHERE rolname = 'ann'"))
	before := ask(p, "SELECT oid FROM pg_roles WHERE rolname = 'ann'")
	ann = update(p, ann, pt.Object{"name": "anna", "login": true, "password": "secret", "connectionLimit": 2}, "connectionLimit update", "name update")
	require.Equal(t, before, ask(p, "SELECT oid FROM pg_roles WHERE rolname = 'anna'"))
	require.Equal(t, rows(pt.Object{"same": "t"}), ask(p, "SELECT rolpassword = 'md5' || md5('secretanna') AS same FROM pg_authid WHERE rolname = 'anna'"))
	gone(p, ann)
}

// What a role owns is there when the role is gone, in every database, unless it is to stay with the role.
func TestWhatARoleOwns(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	admin := p.Create(role, pt.Object{"name": "admin", "login": true, "password": "x", "createRole": true, "createDatabase": true})
	as := open(t, s, pt.Object{"username": "admin", "password": "x"})
	for _, user := range []string{"postgres", "admin"} {
		t.Run("deleted by "+user, func(t *testing.T) {
			by := p.In(t)
			if user == "admin" {
				by = as.In(t)
			}
			owner := by.Create(role, pt.Object{"name": "ow'ner", "login": true})
			s.Execute(t, "postgres", `CREATE DATABASE "other's"`)
			s.Execute(t, "postgres", `CREATE TABLE public.here (); ALTER TABLE public.here OWNER TO "ow'ner"`)
			s.Execute(t, "other's", `CREATE TABLE public.there (); ALTER TABLE public.there OWNER TO "ow'ner"; GRANT SELECT ON pg_authid TO "ow'ner";
				ALTER DEFAULT PRIVILEGES FOR ROLE "ow'ner" GRANT SELECT ON TABLES TO admin`)
			s.Execute(t, "postgres", `ALTER DATABASE "other's" OWNER TO "ow'ner"`)

			kept := by.Update(owner, pt.Object{"name": "ow'ner", "login": true, "skipReassignOwned": true})
			require.ErrorContains(t, by.TryDelete(kept), "cannot be dropped because some objects depend on it")
			kept = by.Update(kept, pt.Object{"name": "ow'ner", "login": true, "skipReassignOwned": true, "skipDropRole": true})
			by.Delete(kept)
			require.Equal(t, rows(pt.Object{"tableowner": "ow'ner"}), ask(p, "SELECT tableowner FROM pg_tables WHERE tablename = 'here'"))

			if user == "admin" {
				// The server lets only who gave a privilege take it away. What could be done is done, and the next try goes on.
				require.ErrorContains(t, by.TryDelete(owner), "1 object in database other's")
				s.Execute(t, "other's", `REVOKE SELECT ON pg_authid FROM "ow'ner"`)
			}
			gone(by, owner)
			require.Equal(t, rows(pt.Object{"tableowner": user}), ask(p, "SELECT tableowner FROM pg_tables WHERE tablename = 'here'"))
			require.Equal(t, rows(pt.Object{"tableowner": user}),
				p.Invoke(query, pt.Object{"sql": "SELECT tableowner FROM pg_tables WHERE tablename = 'there'", "database": "other's"}).Get("rows"))
			require.Equal(t, rows(pt.Object{"owner": user}), ask(p, "SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1", "other's"))
			s.Execute(t, "postgres", `DROP DATABASE "other's"`)
			s.Execute(t, "postgres", `DROP TABLE public.here`)
		})
	}

	// Nothing of the provider's own role is dropped before the server says that it cannot be.
	self, err := as.TryImport(role, "admin")
	require.NoError(t, err)
	s.Execute(t, "postgres", "CREATE TABLE public.mine (); ALTER TABLE public.mine OWNER TO admin")
	require.ErrorContains(t, as.TryDelete(self), "the provider logs in as admin")
	require.Equal(t, rows(pt.Object{"tableowner": "admin"}), ask(p, "SELECT tableowner FROM pg_tables WHERE tablename = 'mine'"))
	gone(p, admin)

	// What stays with a role is left as it is, where the resource alone is deleted and then the role is gone by itself.
	s.Execute(t, "postgres", "CREATE ROLE lost")
	lost, err := p.TryImport(role, "lost")
	require.NoError(t, err)
	s.Execute(t, "postgres", "DROP ROLE lost")
	p.Delete(lost)
}
