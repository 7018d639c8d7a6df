package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/postgresql/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

const (
	role      = "postgresql:index/role:Role"
	database  = "postgresql:index/database:Database"
	schema    = "postgresql:index/schema:Schema"
	grant     = "postgresql:index/grant:Grant"
	extension = "postgresql:index/extension:Extension"
	query     = "postgresql:index/query:query"

	defaultPrivileges = "postgresql:index/defaultPrivileges:DefaultPrivileges"
	grantRole         = "postgresql:index/grantRole:GrantRole"
	publication       = "postgresql:index/publication:Publication"
	subscription      = "postgresql:index/subscription:Subscription"
	slot              = "postgresql:index/replicationSlot:ReplicationSlot"
	physicalSlot      = "postgresql:index/physicalReplicationSlot:PhysicalReplicationSlot"
	foreignServer     = "postgresql:index/server:Server"
	function          = "postgresql:index/function:Function"
	userMapping       = "postgresql:index/userMapping:UserMapping"
)

// open returns the provider, configured for a server, as the role.
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

// rows returns what ask answers.
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

// imported requires that the ID alone finds a resource with its inputs.
func imported(p *pt.Provider, r pt.Resource, inputs pt.Object) {
	p.T.Helper()
	found, err := p.TryImport(r.Token, r.ID)
	require.NoError(p.T, err)
	require.Equal(p.T, r.ID, found.ID)
	require.Equal(p.T, r.State, found.State)
	require.Empty(p.T, p.Diff(found, inputs))
}

// gone deletes a resource, of which nothing is left then.
func gone(p *pt.Provider, r pt.Resource) {
	p.T.Helper()
	p.Delete(r)
	_, exists := p.Refresh(r)
	require.False(p.T, exists)
}

// What everything is known by is deleted before it is made again. A grant on other objects is the
// same one, since privileges that both have would go with the old one.
func TestWhatIsDeletedFirst(t *testing.T) {
	p, err := guest.New(provider.New())
	require.NoError(t, err)
	granted := func(role string, objects ...string) property.Map {
		return pt.MapOf(pt.Object{"role": role, "database": "app", "objectType": "table", "schema": "public", "objects": objects, "privileges": []string{"SELECT"}})
	}
	ofOwner := pt.Object{"role": "ann", "database": "app", "owner": "ann", "objectType": "table", "privileges": []string{}}
	for _, test := range []struct {
		typ      string
		old, new property.Map
		first    bool
	}{
		{grant, granted("ann", "a", "b"), granted("ann", "b", "c"), true},
		{grant, granted("ann", "a"), granted("bob", "a"), false},
		{database, pt.MapOf(pt.Object{"name": "app"}), pt.MapOf(pt.Object{"name": "app", "encoding": "SQL_ASCII"}), true},
		{database, pt.MapOf(pt.Object{"name": "app"}), pt.MapOf(pt.Object{"name": "other"}), false},
		{role, pt.MapOf(pt.Object{"name": "ann"}), pt.MapOf(pt.Object{"name": "ann"}), true},
		{schema, pt.MapOf(pt.Object{"database": "app", "name": "s"}), pt.MapOf(pt.Object{"database": "other", "name": "s"}), false},
		{extension, pt.MapOf(pt.Object{"database": "app", "name": "e"}), pt.MapOf(pt.Object{"database": "app", "name": "e", "schema": "s"}), true},
		{defaultPrivileges, pt.MapOf(ofOwner), pt.MapOf(ofOwner), true},
		{defaultPrivileges, pt.MapOf(ofOwner), pt.MapOf(pt.With(ofOwner, pt.Object{"owner": "bob"})), false},
		{grantRole, pt.MapOf(pt.Object{"role": "a", "grantRole": "b"}), pt.MapOf(pt.Object{"role": "a", "grantRole": "c"}), false},
		{publication, pt.MapOf(pt.Object{"name": "p"}), pt.MapOf(pt.Object{"name": "p", "allTables": true}), true},
		{subscription, pt.MapOf(pt.Object{"name": "s"}), pt.MapOf(pt.Object{"name": "s", "publications": []string{"p"}}), true},
		{slot, pt.MapOf(pt.Object{"name": "s", "plugin": "a"}), pt.MapOf(pt.Object{"name": "s", "plugin": "b"}), true},
		{foreignServer, pt.MapOf(pt.Object{"serverName": "s", "fdwName": "a"}), pt.MapOf(pt.Object{"serverName": "s", "fdwName": "b"}), true},
		{userMapping, pt.MapOf(pt.Object{"userName": "u", "serverName": "s"}), pt.MapOf(pt.Object{"userName": "u", "serverName": "t"}), false},
	} {
		response, err := p.Diff(t.Context(), abi.DiffRequest{Type: test.typ, ID: "x", Olds: test.old, OldInputs: test.old, News: test.new})
		require.NoError(t, err)
		require.Equal(t, test.first, response.DeleteBeforeReplace, "%v", test)
	}
}
