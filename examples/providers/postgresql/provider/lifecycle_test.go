package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/postgresql/provider"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// Each resource is made, read, changed, imported, and deleted, on a real server.
func TestResources(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)

	t.Run("Role", func(t *testing.T) {
		p := p.In(t)
		readers := p.Create(role, pt.Object{"name": "readers"})
		inputs := pt.Object{"name": "ann", "login": true, "password": "it's a 'secret'", "roles": []string{"readers"}}
		ann := settled(p, p.Create(role, inputs), inputs)
		require.Equal(t, "ann", ann.ID)
		require.True(t, ann.State.Get("password").IsSecret())
		as := open(t, s, pt.Object{"username": "ann", "password": "it's a 'secret'"})
		require.Equal(t, rows(pt.Object{"user": "ann", "member": "t"}),
			ask(as, "SELECT session_user AS user, pg_has_role('readers', 'member') AS member"))

		inputs = pt.Object{"name": "ann", "login": true, "password": "other", "createDatabase": true, "connectionLimit": 3}
		ann = update(p, ann, inputs, "connectionLimit update", "createDatabase update", "password update", "roles delete")
		require.Equal(t, rows(pt.Object{"rolcreatedb": "t", "rolconnlimit": "3", "member": "f"}),
			ask(p, "SELECT rolcreatedb, rolconnlimit, pg_has_role(rolname, 'readers', 'member') AS member FROM pg_roles WHERE rolname = $1", "ann"))
		require.NoError(t, configure(as, pt.With(s.Configuration(), pt.Object{"username": "ann", "password": "other"})))
		ask(as, "SELECT 1")

		imported, err := p.TryImport(role, "ann")
		require.NoError(t, err)
		delete(inputs, "password")
		require.Empty(t, p.Diff(imported, inputs))
		gone(p, ann)
		gone(p, readers)
	})

	t.Run("a role that may make roles, and is no superuser", func(t *testing.T) {
		p := p.In(t)
		admin := p.Create(role, pt.Object{"name": "admin", "login": true, "password": "x", "createRole": true, "createDatabase": true})
		as := open(t, s, pt.Object{"username": "admin", "password": "x"})
		made := as.Create(role, pt.Object{"name": "made"})
		made = update(as, made, pt.Object{"name": "made", "login": true}, "login update")
		gone(as, made)
		_, err := as.TryCreate(role, pt.Object{"name": "made", "superuser": true})
		require.ErrorContains(t, err, "must be superuser to create superusers")
		gone(p, admin)
	})

	t.Run("Database", func(t *testing.T) {
		p := p.In(t)
		owner := p.Create(role, pt.Object{"name": `o"wner`})
		inputs := pt.Object{"name": "app"}
		app := settled(p, p.Create(database, inputs), inputs)
		require.Equal(t, "postgres", app.Text("owner"))
		inputs = pt.Object{"name": "app", "owner": `o"wner`, "connectionLimit": 5}
		app = update(p, app, inputs, "connectionLimit update", "owner update")
		require.Equal(t, []string{"encoding update-replace"}, p.Diff(app, pt.With(inputs, pt.Object{"encoding": "SQL_ASCII"})))
		imported, err := p.TryImport(database, "app")
		require.NoError(t, err)
		require.Empty(t, p.Diff(imported, inputs))
		gone(p, app)
		gone(p, owner)
	})

	t.Run("what is in a database", func(t *testing.T) {
		p := p.In(t)
		app := p.Create(database, pt.Object{"name": "app"})
		reader := p.Create(role, pt.Object{"name": "reader"})

		inputs := pt.Object{"name": "sales", "database": "app"}
		sales := settled(p, p.Create(schema, inputs), inputs)
		require.Equal(t, "app.sales", sales.ID)
		imported, err := p.TryImport(schema, "app.sales")
		require.NoError(t, err)
		require.Empty(t, p.Diff(imported, inputs))
		inputs = pt.Object{"name": "Sales 2", "database": "app", "owner": "reader", "dropCascade": true}
		sales = update(p, sales, inputs, "dropCascade update", "name update", "owner update")

		inputs = pt.Object{"name": "pg_trgm", "database": "app"}
		trigrams, err := p.TryCreate(extension, inputs)
		if err == nil { // it is in a package of its own on some systems
			require.Equal(t, "public", settled(p, trigrams, inputs).Text("schema"))
			gone(p, trigrams)
		}
		_, err = p.TryCreate(extension, pt.Object{"name": "no such", "database": "app"})
		require.ErrorContains(t, err, `extension "no such" is not available`)
		inputs = pt.Object{"name": "plpgsql", "database": "app"}
		imported, err = p.TryImport(extension, "app.plpgsql")
		require.NoError(t, err)
		require.Empty(t, p.Diff(imported, inputs))
		gone(p, imported)
		plpgsql := settled(p, p.Create(extension, inputs), inputs)
		gone(p, plpgsql)

		gone(p, sales)
		gone(p, app)
		gone(p, reader)
	})

	t.Run("Grant", func(t *testing.T) {
		p := p.In(t)
		app := p.Create(database, pt.Object{"name": "app"})
		reader := p.Create(role, pt.Object{"name": "reader", "login": true, "password": "r"})
		sales := p.Create(schema, pt.Object{"name": "sales", "database": "app", "dropCascade": true})
		s.Execute(t, "app", "CREATE TABLE sales.orders (id serial PRIMARY KEY, item text); INSERT INTO sales.orders (item) VALUES ('book'), (NULL)")

		everybody := pt.Object{"role": "public", "database": "app", "objectType": "database", "privileges": []string{}}
		nobody := settled(p, p.Create(grant, everybody), everybody)
		as := open(t, s, pt.Object{"username": "reader", "password": "r", "database": "app"})
		_, err := as.TryInvoke(query, pt.Object{"sql": "SELECT 1"})
		require.ErrorContains(t, err, "permission denied for database")

		for _, on := range []pt.Object{
			{"objectType": "database", "privileges": []string{"connect"}},
			{"objectType": "schema", "schema": "sales", "privileges": []string{"USAGE"}},
			{"objectType": "sequence", "schema": "sales", "privileges": []string{"ALL"}},
		} {
			inputs := pt.With(on, pt.Object{"role": "reader", "database": "app"})
			settled(p, p.Create(grant, inputs), inputs)
		}
		tables := pt.Object{"role": "reader", "database": "app", "objectType": "table", "schema": "sales", "privileges": []string{"select"}}
		may := settled(p, p.Create(grant, tables), tables)
		require.Equal(t, rows(pt.Object{"id": "1", "item": "book"}, pt.Object{"id": "2"}), ask(as, "SELECT * FROM sales.orders ORDER BY id"))

		tables["privileges"], tables["withGrantOption"] = []string{"SELECT", "INSERT"}, true
		may = update(p, may, tables, "privileges[0] update", "privileges[1] add", "withGrantOption update")
		s.Execute(t, "app", "REVOKE INSERT ON sales.orders FROM reader")
		refreshed, _ := p.Refresh(may)
		require.Equal(t, []string{"privileges[0] update", "privileges[1] add"}, p.Diff(refreshed, tables))
		gone(p, may)
		_, err = as.TryInvoke(query, pt.Object{"sql": "SELECT * FROM sales.orders"})
		require.ErrorContains(t, err, "permission denied for table orders")

		s.Execute(t, "app", "DROP TABLE sales.orders")
		may = settled(p, p.Create(grant, tables), tables)
		gone(p, sales)
		gone(p, may)
		gone(p, app)
		gone(p, nobody)
		gone(p, reader)
	})
}

