package provider_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// A publication has the tables and the changes that it is given, and no others.
func TestPublication(t *testing.T) {
	s := postgrestest.Start(t, "wal_level=logical")
	p := open(t, s, nil)
	s.Execute(t, "postgres", `CREATE ROLE "own'er"; GRANT CREATE ON DATABASE postgres TO "own'er"`)
	s.Execute(t, "postgres", `CREATE DATABASE "app.1"`)
	s.Execute(t, "postgres", `CREATE TABLE public.a (id integer); CREATE SCHEMA "s.1"; CREATE TABLE "s.1"."b""1" (id integer, secret integer); CREATE TABLE public.c (id integer)`)

	inputs := pt.Object{"name": `pub"1`, "tables": []string{`"s.1"."b""1"`, "a"}, "publishParams": []string{"update", "insert"}}
	some := settled(p, p.Create(publication, inputs), inputs)
	require.Equal(t, `postgres.pub"1`, some.ID)
	require.Equal(t, "postgres", some.Text("owner"))
	require.Equal(t, pt.Of([]string{`"s.1"."b""1"`, "public.a"}), some.State.Get("tables"))
	imported(p, some, inputs)
	published := func() any {
		return ask(p, `SELECT t.pubname || ': ' || schemaname || '.' || tablename || attnames::text AS t, pubinsert AS i, pubupdate AS u, pubdelete AS d, pubtruncate AS tr, pubviaroot AS r
			FROM pg_publication_tables t JOIN pg_publication p USING (pubname) ORDER BY 1`)
	}
	flags := pt.Object{"i": "t", "u": "t", "d": "f", "tr": "f", "r": "f"}
	require.Equal(t, rows(pt.With(flags, pt.Object{"t": `pub"1: public.a{id}`}), pt.With(flags, pt.Object{"t": `pub"1: s.1.b"1{id,secret}`})), published())

	// The columns that others have chosen of a table that stays are kept.
	s.Execute(t, "postgres", `ALTER PUBLICATION "pub""1" SET TABLE public.a, "s.1"."b""1" (id)`)
	inputs = pt.Object{"name": "pub 2", "tables": []string{"public.c", `"s.1"."b""1"`}, "owner": "own'er", "publishViaPartitionRootParam": true}
	some = update(p, some, inputs, "name update", "owner update", "publishParams delete", "publishViaPartitionRootParam update", "tables[1] update")
	flags["r"] = "t"
	require.Equal(t, rows(pt.With(flags, pt.Object{"t": "pub 2: public.c{id}"}), pt.With(flags, pt.Object{"t": `pub 2: s.1.b"1{id}`})), published())

	s.Execute(t, "postgres", `ALTER PUBLICATION "pub 2" DROP TABLE public.c; ALTER PUBLICATION "pub 2" SET (publish = 'delete')`)
	refreshed, _ := p.Refresh(some)
	require.Equal(t, []string{"tables[1] add"}, p.Diff(refreshed, inputs))
	inputs["tables"], inputs["publishParams"] = []string{}, []string{"truncate", "delete"}
	some = settled(p, p.Update(refreshed, inputs), inputs)
	require.Equal(t, pt.Of([]string{"delete", "truncate"}), some.State.Get("publishParams"))
	require.Equal(t, pt.Of([]string{}), some.State.Get("tables"))
	delete(inputs, "tables")
	s.Execute(t, "postgres", `ALTER PUBLICATION "pub 2" ADD TABLE public.c`)
	some, _ = p.Refresh(some)
	some = settled(p, p.Update(some, inputs), inputs)
	require.Equal(t, pt.Of([]string{"public.c"}), some.State.Get("tables"), "no tables are given, so that they are for others to choose")
	require.Equal(t, []string{"allTables update-replace"}, p.Diff(some, pt.With(inputs, pt.Object{"allTables": true})))
	gone(p, some)
	p.Delete(some)

	everything := pt.Object{"name": "everything", "allTables": true, "database": "app.1", "dropCascade": true}
	all := settled(p, p.Create(publication, everything), everything)
	require.Equal(t, pt.Of([]string{"insert", "update", "delete", "truncate"}), all.State.Get("publishParams"))
	gone(p, all)
	all = p.Create(publication, everything)
	s.Execute(t, "postgres", `DROP DATABASE "app.1"`)
	gone(p, all)

	require.Equal(t, []string{
		`tables[0]: is to be schema.table, with quotes around a name that has a dot, as in public."a.b"`,
		`tables[1]: is to be schema.table, with quotes around a name that has a dot, as in public."a.b"`,
		`tables[2]: is to be schema.table, with quotes around a name that has a dot, as in public."a.b"`,
		"tables: are not for a publication of all tables",
		"publishParams[1]: there is no everything; there are insert, update, delete, truncate",
	}, p.Failures(publication, pt.Object{"tables": []string{"a.b.c", `"a`, `"a"b`}, "allTables": true, "publishParams": []string{"insert", "everything"}}))
	require.Equal(t, []string{"publishParams: must have one of insert, update, delete, truncate"}, p.Failures(publication, pt.Object{"publishParams": []string{}}))
}

