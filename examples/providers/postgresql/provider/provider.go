// Package provider manages roles, databases, and their contents on a PostgreSQL server, under the names
// of the Pulumi postgresql package.
package provider

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// New returns the provider.
func New() guest.Provider {
	s := &server{}
	return guest.Provider{
		Name:        "postgresql",
		Version:     "3.16.0",
		DisplayName: "PostgreSQL",
		Description: "Roles, databases, schemas, functions, privileges, extensions, replication, and foreign servers of a PostgreSQL server.",
		Keywords:    []string{"postgresql", "database"},
		License:     "Apache-2.0",
		Repository:  "https://github.com/husk-dev/husk",
		Requests:    []abi.CapabilityRequest{{Capability: "tcp", Reason: "the server that is configured"}},
		Config: guest.ConfigOf(func(_ context.Context, c Config) error {
			return s.configure(c)
		}),
		Resources: []guest.Resource{
			guest.ResourceOf("postgresql:index/role:Role", Role{s}, guest.Identity("name"),
				guest.Doc("A role, which is a user where it may log in, and a group where others are members of it.")),
			guest.ResourceOf("postgresql:index/database:Database", Database{s}, guest.Identity("name"), guest.Doc("A database.")),
			guest.ResourceOf("postgresql:index/schema:Schema", Schema{s}, guest.Identity("database", "name"), guest.Doc("A schema of a database.")),
			// Not the objects: privileges on some of them that the old grant has as well would go with it.
			guest.ResourceOf("postgresql:index/grant:Grant", Grant{s}, guest.Identity("role", "database", "objectType", "schema"),
				guest.Doc("All privileges that a role has on a database, on a schema or objects in it, or on a foreign data wrapper or server.")),
			guest.ResourceOf("postgresql:index/defaultPrivileges:DefaultPrivileges", DefaultPrivileges{s},
				guest.Identity("role", "database", "owner", "objectType", "schema"), guest.Alias("postgresql:index/defaultPrivileg:DefaultPrivileg"),
				guest.Doc("All privileges that a role has on the objects that another one will make.")),
			guest.ResourceOf("postgresql:index/grantRole:GrantRole", GrantRole{s}, guest.Identity("role", "grantRole"),
				guest.Doc("The membership of a role in another one. Other memberships stay as they are.")),
			guest.ResourceOf("postgresql:index/extension:Extension", Extension{s}, guest.Identity("database", "name"), guest.Doc("An extension in a database.")),
			// Not the database, which may be left out: then it would count as another one.
			guest.ResourceOf("postgresql:index/publication:Publication", Publication{s}, guest.Identity("name"),
				guest.Doc("A publication: the changes of tables, for subscriptions.")),
			guest.ResourceOf("postgresql:index/subscription:Subscription", Subscription{s}, guest.Identity("name"),
				guest.Doc("A subscription to publications of another server, or database.")),
			guest.ResourceOf("postgresql:index/replicationSlot:ReplicationSlot", ReplicationSlot{s}, guest.Identity("name"),
				guest.Doc("A logical replication slot, which keeps the changes of a database for a reader.")),
			guest.ResourceOf("postgresql:index/physicalReplicationSlot:PhysicalReplicationSlot", PhysicalReplicationSlot{s}, guest.Identity("name"),
				guest.Doc("A physical replication slot, which keeps the log of the server for a replica.")),
			guest.ResourceOf("postgresql:index/function:Function", Function{s}, guest.Identity("name"), guest.Doc("A function.")),
			guest.ResourceOf("postgresql:index/server:Server", Server{s}, guest.Identity("serverName"),
				guest.Doc("A foreign server, which foreign tables are on.")),
			guest.ResourceOf("postgresql:index/userMapping:UserMapping", UserMapping{s}, guest.Identity("serverName", "userName"),
				guest.Doc("The user of a foreign server that a role acts as there.")),
		},
		Functions: []guest.Function{
			guest.FunctionOf("postgresql:index/query:query", s.query,
				guest.Doc("The rows that a query answers. It runs in a transaction that cannot change anything.")),
		},
	}
}