// What can be known to be wrong without a server is found before anything is made.
func TestChecks(t *testing.T) {
	p := pt.New(t, provider.New())
	for name, test := range map[string]struct {
		token  string
		inputs pt.Object
		want   string
	}{
		"a name that the server would cut off": {role, pt.Object{"name": string(make([]byte, 64))},
			"name: has 64 bytes, and PostgreSQL takes at most 63"},
		"a privilege that there is not": {grant, pt.Object{"role": "r", "database": "d", "objectType": "schema", "schema": "s", "privileges": []string{"SELECT"}},
			"privileges: there is no SELECT for a schema; there are ALL, CREATE, USAGE"},
		"a schema of a database":     {grant, pt.Object{"role": "r", "database": "d", "objectType": "database", "schema": "s", "privileges": []string{"ALL"}}, "schema: is not for privileges on a database"},
		"tables of no schema":        {grant, pt.Object{"role": "r", "database": "d", "objectType": "table", "privileges": []string{"ALL"}}, "schema: must be given for privileges on a table"},
		"objects that are no tables": {grant, pt.Object{"role": "r", "database": "d", "objectType": "schema", "schema": "s", "objects": []string{"o"}, "privileges": []string{"ALL"}}, "objects: are not for privileges on a schema"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{test.want}, p.In(t).Failures(test.token, test.inputs))
		})
	}
}

