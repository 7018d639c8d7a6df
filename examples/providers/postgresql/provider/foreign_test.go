package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// Foreign servers and the users of them take what options their wrapper has.
func TestForeignServers(t *testing.T) {
	s := postgrestest.Start(t)
	p := open(t, s, nil)
	s.Execute(t, "postgres", `CREATE ROLE "own@er" LOGIN PASSWORD 'x'`)
	s.Execute(t, "postgres", `CREATE DATABASE app`)
	for _, database := range []string{"postgres", "app"} {
		s.Execute(t, database, `CREATE FOREIGN DATA WRAPPER "w'1"; GRANT USAGE ON FOREIGN DATA WRAPPER "w'1" TO "own@er"`)
	}
	servers := func() any {
		return ask(p, "SELECT srvname, srvtype, srvversion, pg_get_userbyid(srvowner) AS owner, srvoptions FROM pg_foreign_server")
	}

	inputs := pt.Object{"serverName": `sr"v`, "fdwName": "w'1", "serverType": "t'1", "serverVersion": "1",
		"options": pt.Object{"host": "a=b", "da\"ta": "it's 'fine'", "port": "1"}}
	server := settled(p, p.Create(foreignServer, inputs), inputs)
	require.Equal(t, `postgres.sr"v`, server.ID)
	require.Equal(t, "postgres", server.Text("serverOwner"))
	imported(p, server, inputs)
	found, err := p.TryImport(foreignServer, `sr"v`)
	require.NoError(t, err)
	require.Equal(t, server.ID, found.ID)

	inputs = pt.Object{"serverName": "srv", "fdwName": "w'1", "serverType": "t'1", "serverOwner": "own@er", "options": pt.Object{"host": "b", "new": "", "port": "1"}}
	server = update(p, server, inputs, `options["da\"ta"] delete`, "options.host update", "options.new add", "serverName update", "serverOwner update", "serverVersion delete")
	require.Equal(t, rows(pt.Object{"srvname": "srv", "srvtype": "t'1", "owner": "own@er", "srvoptions": "{host=b,port=1,new=}"}), servers())
	s.Execute(t, "postgres", "ALTER SERVER srv VERSION '3' OPTIONS (SET host 'c', DROP new, ADD more 'x')")
	refreshed, _ := p.Refresh(server)
	server = settled(p, p.Update(refreshed, inputs), inputs)
	require.Equal(t, rows(pt.Object{"srvname": "srv", "srvtype": "t'1", "owner": "own@er", "srvoptions": "{host=b,port=1,new=}"}), servers())
	require.Equal(t, []string{"fdwName update-replace", "serverType update-replace"}, p.Diff(server, pt.With(inputs, pt.Object{"fdwName": "x", "serverType": "y"})))

	user := pt.Object{"userName": "own@er", "serverName": "srv", "options": pt.Object{"user": "remote", "pass'word": "a=b 'c'"}}
	mapping := settled(p, p.Create(userMapping, user), user)
	require.Equal(t, "own%40er@srv@postgres", mapping.ID)
	require.True(t, mapping.State.Get("options").IsSecret())
	require.True(t, mapping.Inputs.Get("options").IsSecret())
	imported(p, mapping, user)
	user["options"] = pt.Object{"user": "other"}
	mapping = settled(p, p.Update(mapping, user), user)
	require.Equal(t, rows(pt.Object{"umoptions": "{user=other}"}), ask(p, "SELECT umoptions FROM pg_user_mappings"))
	s.Execute(t, "postgres", `ALTER USER MAPPING FOR "own@er" SERVER srv OPTIONS (SET user 'changed')`)
	refreshed, _ = p.Refresh(mapping)
	require.NotEmpty(t, p.Diff(refreshed, user))
	// The options of others are hidden from a role that owns nothing, so that the recorded ones stay.
	s.Execute(t, "postgres", "CREATE ROLE plain LOGIN PASSWORD 'x'")
	settled(open(t, s, pt.Object{"username": "plain", "password": "x"}), mapping, user)
	delete(user, "options")
	mapping = settled(p, p.Update(mapping, user), user)

	public := pt.Object{"userName": "PUBLIC", "serverName": "srv", "options": pt.Object{"user": "guest"}}
	all := settled(p, p.Create(userMapping, public), public)
	current := pt.Object{"userName": "CURRENT_USER", "serverName": "srv"}
	own := settled(p, p.Create(userMapping, current), current)
	require.Equal(t, rows(pt.Object{"usename": "own@er"}, pt.Object{"usename": "postgres"}, pt.Object{"usename": "public"}), ask(p, "SELECT usename FROM pg_user_mappings ORDER BY usename::text"))
	require.ErrorContains(t, p.TryDelete(server), "user mapping for own@er on server srv depends on server srv")
	gone(p, own)
	gone(p, all)
	server = p.Update(server, pt.With(inputs, pt.Object{"dropCascade": true}))
	gone(p, server)
	gone(p, mapping)
	p.Delete(server)

	elsewhere := pt.Object{"serverName": "srv", "fdwName": "w'1", "database": "app"}
	server = settled(p, p.Create(foreignServer, elsewhere), elsewhere)
	imported(p, server, elsewhere)
	mapped := pt.Object{"userName": "plain", "serverName": "srv", "database": "app"}
	mapping = settled(p, p.Create(userMapping, mapped), mapped)
	imported(p, mapping, mapped)
	s.Execute(t, "postgres", "DROP DATABASE app")
	gone(p, mapping)
	gone(p, server)
	_, err = p.TryImport(userMapping, "own@er@srv@app")
	require.ErrorContains(t, err, "the ID is to be userName@serverName@database")
	require.Equal(t, []string{"serverName: has 64 bytes, and PostgreSQL takes at most 63"}, p.Failures(foreignServer, pt.Object{"serverName": string(make([]byte, 64)), "fdwName": "f"}))
}