// A slot keeps what a reader has not yet read.
func TestReplicationSlots(t *testing.T) {
	s := postgrestest.Start(t, "wal_level=logical")
	p := open(t, s, nil)
	s.Execute(t, "postgres", "CREATE DATABASE app")

	inputs := pt.Object{"name": "changes_1", "plugin": "test_decoding", "database": "app"}
	logical := settled(p, p.Create(slot, inputs), inputs)
	require.Equal(t, "app.changes_1", logical.ID)
	imported(p, logical, inputs)
	require.Equal(t, []string{"database update-replace", "plugin update-replace"}, p.Diff(logical, pt.With(inputs, pt.Object{"plugin": "pgoutput", "database": "postgres"})))
	_, err := p.TryCreate(slot, pt.Object{"name": "changes_1", "plugin": "pgoutput"})
	require.ErrorContains(t, err, `replication slot "changes_1" already exists`)
	_, err = p.TryCreate(slot, pt.Object{"name": "changes_2", "plugin": "'no such"})
	require.ErrorContains(t, err, `could not access file "'no such"`)

	here := pt.Object{"name": "here", "plugin": "pgoutput"}
	configured := settled(p, p.Create(slot, here), here)
	require.Equal(t, "postgres", configured.Text("database"))
	found, err := p.TryImport(slot, "here")
	require.NoError(t, err)
	require.Equal(t, "postgres.here", found.ID)
	require.Empty(t, p.Diff(found, here))

	inputs = pt.Object{"name": "replica"}
	physical := settled(p, p.Create(physicalSlot, inputs), inputs)
	imported(p, physical, inputs)
	for _, wrong := range []struct{ token, id string }{{physicalSlot, "here"}, {slot, "postgres.replica"}, {slot, "app.here"}} {
		found, err := p.TryImport(wrong.token, wrong.id)
		require.NoError(t, err)
		require.Empty(t, found.ID)
	}
	for _, r := range []pt.Resource{logical, configured, physical} {
		gone(p, r)
		gone(p, r)
	}

	const want = `name: "no-slot" must be of a to z, digits, and underscores, and not longer than 63`
	require.Equal(t, []string{want}, p.Failures(slot, pt.Object{"name": "no-slot", "plugin": "pgoutput"}))
	require.Equal(t, []string{want}, p.Failures(physicalSlot, pt.Object{"name": "no-slot"}))
}