// A connection is encrypted, to the right server, unless the configuration says otherwise.
func TestConnections(t *testing.T) {
	s := postgrestest.Start(t)
	other := postgrestest.Start(t)
	encrypted := func(p *pt.Provider) property.Value {
		return ask(p, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
	}
	yes, no := rows(pt.Object{"ssl": "t"}), rows(pt.Object{"ssl": "f"})
	require.Equal(t, yes, encrypted(open(t, s, nil)))
	require.Equal(t, yes, encrypted(open(t, s, pt.Object{"sslmode": "require", "caCertificate": other.CACertificate})))
	require.Equal(t, no, encrypted(open(t, s, pt.Object{"sslmode": "disable"})))

	p := pt.New(t, provider.New())
	for name, test := range map[string]struct {
		config pt.Object
		want   string
	}{
		"not of that authority": {pt.Object{"caCertificate": other.CACertificate}, "certificate signed by unknown authority"},
		"under another name":    {pt.Object{"host": "127.0.0.1"}, "doesn't contain any IP SANs"},
		"with another password": {pt.Object{"password": "guessed"}, "password authentication failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := p.In(t)
			require.NoError(t, configure(p, pt.With(s.Configuration(), test.config)))
			_, err := p.TryInvoke(query, pt.Object{"sql": "SELECT 1"})
			require.ErrorContains(t, err, test.want)
		})
	}
	require.ErrorContains(t, configure(p, pt.With(s.Configuration(), pt.Object{"caCertificate": ""})), "caCertificate: has no certificate in PEM")
}

// A query changes nothing, and its answer is bounded.
func TestQuery(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	require.Equal(t, rows(pt.Object{"a": "1", "b": "x'); DROP ROLE postgres"}),
		ask(p, "SELECT $1::int AS a, $2::text AS b, NULL AS c", "1", "x'); DROP ROLE postgres"))
	require.Equal(t, pt.Of([]string{"a", "c"}), p.Invoke(query, pt.Object{"sql": "SELECT 1 AS a, NULL AS c WHERE false"}).Get("columns"))
	for sql, want := range map[string]string{
		"CREATE TABLE public.t ()":            "cannot execute CREATE TABLE in a read-only transaction",
		"SELECT 1; SELECT 2":                  "cannot insert multiple commands",
		"SELECT generate_series(1, 10001)":    "more than 10000 rows",
		"SELECT repeat('x', 9 * 1024 * 1024)": "8388608 bytes: add a LIMIT",
	} {
		_, err := p.TryInvoke(query, pt.Object{"sql": sql})
		require.ErrorContains(t, err, want)
	}
}