// What is written to a published table arrives in the other server.
func TestSubscription(t *testing.T) {
	publisher, subscriber := postgrestest.Start(t, "wal_level=logical"), postgrestest.Start(t)
	from, to := open(t, publisher, nil), open(t, subscriber, nil)
	for _, s := range []*postgrestest.Server{publisher, subscriber} {
		s.Execute(t, "postgres", "CREATE TABLE public.sales (item text PRIMARY KEY)")
	}
	publisher.Execute(t, "postgres", "INSERT INTO public.sales VALUES ('book')")
	published := from.Create(publication, pt.Object{"name": "pub'1", "tables": []string{"sales"}})
	// The server has slots of its own, pg_…, while it copies what is in the tables.
	slots := func() any {
		return ask(from, "SELECT slot_name AS name FROM pg_replication_slots WHERE NOT starts_with(slot_name, 'pg_') ORDER BY 1")
	}
	// arrives waits until the subscriber has an item.
	arrives := func(item string) {
		t.Helper()
		subscriber.Execute(t, "postgres", `DO $$ BEGIN
			WHILE NOT EXISTS (SELECT FROM public.sales WHERE item = '`+item+`') LOOP
				PERFORM pg_sleep(0.02);
			END LOOP;
		END $$`)
	}
	conninfo := "host=127.0.0.1 port=" + strconv.Itoa(publisher.Port) + " user=postgres dbname=postgres sslmode=disable password='" + publisher.Password + "'"

	inputs := pt.Object{"name": "sub_1", "conninfo": conninfo, "publications": []string{"pub'1"}}
	sub := settled(to, to.Create(subscription, inputs), inputs)
	require.Equal(t, "postgres.sub_1", sub.ID)
	require.True(t, sub.State.Get("conninfo").IsSecret())
	require.True(t, sub.Inputs.Get("conninfo").IsSecret())
	imported(to, sub, inputs)
	require.Equal(t, rows(pt.Object{"name": "sub_1"}), slots())
	arrives("book")

	inputs["enabled"] = false
	sub = update(to, sub, inputs, "enabled update")
	subscriber.Execute(t, "postgres", `DO $$ BEGIN
		WHILE EXISTS (SELECT FROM pg_stat_subscription WHERE pid IS NOT NULL) LOOP
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$`)
	publisher.Execute(t, "postgres", "INSERT INTO public.sales VALUES ('pen')")
	require.Equal(t, rows(pt.Object{"n": "1"}), ask(to, "SELECT count(*) AS n FROM public.sales"))
	subscriber.Execute(t, "postgres", "ALTER SUBSCRIPTION sub_1 ENABLE")
	refreshed, _ := to.Refresh(sub)
	require.Equal(t, []string{"enabled update"}, to.Diff(refreshed, inputs))
	arrives("pen")
	require.Equal(t, []string{"conninfo update-replace", "publications[1] add-replace", "slotName update-replace"},
		to.Diff(sub, pt.With(inputs, pt.Object{"conninfo": conninfo + " ", "publications": []string{"pub'1", "x"}, "slotName": "s"})))
	gone(to, sub)
	require.Equal(t, rows(), slots())
	gone(to, sub)

	// A slot that was not made by the subscription stays.
	kept := from.Create(slot, pt.Object{"name": "kept", "plugin": "pgoutput"})
	inputs = pt.Object{"name": `s"ub`, "conninfo": conninfo, "publications": []string{"pub'1"}, "createSlot": false, "slotName": "kept", "enabled": false}
	sub = settled(to, to.Create(subscription, inputs), inputs)
	require.Equal(t, []string{"createSlot update-replace"}, to.Diff(sub, pt.With(inputs, pt.Object{"createSlot": true})))
	gone(to, sub)
	require.Equal(t, rows(pt.Object{"name": "kept"}), slots())
	p := to
	gone(p, sub)

	// Only superusers may make subscriptions and read how they connect; what is recorded stays for others.
	sub = to.Create(subscription, inputs)
	subscriber.Execute(t, "postgres", "CREATE ROLE plain LOGIN PASSWORD 'x'")
	plain := open(t, subscriber, pt.Object{"username": "plain", "password": "x"})
	settled(plain, sub, inputs)
	_, err := plain.TryImport(subscription, `s"ub`)
	require.ErrorContains(t, err, "only a superuser can import a subscription")
	_, err = plain.TryCreate(subscription, inputs)
	require.ErrorContains(t, err, "must be superuser")
	require.NotContains(t, err.Error(), publisher.Password)
	_, err = to.TryCreate(subscription, pt.With(inputs, pt.Object{"name": "other", "conninfo": conninfo + " user=nobody"}))
	require.ErrorContains(t, err, `password authentication failed for user "nobody"`)
	_, err = to.TryCreate(subscription, pt.With(inputs, pt.Object{"name": "other", "conninfo": "host=x password=pass word"}))
	require.ErrorContains(t, err, "conninfo: is not a list of keywords and values")
	require.NotContains(t, err.Error(), `"word"`)
	gone(to, sub)
	for _, r := range []pt.Resource{kept, published} {
		gone(from, r)
	}
	require.Equal(t, []string{"publications: must have one or more"}, to.Failures(subscription, pt.Object{"conninfo": "", "publications": []string{}}))
	require.Equal(t, []string{`slotName: "S" must be of a to z, digits, and underscores, and not longer than 63`},
		to.Failures(subscription, pt.Object{"conninfo": "", "publications": []string{"a"}, "slotName": "S"}))
}
